// What the author of a schema is told: every row of the table of bounds, every kind of fault in form, and what the older
// drafts mean.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { checkArguments } from '../../../../src/child/checker/check_arguments.ts';
import { compileSchema } from '../../../../src/child/checker/compile_schema.ts';
import { schemaBounds } from '../../../../src/child/checker/schema_bounds.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true });

/** `ok`, or the message for the schema's author. */
function compile(schema: unknown): string {
  const compiled = compileSchema(packr.pack(schema));
  return compiled.ok ? 'ok' : compiled.message;
}

function check(schema: unknown, args: unknown): string {
  const compiled = compileSchema(packr.pack(schema));
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.message);
  const result = checkArguments(compiled.schema, packr.pack(args));
  return result.ok ? 'ok' : result.message;
}

/** Properties of few bytes each, so that many of them are within the bound on bytes. */
function properties(count: number): Record<string, boolean> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [at.toString(36), true]));
}

function nested(levels: number): unknown {
  let schema: unknown = {};
  for (let level = 0; level < levels; level++) schema = { not: schema };
  return schema;
}

function doubling(levels: number): unknown {
  const $defs: Record<string, unknown> = { d0: { type: 'string' } };
  for (let level = 1; level <= levels; level++) {
    $defs[`d${level}`] = { anyOf: [{ $ref: `#/$defs/d${level - 1}` }, { $ref: `#/$defs/d${level - 1}` }] };
  }
  return { properties: { x: { $ref: `#/$defs/d${levels}` } }, $defs };
}

/** For each bound a schema past it, one within it, and the message. */
const bounds: { readonly [Bound in keyof typeof schemaBounds]: readonly [past: unknown, within: unknown, string] } = {
  bytes: [
    { description: 'x'.repeat(65_536) },
    { description: 'x'.repeat(65_000) },
    'schema must be at most 65536 bytes, got 65554',
  ],
  depth: [
    { default: Array.from({ length: 64 }).reduce((inner) => [inner], []) },
    { default: Array.from({ length: 50 }).reduce((inner) => [inner], []) },
    'schema.default[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]...' +
    '[0]'.repeat(27).slice(-80) + ' must be at most 64 levels deep',
  ],
  subschemas: [
    { $defs: {}, properties: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`p${at}`, { not: {} }])) },
    { properties: Object.fromEntries(Array.from({ length: 499 }, (_, at) => [`p${at}`, { not: {} }])) },
    'schema must have at most 1000 subschemas, got at least 1001',
  ],
  nesting: [nested(33), nested(32), 'schema must have at most 32 levels of subschemas, got at least 33'],
  properties: [
    { properties: properties(10_000) },
    { properties: properties(999) },
    'schema must have at most 1000 properties, got at least 10000',
  ],
  alternatives: [
    { anyOf: Array.from({ length: 257 }, () => ({})) },
    { anyOf: Array.from({ length: 256 }, () => ({})) },
    'schema.anyOf must have at most 256 schemas, got 257',
  ],
  enumValues: [
    { properties: { a: { enum: Array.from({ length: 1_001 }, (_, at) => at) } } },
    { properties: { a: { enum: Array.from({ length: 1_000 }, (_, at) => at) } } },
    'schema.properties.a.enum must have at most 1000 values, got 1001',
  ],
  patterns: [
    { patternProperties: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`^p${at}`, true])) },
    { patternProperties: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`^p${at}`, true])) },
    'schema must have at most 100 patterns, got at least 101',
  ],
  patternLength: [
    { properties: { a: { pattern: 'a'.repeat(2_001) } } },
    { properties: { a: { pattern: 'a'.repeat(2_000) } } },
    'schema.properties.a.pattern must have at most 2000 characters, got 2001',
  ],
  patternSize: [
    { pattern: '((a|b|c){1,99}|x{1,99}){1,10}' },
    { pattern: '((a|b|c){1,99}|x{1,99}){1,5}' },
    'schema.pattern must be at most 5000 instructions, got 5961',
  ],
  checksAtOnePlace: [
    doubling(30),
    doubling(10),
    'schema must have at most 10000 subschemas checked against one value, got at least 16381',
  ],
};

test('a schema past any bound is refused, one within it is compiled', () => {
  for (const [name, [past, within, message]] of Object.entries(bounds)) {
    assert.equal(compile(past), message, name);
    assert.equal(compile(within), 'ok', name);
  }
});

