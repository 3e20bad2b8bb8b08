// Which empty tables of a program become arrays: those for which the schema wants an array and no object.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr, unpack } from 'msgpackr';
import { checkArguments } from '../../../../src/child/checker/check_arguments.ts';
import { compileSchema } from '../../../../src/child/checker/compile_schema.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true });

/** The arguments as they are sent after the check; a message where they do not fit. */
function shaped(schema: unknown, args: unknown): unknown {
  const compiled = compileSchema(packr.pack(schema));
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.message);
  const bytes = Uint8Array.from(packr.pack(args));
  const result = checkArguments(compiled.schema, bytes);
  if (!result.ok) return result.message;
  for (const offset of result.emptyArrays) {
    assert.equal(bytes[offset], 0x80);
    bytes[offset] = 0x90;
  }
  return unpack(bytes);
}

const list = { type: 'array', items: { type: 'string' } };

test('an empty table becomes an array through every keyword that leads to its place', () => {
  const at = (schema: unknown) => shaped(schema, { a: {} });
  const array = { a: [] };
  assert.deepEqual(at({ properties: { a: list } }), array);
  assert.deepEqual(at({ patternProperties: { '^a$': list } }), array);
  assert.deepEqual(at({ additionalProperties: list }), array);
  assert.deepEqual(at({ unevaluatedProperties: list }), array);
  assert.deepEqual(at({ allOf: [{ properties: { a: list } }] }), array);
  assert.deepEqual(at({ anyOf: [{ properties: { a: list } }, { required: ['b'] }] }), array);
  assert.deepEqual(at({ oneOf: [{ properties: { a: list }, required: ['a'] }, { required: ['b'] }] }), array);
  assert.deepEqual(at({ if: { required: ['a'] }, then: { properties: { a: list } } }), array);
  assert.deepEqual(at({ dependentSchemas: { a: { properties: { a: list } } } }), array);
  assert.deepEqual(
    at({ $ref: '#/$defs/x', $defs: { x: { properties: { a: { $ref: '#/$defs/y' } } }, y: list } }),
    array,
  );
  assert.deepEqual(at({ properties: { a: { type: ['array', 'null'] } } }), array);
  assert.deepEqual(at({ properties: { a: { anyOf: [list, { type: 'null' }] } } }), array);
  assert.deepEqual(at({ properties: { a: { allOf: [{ type: ['array', 'object'] }, { type: 'array' }] } } }), array);
  assert.deepEqual(at({ properties: { a: { items: { type: 'string' } } } }), array);
  assert.deepEqual(at({ properties: { a: { const: [] } } }), array);
});

test('an empty table stays a map where the schema wants one, admits both or says nothing', () => {
  const map = { a: {} };
  for (
    const a of [
      { type: 'object' },
      { type: ['array', 'object'] },
      { anyOf: [list, { type: 'object' }] },
      { oneOf: [list, { type: 'object' }] },
      {},
      true,
      { anyOf: [list, {}] },
      { properties: { b: list } },
    ]
  ) assert.deepEqual(shaped({ properties: { a } }, map), map, JSON.stringify(a));
  assert.deepEqual(shaped({ type: 'object' }, {}), {});
});

test('empty tables inside arrays, tuples and one another', () => {
  const schema = {
    properties: {
      rows: { type: 'array', items: list },
      pair: { type: 'array', prefixItems: [list, { type: 'object' }], items: list },
      old: { type: 'array', items: [list], additionalItems: { type: 'object' } },
      tree: { $ref: '#/$defs/tree' },
    },
    $defs: { tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } } } },
  };
  assert.deepEqual(
    shaped(schema, {
      rows: [{}, ['x'], {}],
      pair: [{}, {}, {}],
      old: [{}, {}],
      tree: { children: [{ children: {} }, {}] },
    }),
    {
      rows: [[], ['x'], []],
      pair: [[], {}, []],
      old: [[], {}],
      tree: { children: [{ children: [] }, {}] },
    },
  );
});

test('the tag of a discriminated union decides', () => {
  const schema = {
    properties: {
      op: {
        oneOf: [
          { properties: { kind: { const: 'list' }, of: { type: 'array' } }, required: ['kind'] },
          { properties: { kind: { enum: ['map', 'set'] }, of: { type: 'object' } }, required: ['kind'] },
        ],
      },
    },
  };
  assert.deepEqual(shaped(schema, { op: { kind: 'list', of: {} } }), { op: { kind: 'list', of: [] } });
  assert.deepEqual(shaped(schema, { op: { kind: 'set', of: {} } }), { op: { kind: 'set', of: {} } });
});

test('the array is checked as an array, and offsets come in order', () => {
  assert.equal(
    shaped({ properties: { a: { type: 'array', minItems: 1 } } }, { a: {} }),
    'arguments.a must have at least 1 item, got 0',
  );
  assert.equal(
    shaped({ properties: { a: { type: 'string' } } }, { a: {} }),
    'arguments.a must be string, got empty object',
  );
  const compiled = compileSchema(packr.pack({ additionalProperties: list }));
  assert.ok(compiled.ok);
  const bytes = Uint8Array.of(0x83, 0xa1, 0x61, 0x80, 0xa1, 0x62, 0x90, 0xa1, 0x63, 0x80);
  assert.deepEqual(checkArguments(compiled.schema, bytes), { ok: true, emptyArrays: [3, 9] });
});
