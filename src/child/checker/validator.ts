// Turns the nodes of a schema into one function by ajv, which keeps the parts that it does well: walking values,
// combining subschemas, unevaluated properties. Generated code is made from marked names of properties and from
// numbers; no identifier, reference or pattern of a schema gets into it. One instance a schema, which goes with it.

import core, { type Vocabulary } from 'ajv/dist/core.js';
import type { SchemaValidateFunction } from 'ajv/dist/types/index.js';
import ref from 'ajv/dist/vocabularies/core/ref.js';
import allOf from 'ajv/dist/vocabularies/applicator/allOf.js';
import dependentSchemas from 'ajv/dist/vocabularies/applicator/dependentSchemas.js';
import ifKeyword from 'ajv/dist/vocabularies/applicator/if.js';
import items from 'ajv/dist/vocabularies/applicator/items2020.js';
import not from 'ajv/dist/vocabularies/applicator/not.js';
import patternProperties from 'ajv/dist/vocabularies/applicator/patternProperties.js';
import prefixItems from 'ajv/dist/vocabularies/applicator/prefixItems.js';
import properties from 'ajv/dist/vocabularies/applicator/properties.js';
import propertyNames from 'ajv/dist/vocabularies/applicator/propertyNames.js';
import thenElse from 'ajv/dist/vocabularies/applicator/thenElse.js';
import unevaluatedItems from 'ajv/dist/vocabularies/unevaluated/unevaluatedItems.js';
import { anyOf, contains, oneOf } from './bounded_keywords.ts';
import { additionalProperties, unevaluatedProperties } from './closed_keywords.ts';
import { emitSchema } from './emitted_schema.ts';
import type { CheckError } from './helpful_errors.ts';
import type { Pattern } from './patterns.ts';
import { type Projected, unmarked } from './projected_values.ts';
import { argumentBounds } from './schema_bounds.ts';
import type { Assertion, SchemaTree } from './schema_nodes.ts';

/** What a value came to. `exhausted`: it took more steps, or more stack, than arguments may cost. */
export type Verdict =
  | { readonly verdict: 'valid' | 'exhausted' }
  | { readonly verdict: 'invalid'; readonly errors: readonly CheckError[] };

/** Checks one projected value. */
export type Validate = (value: Projected) => Verdict;

/** Thrown out of generated code when the steps are used up; never leaves this file. */
class StepsUsedUp extends Error {}

/** Compiles a schema; takes milliseconds. @throws {RangeError} if the schema needs more stack than there is */
export function compileValidator(tree: SchemaTree): Validate {
  const { schema, patterns } = emitSchema(tree);
  let stepsLeft = 0;
  const assert: SchemaValidateFunction = (assertions: readonly Assertion[], value: Projected) => {
    if (--stepsLeft < 0) throw new StepsUsedUp();
    const failed = assertions.find((assertion) => !assertion.holds(value));
    if (failed !== undefined) assert.errors = [{ keyword: 'assertion', params: { assertion: failed } }];
    return failed === undefined;
  };
  const ajv = new core.default({
    strict: false,
    allErrors: false,
    verbose: false,
    messages: false,
    inlineRefs: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    addUsedSchema: false,
    logger: false,
    unevaluated: tree.usesUnevaluated,
    next: true,
    code: { optimize: false, regExp: patternEngine(patterns) },
  });
  // The order is the order of checking: what a value is, then its parts, then which parts it must have. A value of the
  // wrong kind fails before one that lacks a property, which is what tells alternatives apart.
  const vocabulary: Vocabulary = [
    ref.default,
    { keyword: 'shape', schemaType: 'array', errors: true, validate: assert },
    ...[not, allOf, ifKeyword, thenElse].map((keyword) => keyword.default),
    anyOf,
    oneOf,
    ...[prefixItems, items].map((keyword) => keyword.default),
    contains,
    ...[properties, patternProperties].map((keyword) => keyword.default),
    additionalProperties,
    ...[propertyNames, dependentSchemas].map((keyword) => keyword.default),
    { keyword: 'members', type: ['array', 'object'], schemaType: 'array', errors: true, validate: assert },
    ...(tree.usesUnevaluated ? [unevaluatedItems.default, unevaluatedProperties] : []),
  ];
  ajv.addVocabulary(vocabulary);
  const validate = ajv.compile(schema);
  return (value) => {
    stepsLeft = argumentBounds.steps.most;
    try {
      if (validate(value)) return { verdict: 'valid' };
      return { verdict: 'invalid', errors: validate.errors ?? [] };
    } catch (error) {
      // RangeError: the stack, by alternatives of a recursive schema.
      if (error instanceof StepsUsedUp || error instanceof RangeError) return { verdict: 'exhausted' };
      throw error;
    } finally {
      validate.errors = null;
      assert.errors = [];
    }
  };
}

/** What ajv takes for `RegExp`: the emitted schema names patterns by number. */
function patternEngine(patterns: readonly Pattern[]) {
  const engine = (number: string) => {
    const { matches } = patterns[Number(number)]!;
    return { test: (name: string) => matches(unmarked(name)), toString: () => number };
  };
  return Object.assign(engine, { code: 'patternOfSchema' });
}
