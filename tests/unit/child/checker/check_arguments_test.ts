// What a model reads when its arguments do not fit, against input schemas as tools really have them. Every message is
// asserted whole.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { checkArguments } from '../../../../src/child/checker/check_arguments.ts';
import { compileSchema } from '../../../../src/child/checker/compile_schema.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true });

/** `ok`, or the message for the model. */
function check(schema: unknown, args: unknown): string {
  const compiled = compileSchema(packr.pack(schema));
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.message);
  const result = checkArguments(compiled.schema, packr.pack(args));
  return result.ok ? 'ok' : result.message;
}

/** Checks each arguments against one schema. */
function table(schema: unknown, rows: readonly (readonly [args: unknown, outcome: string])[]): void {
  for (const [args, outcome] of rows) assert.equal(check(schema, args), outcome);
}

const editFile = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    path: { type: 'string' },
    edits: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          oldText: { type: 'string', description: 'Text to search for - must match exactly' },
          newText: { type: 'string', description: 'Text to replace with' },
        },
        required: ['oldText', 'newText'],
        additionalProperties: false,
      },
    },
    dryRun: { type: 'boolean', default: false },
  },
  required: ['path', 'edits'],
  additionalProperties: false,
};

test('a file server: wrong names, missing properties and wrong types are told with their place', () => {
  table(editFile, [
    [{ path: 'a', edits: [{ oldText: 'x', newText: 'y' }], dryRun: true }, 'ok'],
    [{ edits: [] }, 'arguments must have required property "path"'],
    [{ pth: 'a', edits: [] }, 'arguments has no property "pth"; did you mean "path"'],
    [{ path: 'a', edits: [], verbose: 1 }, 'arguments has no property "verbose"; it has "path", "edits", "dryRun"'],
    [{ path: 5, edits: [] }, 'arguments.path must be string, got number 5'],
    [{ path: 'a', edits: [{ oldText: 'x' }] }, 'arguments.edits[0] must have required property "newText"'],
    [
      { path: 'a', edits: [{ oldText: 'x', newText: 'y' }, { oldText: 'x', newText: null }] },
      'arguments.edits[1].newText must be string, got null',
    ],
    [
      { path: 'a', edits: [{ old_text: 'x', newText: 'y' }] },
      'arguments.edits[0] has no property "old_text"; did you mean "oldText"',
    ],
    [{ path: 'a', edits: 'x' }, 'arguments.edits must be array, got string "x"'],
    [{ path: ['a'], edits: [] }, 'arguments.path must be string, got array'],
  ]);
});

test('a code host: nested objects, enums, bounds and lists of strings', () => {
  const createIssue = {
    type: 'object',
    properties: {
      owner: { type: 'string', description: 'Repository owner' },
      labels: { type: 'array', items: { type: 'string' }, maxItems: 2, uniqueItems: true },
      state: { type: 'string', enum: ['open', 'closed', 'all'] },
      perPage: { type: 'number', minimum: 1, maximum: 100 },
      since: { type: 'string', format: 'date-time' },
      sort: { type: 'object', properties: { by: { const: 'created' }, direction: { enum: ['asc', 'desc', 1, null] } } },
      title: { type: 'string', minLength: 1, maxLength: 5, pattern: '^[A-Za-z ]+$' },
      step: { type: 'integer', multipleOf: 5, exclusiveMinimum: 0, exclusiveMaximum: 50 },
    },
    required: ['owner'],
  };
  const rows: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ labels: ['a', 'b'], state: 'open', perPage: 30, since: 'no date', extra: 1 }, 'ok'],
    [{ labels: ['a', 2] }, 'arguments.labels[1] must be string, got number 2'],
    [{ labels: ['a', 'b', 'c'] }, 'arguments.labels must have at most 2 items, got 3'],
    [{ labels: ['a', 'a'] }, 'arguments.labels must have items that are all different, got the same at [0] and [1]'],
    [{ state: 'opened' }, 'arguments.state must be one of "open", "closed", "all", got "opened"'],
    [{ perPage: 0 }, 'arguments.perPage must be at least 1, got 0'],
    [{ perPage: 100.5 }, 'arguments.perPage must be at most 100, got 100.5'],
    [{ sort: { by: 'updated' } }, 'arguments.sort.by must be "created", got "updated"'],
    [
      { sort: { direction: { up: [1] } } },
      'arguments.sort.direction must be one of "asc", "desc", 1, null, got {"up": [1]}',
    ],
    [{ title: '' }, 'arguments.title must have at least 1 character, got 0'],
    [{ title: 'too long' }, 'arguments.title must have at most 5 characters, got 8'],
    [{ title: 'a1' }, 'arguments.title must match the pattern "^[A-Za-z ]+$", got "a1"'],
    [{ step: 7 }, 'arguments.step must be a multiple of 5, got 7'],
    [{ step: 0 }, 'arguments.step must be more than 0, got 0'],
    [{ step: 50 }, 'arguments.step must be less than 50, got 50'],
    [{ step: 2.5 }, 'arguments.step must be integer, got number 2.5'],
    [{ step: 5.0 }, 'ok'],
  ];
  table(createIssue, rows.map(([args, outcome]) => [{ owner: 'o', ...args }, outcome]));
});

