// The keywords that try a value against several subschemas, written anew because the validator's own keep every error of
// every failed attempt: alternatives that double by level, or a long array without the item that it must contain, would
// fill the memory before any deadline. These keep a bounded number, the helpful ones.

import { _, type CodeKeywordDefinition, type KeywordCxt, Name, str } from 'ajv/dist/core.js';
import names from 'ajv/dist/compile/names.js';
import { keepHelpful } from './helpful_errors.ts';
import { argumentBounds } from './schema_bounds.ts';

const { vErrors, errors, instancePath } = names.default;

/** Keeps the helpful ones of the errors that the alternatives so far have left, where these are many. */
function keepFew({ gen, it, errsCount }: KeywordCxt): void {
  const keep = gen.scopeValue('func', { ref: keepHelpful });
  gen.if(_`${errors} - ${errsCount!} > ${argumentBounds.keptErrors.most * 2}`, () => {
    gen.assign(errors, _`${keep}(${vErrors}, ${errsCount!}, ${str`${instancePath}${it.errorPath}`})`);
  });
}

/** `anyOf`: all alternatives are tried only where unevaluated properties or items have to be known. */
export const anyOf: CodeKeywordDefinition = {
  keyword: 'anyOf',
  schemaType: 'array',
  trackErrors: true,
  code(cxt) {
    const { gen, schema, keyword } = cxt;
    const valid = gen.let('valid', false);
    const matched = gen.name('_valid');
    gen.block(() => {
      for (const schemaProp of schema.keys()) {
        const part = cxt.subschema({ keyword, schemaProp, compositeRule: true }, matched);
        keepFew(cxt);
        gen.assign(valid, _`${valid} || ${matched}`);
        if (!cxt.mergeValidEvaluated(part, matched)) gen.if(_`!${valid}`);
      }
    });
    cxt.result(valid, () => cxt.reset(), () => cxt.error(true));
  },
};

/** `oneOf`: stops at the second alternative that matches and names both. */
export const oneOf: CodeKeywordDefinition = {
  keyword: 'oneOf',
  schemaType: 'array',
  trackErrors: true,
  error: { message: 'must match one alternative', params: ({ params }) => _`{ passing: ${params['passing']} }` },
  code(cxt) {
    const { gen, schema, keyword } = cxt;
    const valid = gen.let('valid', false);
    const passing = gen.let('passing', null);
    const matched = gen.name('_valid');
    cxt.setParams({ passing });
    gen.block(() => {
      for (const schemaProp of schema.keys()) {
        const part = cxt.subschema({ keyword, schemaProp, compositeRule: true }, matched);
        keepFew(cxt);
        gen.if(_`${matched} && ${valid}`);
        gen.assign(valid, false);
        gen.assign(passing, _`[${passing}, ${schemaProp}]`);
        gen.else();
        gen.if(matched, () => {
          gen.assign(valid, true);
          gen.assign(passing, schemaProp);
          cxt.mergeEvaluated(part, Name);
        });
      }
    });
    cxt.result(valid, () => cxt.reset(), () => {
      // Two that matched: then no error of the others matters.
      gen.if(_`Array.isArray(${passing})`, () => cxt.reset());
      cxt.error(true);
    });
  },
};

/** `contains` with `minContains` and `maxContains`: the errors of each item are forgotten before the next. */
export const contains: CodeKeywordDefinition = {
  keyword: 'contains',
  type: 'array',
  schemaType: ['object', 'boolean'],
  trackErrors: true,
  error: { message: 'must contain', params: ({ params }) => _`{ least: ${params['least']}, most: ${params['most']} }` },
  code(cxt) {
    const { gen, data, keyword, parentSchema, it } = cxt;
    const { minContains = 1, maxContains = Infinity } = parentSchema as { minContains?: number; maxContains?: number };
    const count = gen.let('count', 0);
    const matched = gen.name('_valid');
    cxt.setParams({ least: minContains, most: maxContains });
    it.items = true;
    gen.forRange('i', 0, _`${data}.length`, (index) => {
      cxt.subschema({ keyword, dataProp: index, dataPropType: 0, compositeRule: true }, matched);
      cxt.reset();
      gen.if(matched, () => gen.code(_`${count}++;`));
    });
    cxt.pass(_`${count} >= ${minContains} && ${count} <= ${maxContains}`);
  },
};
