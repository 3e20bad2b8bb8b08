// The keywords that close an object, with errors that say which names it knows. The validator's own errors would need its
// `verbose` option for that, by which functions kept for later calls hold on to the arguments of the last one.

import { _, type CodeKeywordDefinition, type KeywordErrorDefinition } from 'ajv/dist/core.js';
import additional from 'ajv/dist/vocabularies/applicator/additionalProperties.js';
import unevaluated from 'ajv/dist/vocabularies/unevaluated/unevaluatedProperties.js';

/** Params of the errors of both: `name`, which is not known, and `known`; names are marked. */
const error: KeywordErrorDefinition = {
  message: 'must have known properties',
  params: ({ params, parentSchema, gen }) => {
    const known = gen.scopeValue('obj', { ref: Object.keys(parentSchema?.['properties'] ?? {}) });
    return _`{ name: ${params['additionalProperty'] ?? params['unevaluatedProperty']}, known: ${known} }`;
  },
};

/** `additionalProperties`. */
export const additionalProperties = { ...additional.default, error } as CodeKeywordDefinition;

/** `unevaluatedProperties`. */
export const unevaluatedProperties = { ...unevaluated.default, error } as CodeKeywordDefinition;
