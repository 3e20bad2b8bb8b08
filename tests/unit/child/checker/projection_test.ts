// The reader of MessagePack: every form of the format, bytes and bad text, and what it refuses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { checkArguments } from '../../../../src/child/checker/check_arguments.ts';
import { compileSchema } from '../../../../src/child/checker/compile_schema.ts';
import { type Projected, unmarked } from '../../../../src/child/checker/projected_values.ts';
import { projectValue } from '../../../../src/child/checker/projection.ts';

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true });

function read(...bytes: number[]): unknown {
  const result = projectValue(Uint8Array.from(bytes), { root: 'value', depth: 8, elements: 100 });
  return result.ok ? plain(result.projection.value) : result.message;
}

/** The value without marks. */
function plain(value: Projected): unknown {
  if (typeof value === 'string') return unmarked(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [unmarked(name), plain(item)]));
}

test('every form of plain MessagePack is read', () => {
  const rows: readonly (readonly [number[], unknown])[] = [
    [[0x07], 7],
    [[0xff], -1],
    [[0xc0], null],
    [[0xc2], false],
    [[0xc3], true],
    [[0xcc, 0xff], 255],
    [[0xcd, 0x01, 0x00], 256],
    [[0xce, 0xff, 0xff, 0xff, 0xff], 4_294_967_295],
    [[0xcf, 0, 0, 0, 0, 0, 0, 0, 1], 1],
    [[0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 2n ** 64n - 1n],
    [[0xd0, 0x80], -128],
    [[0xd1, 0x80, 0x00], -32_768],
    [[0xd2, 0x80, 0, 0, 0], -2_147_483_648],
    [[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], -(2n ** 63n)],
    [[0xca, 0x3f, 0x00, 0x00, 0x00], 0.5],
    [[0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0], 0],
    [[0xcb, 0x43, 0x50, 0, 0, 0, 0, 0, 0], 2n ** 54n],
    [[0xa1, 0x61], 'a'],
    [[0xd9, 1, 0x61], 'a'],
    [[0xda, 0, 1, 0x61], 'a'],
    [[0xdb, 0, 0, 0, 1, 0x61], 'a'],
    [[0xc4, 1, 0xff], '\xff'],
    [[0xc5, 0, 1, 0x61], 'a'],
    [[0xc6, 0, 0, 0, 1, 0x61], 'a'],
    [[0xa2, 0xff, 0x61], '\xffa'],
    [[0xa3, 0xef, 0xbb, 0xbf], '\ufeff'],
    [[0x92, 1, 2], [1, 2]],
    [[0xdc, 0, 1, 1], [1]],
    [[0xdd, 0, 0, 0, 1, 1], [1]],
    [[0x81, 0xa1, 0x61, 1], { a: 1 }],
    [[0xde, 0, 1, 0xa1, 0x61, 1], { a: 1 }],
    [[0xdf, 0, 0, 0, 1, 0xc4, 1, 0x61, 1], { a: 1 }],
  ];
  for (const [bytes, value] of rows) assert.deepEqual(read(...bytes), value, bytes.join(' '));
});

test('what is not plain MessagePack, or not JSON, is refused with its place', () => {
  const short = (length: number) => `value must be whole MessagePack, got ${length} bytes that end too early`;
  const rows: readonly (readonly [number[], string])[] = [
    [[], short(0)],
    [[0xa2, 0x61], short(2)],
    [[0xcf, 0], short(2)],
    [[0xdd, 0xff, 0xff, 0xff, 0xff], short(5)],
    [[0xdf, 0xff, 0xff, 0xff, 0xff], short(5)],
    [[0xdb, 0xff, 0xff, 0xff, 0xff], short(5)],
    [[0x91], short(1)],
    [[0xc0, 0xc0], 'value must be one value, got 1 bytes after it'],
    [[0x91, 0xc1], 'value[0] must be plain MessagePack, got the byte 0xc1'],
    [[0xd4, 0x72, 0x00], 'value must be plain MessagePack, got the byte 0xd4'],
    [[0xc7, 0, 1], 'value must be plain MessagePack, got the byte 0xc7'],
    [[0x81, 1, 1], 'value must have text as names of its properties'],
    [[0x82, 0xa1, 0x61, 1, 0xa1, 0x61, 2], 'value.a must be given once'],
    [
      [0x81, 0xa1, 0x61, 0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0],
      'value.a must be a finite number, got Infinity; JSON has no Infinity',
    ],
    [Array(9).fill(0x91), 'value[0][0][0][0][0][0][0][0] must be at most 8 levels deep'],
    [[0xdc, 0, 101, ...Array(101).fill(1)], 'value[99] must have fewer values'],
  ];
  for (const [bytes, message] of rows) assert.equal(read(...bytes), message);
});

test('a view into a larger buffer is read from its own start', () => {
  const bytes = Uint8Array.of(0xc1, 0x81, 0xa1, 0x61, 0x80, 0xc1).subarray(1, 5);
  const compiled = compileSchema(packr.pack({ properties: { a: { type: 'array' } } }));
  assert.ok(compiled.ok);
  assert.deepEqual(checkArguments(compiled.schema, bytes), { ok: true, emptyArrays: [3] });
});

test('bytes count as a string, one character each; text counts characters', () => {
  const check = (schema: unknown, a: unknown) => {
    const compiled = compileSchema(packr.pack({ properties: { a: schema } }));
    assert.ok(compiled.ok);
    const result = checkArguments(compiled.schema, packr.pack({ a }));
    return result.ok ? 'ok' : result.message;
  };
  const bytes = Uint8Array.of(0xff, 0xfe, 0x41);
  assert.equal(check({ type: 'string', minLength: 3, maxLength: 3, pattern: 'A$' }, bytes), 'ok');
  assert.equal(check({ minLength: 4 }, bytes), 'arguments.a must have at least 4 characters, got 3');
  assert.equal(check({ type: 'number' }, bytes), 'arguments.a must be number, got string "ÿþA"');
  assert.equal(check({ const: 'abc' }, Uint8Array.of(0x61, 0x62, 0x63)), 'ok');
  assert.equal(check({ maxLength: 2 }, '😀😀'), 'ok');
  assert.equal(check({ maxLength: 1 }, '😀😀'), 'arguments.a must have at most 1 character, got 2');
  assert.equal(check({ type: 'string' }, new Uint8Array(100_000)), 'ok');
});