test('a keyword of the wrong form is named with its place', () => {
  const rows: readonly (readonly [unknown, string])[] = [
    [5, 'schema must be a schema (an object or a boolean), got number 5'],
    [{ properties: [] }, 'schema.properties must be an object, got empty array'],
    [{ properties: { 'a b': 1 } }, 'schema.properties["a b"] must be a schema (an object or a boolean), got number 1'],
    [
      { properties: { path: { type: 'strnig' } } },
      'schema.properties.path.type must be null, boolean, integer, number, string, array or object, got string "strnig"',
    ],
    [
      { type: ['string', 1] },
      'schema.type[1] must be null, boolean, integer, number, string, array or object, got number 1',
    ],
    [{ type: [] }, 'schema.type must be the name of a type, got empty array'],
    [{ required: true }, 'schema.required must be an array of strings, got boolean true'],
    [{ required: ['a', 1] }, 'schema.required[1] must be a string, got number 1'],
    [{ enum: [] }, 'schema.enum must be an array of at least one value, got empty array'],
    [{ anyOf: [] }, 'schema.anyOf must be an array of at least one schema, got empty array'],
    [{ anyOf: {} }, 'schema.anyOf must be an array, got empty object'],
    [{ allOf: [1] }, 'schema.allOf[0] must be a schema (an object or a boolean), got number 1'],
    [{ items: 'string' }, 'schema.items must be a schema (an object or a boolean), got string "string"'],
    [{ minLength: -1 }, 'schema.minLength must be a whole number of at least 0, got number -1'],
    [{ maxItems: 1.5 }, 'schema.maxItems must be a whole number of at least 0, got number 1.5'],
    [{ minimum: '1' }, 'schema.minimum must be a number, got string "1"'],
    [{ multipleOf: 0 }, 'schema.multipleOf must be a number above 0, got number 0'],
    [{ pattern: '(' }, 'schema.pattern must be a regular expression, got missing closing )'],
    [{ pattern: 1 }, 'schema.pattern must be a string, got number 1'],
    [
      { patternProperties: { '[': {} } },
      'schema.patternProperties["["] must be a regular expression, got missing closing ]',
    ],
    [{ uniqueItems: 1 }, 'schema.uniqueItems must be a boolean, got number 1'],
    [{ maximum: NaN }, 'schema.maximum must be a finite number, got NaN; JSON has no NaN'],
    [{ $ref: 5 }, 'schema.$ref must be a string, got number 5'],
    [
      { $schema: 'http://json-schema.org/draft-03/schema#' },
      'schema.$schema must be draft-04 or later, got "http://json-schema.org/draft-03/schema#"',
    ],
  ];
  for (const [schema, message] of rows) assert.equal(compile(schema), message);
});

test('a reference leads to parts of the same schema only', () => {
  const nowhere = (got: string) => `must name a part of this schema, got "${got}"; nothing else is ever loaded`;
  assert.equal(
    compile({ properties: { a: { $ref: 'https://example.com/a.json' } } }),
    `schema.properties.a.$ref ${nowhere('https://example.com/a.json')}`,
  );
  assert.equal(compile({ $ref: 'file:///etc/passwd' }), `schema.$ref ${nowhere('file:///etc/passwd')}`);
  assert.equal(
    compile({ $ref: 'http://json-schema.org/draft-07/schema#' }),
    `schema.$ref ${nowhere('http://json-schema.org/draft-07/schema#')}`,
  );
  assert.equal(compile({ $ref: '#/$defs/gone' }), `schema.$ref ${nowhere('#/$defs/gone')}`);
  assert.equal(compile({ $ref: '#/%zz' }), `schema.$ref ${nowhere('#/%zz')}`);
  assert.equal(compile({ $ref: '#/$defs/__proto__', $defs: {} }), `schema.$ref ${nowhere('#/$defs/__proto__')}`);
  assert.equal(
    compile({
      $dynamicRef: '#x',
      $defs: { a: { $dynamicAnchor: 'x' }, b: { $id: 'b', $dynamicAnchor: 'x' } },
    }),
    'schema.$dynamicRef must name an anchor that the schema has once, got "x"',
  );
});

test('references by pointer, anchor, identifier and name of a definition are found', () => {
  const number = 'arguments.a must be number, got string "x"';
  const a = (reference: string, extra: object) =>
    check({ properties: { a: { $ref: reference } }, ...extra }, { a: 'x' });
  assert.equal(a('#/$defs/n', { $defs: { n: { type: 'number' } } }), number);
  assert.equal(a('#/definitions/a~1b%20c', { definitions: { 'a/b c': { type: 'number' } } }), number);
  assert.equal(a('#n', { $defs: { n: { $anchor: 'n', type: 'number' } } }), number);
  assert.equal(a('n.json', { $id: 'https://h/r.json', $defs: { n: { $id: 'n.json', type: 'number' } } }), number);
  assert.equal(a('urn:x:n', { $defs: { n: { $id: 'urn:x:n', type: 'number' } } }), number);
  assert.equal(a('#/x-shared/n', { 'x-shared': { n: { type: 'number' } } }), number);
  assert.equal(
    a('#/anyOf/0', { anyOf: [{ type: ['number', 'object'] }] }),
    'arguments.a must be number or object, got string "x"',
  );
});

