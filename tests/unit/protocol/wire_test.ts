// The codec of the wire: hard values there and back, bytes placed at any depth, text and bytes kept apart.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { checkValue, defaultWireBounds, RawValue } from '../../../src/protocol/outline.ts';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import { decode, decodeIntegers, encode, encodeText } from '../../../src/protocol/wire.ts';
import { fromHex, toHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

test('numbers go out as the shortest form that keeps their kind and value', () => {
  const table: [number | bigint, string][] = [
    [0, '00'],
    [127, '7f'],
    [-1, 'ff'],
    [-32, 'e0'],
    [-33, 'd0df'],
    [128, 'cc80'],
    [256, 'cd0100'],
    [65_536, 'ce00010000'],
    [2 ** 31, 'ce80000000'],
    [2 ** 32 - 1, 'ceffffffff'],
    [2 ** 32, 'd30000000100000000'],
    [-(2 ** 31), 'd280000000'],
    [-(2 ** 31) - 1, 'd3ffffffff7fffffff'],
    [Number.MAX_SAFE_INTEGER, 'd3001fffffffffffff'],
    [Number.MIN_SAFE_INTEGER, 'd3ffe0000000000001'],
    [2 ** 53, 'cb4340000000000000'],
    [1.5, 'cb3ff8000000000000'],
    [-0, 'cb8000000000000000'],
    [NaN, 'cb7ff8000000000000'],
    [Infinity, 'cb7ff0000000000000'],
    [-Infinity, 'cbfff0000000000000'],
    [5n, 'd30000000000000005'],
    [2n ** 63n - 1n, 'd37fffffffffffffff'],
    [2n ** 63n, 'cf8000000000000000'],
    [2n ** 64n - 1n, 'cfffffffffffffffff'],
    [-(2n ** 63n), 'd38000000000000000'],
  ];
  for (const [value, hex] of table) {
    assert.equal(toHex(encode(value)), hex, `${value}`);
    assert.equal(toHex(encode([{ deep: [value] }])), `9181a46465657091${hex}`, `${value} inside`);
    const back: unknown = decode(encode(value));
    if (typeof value === 'bigint') assert.equal(BigInt(back as number), value);
    else assert.ok(Object.is(back, value), `${value} came back as ${String(back)}`);
  }
});

test('a BigInt beyond 64 bits is refused by a sentence', () => {
  for (const value of [2n ** 64n, -(2n ** 63n) - 1n]) {
    for (const holder of [value, [value], { a: { b: value } }, new Map([['a', value]])]) {
      assert.throws(() => encode(holder), new RangeError(`Cannot encode ${value}: an integer must fit in 64 bits`));
    }
  }
});

test('plain data comes back as it was', () => {
  const values: unknown[] = [
    null,
    true,
    false,
    '',
    'a',
    'é€😀',
    'x'.repeat(31),
    'x'.repeat(32),
    'x'.repeat(255),
    'x'.repeat(256),
    'x'.repeat(65_535),
    'x'.repeat(65_536),
    [],
    {},
    [[], {}, [[]]],
    Array.from({ length: 15 }, (_, i) => i),
    Array.from({ length: 16 }, (_, i) => i),
    Array.from({ length: 65_536 }, (_, i) => i % 7),
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, i])),
    { '': 1, 'constructor': 2, 'toString': 3, 'hasOwnProperty': 4, '1': 5 },
    2n ** 60n,
    [1, -1, 1.25, 2 ** 40, -(2 ** 40)],
  ];
  for (const value of values) assert.deepEqual(decode(encode(value)), value);
});

test('bytes come back as bytes, of every length of header', () => {
  for (const length of [0, 1, 255, 256, 65_535, 65_536]) {
    const bytes = Uint8Array.from({ length }, (_, i) => i & 255);
    const back: unknown = decode(encode({ b: bytes })).b;
    assert.ok(back instanceof Uint8Array);
    assert.equal(Buffer.compare(back, bytes), 0);
  }
});

test('undefined and holes go out as nil', () => {
  assert.equal(toHex(encode(undefined)), 'c0');
  assert.equal(toHex(encode([undefined, 1])), '92c001');
  assert.equal(toHex(encode({ a: undefined })), '81a161c0');
  const holes: unknown[] = [];
  holes[2] = -0;
  assert.equal(toHex(encode(holes)), '93c0c0cb8000000000000000');
  const only: unknown[] = new Array(3);
  assert.equal(toHex(encode(only)), '93c0c0c0');
});