test('alternatives as Python and TypeScript libraries write them: the most helpful error is told', () => {
  const optional = { anyOf: [{ type: 'string' }, { type: 'null' }], default: null };
  const schema = {
    type: 'object',
    properties: {
      name: optional,
      mode: { anyOf: [{ enum: ['r', 'w'], type: 'string' }, { type: 'null' }] },
      level: { anyOf: [{ const: 'low' }, { const: 'high' }] },
      size: { type: ['integer', 'string'], minimum: 1 },
      shape: {
        oneOf: [
          { $ref: '#/$defs/Circle' },
          { $ref: '#/$defs/Box' },
        ],
        discriminator: { propertyName: 'kind', mapping: { circle: '#/$defs/Circle', box: '#/$defs/Box' } },
      },
      target: { anyOf: [{ required: ['id'] }, { required: ['url'] }] },
    },
    $defs: {
      Circle: {
        type: 'object',
        properties: { kind: { const: 'circle', type: 'string' }, radius: { type: 'number' } },
        required: ['kind', 'radius'],
      },
      Box: {
        type: 'object',
        properties: { kind: { const: 'box', type: 'string' }, sides: { type: 'array', items: { type: 'number' } } },
        required: ['kind', 'sides'],
        additionalProperties: false,
      },
    },
  };
  table(schema, [
    [{ name: null, mode: 'r', level: 'low', size: 'x', shape: { kind: 'box', sides: [1] }, target: { id: 1 } }, 'ok'],
    [{ name: 5 }, 'arguments.name must be string or null, got number 5'],
    [{ mode: 'x' }, 'arguments.mode must be one of "r", "w", null, got "x"'],
    [{ level: 'mid' }, 'arguments.level must be one of "low", "high", got "mid"'],
    [{ size: true }, 'arguments.size must be integer or string, got boolean true'],
    [{ size: 0 }, 'arguments.size must be at least 1, got 0'],
    [{ shape: 'box' }, 'arguments.shape must be object, got string "box"'],
    [{ shape: { kind: 'ring' } }, 'arguments.shape.kind must be one of "circle", "box", got "ring"'],
    [{ shape: { kind: 'box' } }, 'arguments.shape must have required property "sides"'],
    [{ shape: { kind: 'circle' } }, 'arguments.shape must have required property "radius"'],
    [{ shape: { kind: 'box', sides: [1, 'x'] } }, 'arguments.shape.sides[1] must be number, got string "x"'],
    [{ shape: { kind: 'box', sides: [], side: 1 } }, 'arguments.shape has no property "side"; did you mean "sides"'],
    [{ shape: {} }, 'arguments.shape must have required property "kind"'],
    [{ target: {} }, 'arguments.target must have required property "id" or "url"'],
  ]);
});

test('a union of many tagged objects inside itself still tells the one fault, at its place', () => {
  const branches = Array.from({ length: 200 }, (_, at) => ({
    properties: { kind: { const: `k${at}` }, inner: { $ref: '#/$defs/node' }, [`v${at}`]: { type: 'string' } },
    required: ['kind'],
  }));
  const schema = { $ref: '#/$defs/node', $defs: { node: { type: 'object', anyOf: branches } } };
  const args = (v: unknown) => ({ kind: 'k199', inner: { kind: 'k150', inner: { kind: 'k7', v7: v } } });
  table(schema, [
    [args('fine'), 'ok'],
    [args(5), 'arguments.inner.inner.v7 must be string, got number 5'],
  ]);
});

