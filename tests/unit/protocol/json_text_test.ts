// Values as text for people: complete where there is room, cut cleanly where there is none.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut, jsonText } from '../../../src/protocol/json_text.ts';
import { RawValue } from '../../../src/protocol/outline.ts';
import { encode, encodeText } from '../../../src/protocol/wire.ts';
import { fromHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

const shown = (value: unknown, most = 1000) => jsonText(encode(value), most);

test('plain data reads as JSON does', () => {
  const values: unknown[] = [
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e300,
    'é😀"\\\n',
    [],
    {},
    [1, [2, [3]], { a: { b: [] } }],
    { a: 1, b: 'x', c: null },
    '',
    [''],
  ];
  for (const value of values) assert.equal(shown(value), JSON.stringify(value));
});

test('what JSON lacks is shown all the same', () => {
  const table: [unknown, string][] = [
    [2n ** 64n - 1n, '18446744073709551615'],
    [-(2n ** 63n), '-9223372036854775808'],
    [{ n: 2n ** 53n + 1n }, '{"n":9007199254740993}'],
    [NaN, '"NaN"'],
    [-Infinity, '"-Infinity"'],
    [-0, '0'],
    [Uint8Array.of(0xff, 0xfe), '"<2 bytes>"'],
    [new Uint8Array(0), '""'],
    [Uint8Array.of(0x61), '"a"'],
    [{ data: new Uint8Array(300).fill(0xff) }, '{"data":"<300 bytes>"}'],
  ];
  for (const [value, text] of table) assert.equal(shown(value), text);
  assert.equal(jsonText(fromHex('82 01 02 9103 04'), 100), '{1:2,[3]:4}');
  assert.equal(jsonText(fromHex('81 c402fffe c0'), 100), '{"<2 bytes>":null}');
});

test('bytes that are no text are shown by their size, however many they are', () => {
  for (const size of [100, 1000, 10_000, 1_000_000]) {
    assert.equal(shown(new Uint8Array(size).fill(0xff), 200), `"<${size} bytes>"`);
    assert.equal(shown({ a: new Uint8Array(size).fill(0xff), b: 1 }, 200), `{"a":"<${size} bytes>","b":1}`);
  }
});

test('what is too long is cut at the bound and ends with three dots', () => {
  const long = { text: 'x'.repeat(5000) };
  for (const most of [3, 4, 10, 100, 200]) {
    const text = shown(long, most);
    assert.equal(text.length, most);
    assert.equal(text, `${JSON.stringify(long).slice(0, most - 3)}...`);
  }
  assert.equal(shown('x'.repeat(198), 200), `"${'x'.repeat(198)}"`);
  assert.equal(shown('x'.repeat(199), 200), `"${'x'.repeat(196)}...`);
  const list = shown(Array.from({ length: 10_000 }, (_, i) => i), 50);
  assert.equal(list.length, 50);
  assert.ok(list.startsWith('[0,1,2,3,') && list.endsWith('...'));
});

test('a cut never leaves half of a pair of surrogates', () => {
  for (let shift = 0; shift < 4; shift++) {
    const value = 'a'.repeat(shift) + '😀'.repeat(300);
    for (let most = 10; most < 40; most++) {
      const text = shown(value, most);
      assert.ok(text.isWellFormed(), `${shift} ${most}`);
      assert.ok(text.length <= most && text.length >= most - 1);
    }
  }
});

test('text that is cut within a character of several bytes shows only whole characters', () => {
  for (let shift = 0; shift < 4; shift++) {
    const text = jsonText(encodeText(new TextEncoder().encode('a'.repeat(shift) + '€'.repeat(5000))).bytes, 60);
    assert.match(text, /^"a*€+\.\.\.$/);
  }
});

test('a large value costs no more than what is shown of it', () => {
  const original = JSON.stringify;
  let characters = 0;
  JSON.stringify = ((value: unknown) => {
    if (typeof value === 'string') characters += value.length;
    return original(value);
  }) as typeof JSON.stringify;
  try {
    shown({ a: 'x'.repeat(10_000_000), b: 'y'.repeat(10_000_000), list: Array(10_000).fill('z'.repeat(100)) }, 200);
  } finally {
    JSON.stringify = original;
  }
  assert.ok(characters < 5000, `${characters} characters were made text`);
});

test('nested values far beyond the bound end', () => {
  let value: unknown = 1;
  for (let i = 0; i < 60; i++) value = i % 2 ? [value] : { k: value };
  assert.equal(shown(value, 20).length, 20);
  assert.equal(shown(value, 10_000), JSON.stringify(value));
});

test('a raw value is shown as what it holds', () => {
  assert.equal(shown({ raw: new RawValue(encode([1, 'x'])) }), '{"raw":[1,"x"]}');
});

test('cut keeps what fits', () => {
  assert.equal(cut('abc', 3), 'abc');
  assert.equal(cut('abcd', 3), 'abc');
  assert.equal(cut('ab😀', 3), 'ab');
  assert.equal(cut('ab😀', 4), 'ab😀');
  assert.equal(cut('abc', 0), '');
  assert.equal(cut('😀', 1), '');
});

test('random data that JSON has reads as JSON.stringify writes it', () => {
  const random = seededRandom(9);
  const make = (depth: number): unknown => {
    const kind = random.below(depth > 4 ? 4 : 6);
    if (kind === 0) return random.below(10) - 5;
    if (kind === 1) return random.next();
    if (kind === 2) return String.fromCodePoint(...Array.from({ length: random.below(9) }, () => random.below(0xd7ff)));
    if (kind === 3) return random.pick([null, true, false]);
    if (kind === 4) return Array.from({ length: random.below(6) }, () => make(depth + 1));
    return Object.fromEntries(Array.from({ length: random.below(6) }, (_, i) => [`k${i}`, make(depth + 1)]));
  };
  for (let i = 0; i < 500; i++) {
    const value = make(0);
    assert.equal(shown(value, 1_000_000), JSON.stringify(value));
  }
});