test('a key __proto__ is a key and never a prototype', () => {
  const hostile = JSON.parse('{"__proto__": {"admin": true}, "a": {"__proto__": 5}, "list": [{"__proto__": null}]}');
  const bytes = encode(hostile);
  assert.ok(Buffer.from(bytes).includes('__proto__'));
  const back = decode(bytes);
  assert.deepEqual(Object.keys(back), ['__proto__', 'a', 'list']);
  assert.equal(Object.getPrototypeOf(back), Object.prototype);
  assert.equal(back.admin, undefined);
  assert.deepEqual(Object.getOwnPropertyDescriptor(back, '__proto__')?.value, { admin: true });
  assert.equal(Object.getOwnPropertyDescriptor(back.a, '__proto__')?.value, 5);
  assert.equal(Object.getPrototypeOf(back.list[0]), Object.prototype);
  assert.equal(toHex(encode(back)), toHex(bytes));
  const integers = decodeIntegers(bytes, 'bigint');
  assert.equal(Object.getPrototypeOf(integers), Object.prototype);
  assert.equal(Object.getOwnPropertyDescriptor(integers.a, '__proto__')?.value, 5n);
  assert.equal(({} as Record<string, unknown>).admin, undefined);
});

test('a lone surrogate goes out as valid UTF-8, in short and in long strings', () => {
  for (const length of [0, 10, 100, 5000]) {
    const fill = 'x'.repeat(length);
    for (const text of [`a\ud800b${fill}`, `\udc00${fill}`, `${fill}\ud83d`]) {
      const bytes = encode(text);
      const expected = Buffer.from(text, 'utf8');
      assert.equal(Buffer.compare(bytes.subarray(bytes.length - expected.length), expected), 0);
    }
  }
});

test('raw values are placed as the bytes they are, at any depth', () => {
  const raw = new RawValue(fromHex('93 c4 02 ff00 cf ffffffffffffffff ca 3f800000'));
  assert.equal(toHex(encode(raw)), toHex(raw.bytes));
  let nested: unknown = raw;
  for (let i = 0; i < 50; i++) nested = i % 2 ? [nested, i] : { k: nested };
  const hex = toHex(encode(nested));
  assert.ok(hex.includes(toHex(raw.bytes)));
  const again = decode(encode({ before: 'x', raw, list: [raw, raw], map: new Map([['m', raw]]), after: 1 }));
  assert.deepEqual(Object.keys(again), ['before', 'raw', 'list', 'map', 'after']);
  assert.equal(again.list[1][1], 2n ** 64n - 1n);
  assert.deepEqual(again.map.m, again.raw);
});

test('a large raw value, larger than any buffer of the codec, is placed whole', () => {
  const raw = new RawValue(encode(Uint8Array.from({ length: 3_000_000 }, (_, i) => (i * 31) & 255)));
  const message = encode([0, 1, 'x', [{ a: raw, b: raw, c: -0 }]]);
  const back = decode(message);
  assert.equal(Buffer.compare(back[3][0].a, decode(raw.bytes)), 0);
  assert.equal(Buffer.compare(back[3][0].b, decode(raw.bytes)), 0);
  assert.ok(Object.is(back[3][0].c, -0));
});

test('what was encoded stays as it is when more is encoded', () => {
  const first = encode({ a: 'first', list: [1, 2, 3] });
  const copy = toHex(first);
  for (let i = 0; i < 2000; i++) encode({ b: 'x'.repeat(i) });
  assert.equal(toHex(first), copy);
});

test('the value given is never changed', () => {
  const value = Object.freeze({ a: -0, big: 2 ** 40, list: Object.freeze([-0, Object.freeze({ deep: 2 ** 50 })]) });
  assert.equal(decode(encode(value)).list[1].deep, 2 ** 50);
});

test('an extension is refused when decoded', () => {
  for (const hex of ['d40100', 'd6ff00000000', 'c70101aa', 'd47200', '91d40100']) {
    assert.throws(() => checkValue(fromHex(hex), defaultWireBounds), ProtocolError);
  }
  assert.throws(
    () => decode(fromHex('d40100')),
    new ProtocolError(
      'invalid_message',
      'Cannot decode a message with an extension: only plain MessagePack is understood',
    ),
  );
});