test('more than one alternative, conditions, exclusions, tuples, names and closed objects', () => {
  const schema = {
    type: 'object',
    properties: {
      either: { oneOf: [{ type: 'number' }, { type: 'integer' }] },
      when: { if: { properties: { on: { const: true } }, required: ['on'] }, then: { required: ['at'] } },
      never: false,
      other: { not: { type: 'string' } },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      old: { items: [{ type: 'string' }], additionalItems: { type: 'boolean' } },
      env: { type: 'object', propertyNames: { pattern: '^[A-Z]+$' }, additionalProperties: { type: 'string' } },
      tagged: { type: 'object', patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
      closed: { allOf: [{ properties: { a: true } }], properties: { b: true }, unevaluatedProperties: false },
      some: { contains: { const: 1 }, maxContains: 2 },
      card: { dependentRequired: { number: ['owner'] } },
      few: { type: 'object', minProperties: 1, maxProperties: 1 },
    },
  };
  table(schema, [
    [
      { either: 1 },
      'arguments.either must match one alternative of the schema only, but matches number 1 and number 2',
    ],
    [{ either: 1.5 }, 'ok'],
    [{ when: { on: true } }, 'arguments.when must have required property "at"'],
    [{ never: 1 }, 'arguments.never is not allowed'],
    [{ other: 'x' }, 'arguments.other must not be what the schema excludes, got "x"'],
    [{ pair: ['a', 1, 2] }, 'arguments.pair must have at most 2 items, got 3'],
    [{ pair: ['a', 'b'] }, 'arguments.pair[1] must be number, got string "b"'],
    [{ old: ['a', 1] }, 'arguments.old[1] must be boolean, got number 1'],
    [
      { env: { path: '/' } },
      'arguments.env has a property "path", the name of which must match the pattern "^[A-Z]+$", got "path"',
    ],
    [{ env: { PATH: 1 } }, 'arguments.env.PATH must be string, got number 1'],
    [{ tagged: { 'x-a': 1 } }, 'arguments.tagged.x-a must be string, got number 1'],
    [{ tagged: { y: 1 } }, 'arguments.tagged has no property "y"'],
    [{ closed: { a: 1, b: 2 } }, 'ok'],
    [{ closed: { a: 1, c: 2 } }, 'arguments.closed has no property "c"; it has "b"'],
    [{ some: [2] }, 'arguments.some must have at least 1 and at most 2 of the items that the schema asks for'],
    [{ card: { number: 1 } }, 'arguments.card must have property "owner" because it has "number"'],
    [{ few: {} }, 'arguments.few must have at least 1 property, got 0'],
    [{ few: { a: 1, b: 2 } }, 'arguments.few must have at most 1 property, got 2'],
  ]);
});

test('a recursive schema follows the value down', () => {
  const tree = {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
  };
  table(tree, [
    [{ next: { next: {} } }, 'ok'],
    [{ next: { next: { next: 3 } } }, 'arguments.next.next.next must be object, got number 3'],
  ]);
  table({ properties: { a: { $ref: '#' } }, additionalProperties: false }, [
    [{ a: { a: {} } }, 'ok'],
    [{ a: { b: 1 } }, 'arguments.a has no property "b"; it has "a"'],
  ]);
});

test('values, paths and whole messages are cut', () => {
  const long = 'x'.repeat(1_000);
  const shown = `"${'x'.repeat(77)}..."`;
  const numbers = { additionalProperties: { type: 'number' } };
  assert.equal(check(numbers, { a: long }), `arguments.a must be number, got string ${shown}`);
  assert.equal(check(numbers, { [long]: 'v' }), `arguments[${shown}] must be number, got string "v"`);
  assert.equal(check(numbers, { a: '\0'.repeat(99) }).length, 'arguments.a must be number, got string ""'.length + 105);
  const values = Array.from({ length: 1_000 }, (_, at) => `value number ${at}`);
  const choice = check({ properties: { a: { enum: values } } }, { a: long });
  assert.match(choice, /^arguments\.a must be one of "value number 0", .*, \.\.\. \(1000 in all\), got "x{77}\.\.\."$/);
  assert.ok(choice.length <= 500, choice);
  let deep: unknown = 'v';
  for (let level = 0; level < 60; level++) deep = { 'ab cd': deep };
  const recursive = {
    $ref: '#/$defs/a',
    $defs: { a: { type: 'object', additionalProperties: { $ref: '#/$defs/a' } } },
  };
  const path = check(recursive, deep);
  assert.match(path, /^arguments\["ab cd"\].*\.\.\..*\["ab cd"\] must be object, got string "v"$/);
  assert.ok(path.length <= 250, path);
});

test('names that are not words are quoted in paths', () => {
  table({ additionalProperties: { type: 'number' } }, [
    [{ 'a b': 'v' }, 'arguments["a b"] must be number, got string "v"'],
    [{ 'a/b~c': 'v' }, 'arguments["a/b~c"] must be number, got string "v"'],
    [{ '0': 'v' }, 'arguments["0"] must be number, got string "v"'],
    [{ 'a"\n': 'v' }, 'arguments["a\\"\\n"] must be number, got string "v"'],
  ]);
});

test('arguments that are no object are told so', () => {
  table({}, [[[1], 'arguments must be object, got array'], [7, 'arguments must be object, got number 7'], [{}, 'ok']]);
});

test('the next call of a schema knows nothing of the last one', () => {
  const compiled = compileSchema(packr.pack(editFile));
  assert.ok(compiled.ok);
  const outcomes = [{ path: 1, edits: [] }, { path: 'a', edits: [] }, {}].map((args) =>
    checkArguments(compiled.schema, packr.pack(args))
  );
  assert.deepEqual(outcomes, [
    { ok: false, message: 'arguments.path must be string, got number 1' },
    { ok: true, emptyArrays: [] },
    { ok: false, message: 'arguments must have required property "path"' },
  ]);
});