test('a reference that never comes to a part of the value is refused', () => {
  const message = 'schema must not come back to itself by $ref before it comes to a part of the value';
  assert.equal(compile({ $ref: '#' }), message);
  assert.equal(compile({ anyOf: [{ type: 'null' }, { not: { $ref: '#' } }] }), message);
  assert.equal(
    compile({
      properties: { a: { $ref: '#/$defs/x' } },
      $defs: { x: { allOf: [{ $ref: '#/$defs/y' }] }, y: { $ref: '#/$defs/x' } },
    }),
    'schema.$defs.x must not come back to itself by $ref before it comes to a part of the value',
  );
});

test('null stands for an absent keyword, as some serializers write it', () => {
  const schema = {
    type: 'object',
    properties: null,
    required: null,
    enum: null,
    minLength: null,
    $ref: null,
    items: null,
  };
  assert.equal(check(schema, { a: 1 }), 'ok');
  assert.equal(check({ properties: { a: { const: null } } }, { a: 1 }), 'arguments.a must be null, got 1');
});

test('older drafts and OpenAPI keep their meaning', () => {
  const draft = (version: string) => ({ $schema: `http://json-schema.org/${version}/schema#` });
  const n = 'arguments.n must be';
  assert.equal(
    check({ ...draft('draft-04'), properties: { n: { minimum: 1, exclusiveMinimum: true } } }, { n: 1 }),
    `${n} more than 1, got 1`,
  );
  assert.equal(
    check({ ...draft('draft-04'), properties: { n: { minimum: 1, exclusiveMinimum: false } } }, { n: 1 }),
    'ok',
  );
  const beside = { properties: { n: { $ref: '#/definitions/n', maximum: 1 } }, definitions: { n: { type: 'number' } } };
  assert.equal(check({ ...draft('draft-07'), ...beside }, { n: 5 }), 'ok');
  assert.equal(check(beside, { n: 5 }), `${n} at most 1, got 5`);
  const named = { properties: { n: { $ref: '#n' } }, definitions: { n: { $id: '#n', type: 'number' } } };
  assert.equal(check({ ...draft('draft-06'), ...named }, { n: 'x' }), `${n} number, got string "x"`);
  assert.equal(check({ properties: { n: { type: 'number', nullable: true } } }, { n: null }), 'ok');
  assert.equal(
    check({ dependencies: { a: ['b'], n: { required: ['c'] } } }, { n: 1 }),
    'arguments must have required property "c"',
  );
  assert.equal(check({ dependencies: { a: ['b'] } }, { a: 1 }), 'arguments must have property "b" because it has "a"');
});

test('format, unknown keywords and the options of other validators say nothing', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string', format: 'email', contentEncoding: 'base64', errorMessage: 'x', instanceof: 'Date' },
    },
    $async: true,
    $data: true,
    discriminator: { propertyName: 'a' },
    'x-anything': { $id: 'y', $ref: 'http://nowhere' },
    $vocabulary: {},
    $comment: 'c',
    default: { $ref: '#/gone' },
    examples: [{ $ref: 'z' }],
  };
  assert.equal(check(schema, { a: 'no mail' }), 'ok');
});

test('a pattern that no linear engine can match is noted and not checked', () => {
  const compiled = compileSchema(packr.pack({
    properties: { email: { type: 'string', pattern: '^(?!\\.)[a-z.]+@[a-z.]+$' }, twice: { pattern: '^(a)\\1$' } },
    patternProperties: { '(?<=x)y': { type: 'number' } },
    additionalProperties: false,
  }));
  assert.ok(compiled.ok);
  assert.deepEqual(compiled.schema.notes, [
    'schema.patternProperties["(?<=x)y"] is not checked, because "(?<=" cannot be matched in linear time',
    'schema.properties.email.pattern is not checked, because "(?!" cannot be matched in linear time',
    'schema.properties.twice.pattern is not checked, because "\\1" cannot be matched in linear time',
  ]);
  assert.deepEqual(checkArguments(compiled.schema, packr.pack({ email: '.', twice: 'b', xy: 'x' })), {
    ok: true,
    emptyArrays: [],
  });
  assert.equal(check({ properties: { a: { pattern: '[(?=]\\\\1' } } }, { a: '=\\1' }), 'ok');
});