test('what a peer may send can be decoded, whatever its keys are, or is refused as a message', () => {
  const proto = 'a95f5f70726f746f5f5f';
  for (
    const key of [
      'c0',
      'c2',
      'c3',
      '05',
      'ff',
      'cb7ff8000000000000',
      'cfffffffffffffffff',
      '90',
      '80',
      '9101',
      'c40100',
      '8101 02',
    ]
  ) {
    for (const hex of [`81 ${key} 01`, `91 81 ${key} c0`, `82 ${proto} 01 ${key} 02`]) {
      const bytes = fromHex(hex);
      try {
        checkValue(bytes, defaultWireBounds);
        decode(bytes);
      } catch (error) {
        assert.ok(error instanceof ProtocolError, `${hex}: ${(error as Error).message}`);
      }
    }
  }
});

test('text that is not valid UTF-8 decodes to replacement characters and not to an error', () => {
  assert.equal(decode(fromHex('a3 61 ff 62')), 'a\ufffdb');
  assert.equal(decode(fromHex('a3 eda080')), '\ufffd\ufffd\ufffd');
});

test('integers are decoded as asked for', () => {
  const bytes = encode({ small: 5, big: 2n ** 60n, float: 1.5, zero: -0, list: [2n ** 63n], text: 'x', nil: null });
  assert.deepEqual(decodeIntegers(bytes, 'auto'), {
    small: 5,
    big: 2n ** 60n,
    float: 1.5,
    zero: -0,
    list: [2n ** 63n],
    text: 'x',
    nil: null,
  });
  assert.deepEqual(decodeIntegers(bytes, 'number'), {
    small: 5,
    big: 2 ** 60,
    float: 1.5,
    zero: -0,
    list: [2 ** 63],
    text: 'x',
    nil: null,
  });
  assert.deepEqual(decodeIntegers(bytes, 'bigint'), {
    small: 5n,
    big: 2n ** 60n,
    float: 1.5,
    zero: -0,
    list: [2n ** 63n],
    text: 'x',
    nil: null,
  });
});

test('text goes out as str where it is valid UTF-8 and as bin where it is not', () => {
  const table: [number[], string][] = [
    [[], 'a0'],
    [[0x61], 'a161'],
    [[0xff], 'c401ff'],
    [[0xc3, 0xa9], 'a2c3a9'],
    [[0xc3], 'c401c3'],
    [[0xed, 0xa0, 0x80], 'c403eda080'],
    [[0], 'a100'],
  ];
  for (const [bytes, hex] of table) assert.equal(toHex(encodeText(Uint8Array.from(bytes)).bytes), hex);
  for (
    const [length, text, binary] of [
      [31, 'bf', 'c41f'],
      [32, 'd920', 'c420'],
      [255, 'd9ff', 'c4ff'],
      [256, 'da0100', 'c50100'],
      [65_535, 'daffff', 'c5ffff'],
      [65_536, 'db00010000', 'c600010000'],
      [17_000_000, 'db01036640', 'c601036640'],
    ] as const
  ) {
    assert.ok(toHex(encodeText(new Uint8Array(length).fill(0x78)).bytes.subarray(0, 6)).startsWith(text));
    assert.ok(toHex(encodeText(new Uint8Array(length).fill(0xff)).bytes.subarray(0, 6)).startsWith(binary));
  }
});

test('random data comes back as it was', () => {
  const random = seededRandom(7);
  const make = (depth: number): unknown => {
    switch (random.below(depth > 4 ? 7 : 9)) {
      case 0:
        return null;
      case 1:
        return random.next() < 0.5;
      case 2:
        return random.below(2 ** 20) - 2 ** 19;
      case 3:
        return random.next() * 10 ** random.below(20);
      case 4:
        return (BigInt(random.below(2 ** 32)) << 31n) + 2n ** 60n;
      case 5:
        return String.fromCodePoint(...Array.from({ length: random.below(40) }, () => 32 + random.below(50_000)));
      case 6:
        return random.bytes(random.below(40));
      case 7:
        return Array.from({ length: random.below(20) }, () => make(depth + 1));
      default:
        return Object.fromEntries(
          Array.from(
            { length: random.below(20) },
            () => [random.pick(['a', '__proto__', 'é', '1', `k${random.below(99)}`]), make(depth + 1)],
          ),
        );
    }
  };
  const plain = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return Uint8Array.from(value);
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  };
  for (let i = 0; i < 500; i++) {
    const value = make(0);
    const bytes = encode(value);
    checkValue(bytes, defaultWireBounds);
    assert.deepEqual(plain(decode(bytes)), plain(value));
  }
});
