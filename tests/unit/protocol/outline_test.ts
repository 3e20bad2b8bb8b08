// The outline of MessagePack: every type byte, every bound, before anything is decoded or allocated.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import {
  arrayItems,
  checkValue,
  defaultWireBounds,
  isNil,
  mapEntries,
  newHeader,
  RawValue,
  readHeader,
  readScalar,
  textBytes,
  Walk,
} from '../../../src/protocol/outline.ts';
import { decode, encode } from '../../../src/protocol/wire.ts';
import { fromHex, toHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

const raw = (hex: string) => new RawValue(fromHex(hex));
const refusal = (code: 'invalid_message' | 'message_too_large', message: string) => new ProtocolError(code, message);
const extension = (type: number) =>
  refusal(
    'invalid_message',
    `Cannot read an extension (0x${type.toString(16)}): only plain MessagePack is understood, without extensions`,
  );

type Expected = { size: number; payload?: number; children?: number; container?: 'array' | 'map'; text?: true };

/** What the specification says of each type byte; lengths are all 3. `undefined`: refused. */
function expectedHeader(type: number): Expected | undefined {
  if (type < 0x80 || type >= 0xe0) return { size: 1 };
  if (type < 0x90) return { size: 1, children: 2 * (type & 15), container: 'map' };
  if (type < 0xa0) return { size: 1, children: type & 15, container: 'array' };
  if (type < 0xc0) return { size: 1, payload: type & 31, text: true };
  const table: Record<number, Expected> = {
    0xc0: { size: 1 },
    0xc2: { size: 1 },
    0xc3: { size: 1 },
    0xc4: { size: 2, payload: 3 },
    0xc5: { size: 3, payload: 3 },
    0xc6: { size: 5, payload: 3 },
    0xca: { size: 1, payload: 4 },
    0xcb: { size: 1, payload: 8 },
    0xcc: { size: 1, payload: 1 },
    0xcd: { size: 1, payload: 2 },
    0xce: { size: 1, payload: 4 },
    0xcf: { size: 1, payload: 8 },
    0xd0: { size: 1, payload: 1 },
    0xd1: { size: 1, payload: 2 },
    0xd2: { size: 1, payload: 4 },
    0xd3: { size: 1, payload: 8 },
    0xd9: { size: 2, payload: 3, text: true },
    0xda: { size: 3, payload: 3, text: true },
    0xdb: { size: 5, payload: 3, text: true },
    0xdc: { size: 3, children: 3, container: 'array' },
    0xdd: { size: 5, children: 3, container: 'array' },
    0xde: { size: 3, children: 6, container: 'map' },
    0xdf: { size: 5, children: 6, container: 'map' },
  };
  return table[type];
}

test('every type byte has the header that the specification gives it, or is refused', () => {
  for (let type = 0; type < 256; type++) {
    const expected = expectedHeader(type);
    const bytes = new Uint8Array(16);
    bytes[0] = type;
    if (expected) bytes[expected.size - 1] = expected.size > 1 ? 3 : type;
    const header = newHeader();
    if (!expected) {
      const unused = refusal(
        'invalid_message',
        'Cannot read the unused type byte (0xc1): only plain MessagePack is understood, without extensions',
      );
      assert.throws(() => readHeader(bytes, 0, 16, header), type === 0xc1 ? unused : extension(type));
      continue;
    }
    assert.equal(readHeader(bytes, 0, 16, header), true);
    const full = { payload: 0, children: 0, container: undefined, text: false, ...expected };
    assert.deepEqual(header, full, `0x${type.toString(16)}`);
    for (let end = 0; end < expected.size; end++) assert.equal(readHeader(bytes, 0, end, header), false);
  }
});

test('every type byte inside a list is passed over, or refused, as it is alone', () => {
  for (let type = 0; type < 256; type++) {
    const expected = expectedHeader(type);
    const alone = [type, ...(expected && expected.size > 1 ? new Array(expected.size - 2).fill(0) : [])];
    if (expected && expected.size > 1) alone.push(3);
    alone.push(...new Array(expected ? (expected.payload ?? 0) + (expected.children ?? 0) : 4).fill(1));
    const bytes = Uint8Array.of(0x92, ...alone, 0xc3);
    if (!expected) assert.throws(() => checkValue(bytes, defaultWireBounds), ProtocolError);
    else checkValue(bytes, defaultWireBounds);
  }
});

test('records and other extensions are refused wherever they stand', () => {
  for (
    const [hex, type] of [
      ['d47200', 0xd4],
      ['c70172ff', 0xc7],
      ['d6ff00000000', 0xd6],
      ['d7ff0000000000000000', 0xd7],
      [
        'd8' + '00'.repeat(17),
        0xd8,
      ],
      ['c8000101ff', 0xc8],
      ['c90000000101ff', 0xc9],
      ['d50000', 0xd5],
    ] as const
  ) {
    for (const around of [hex, `91${hex}`, `81a161${hex}`, `81${hex}01`, `94000 1a178 91 ${hex}`.replace(/ /g, '')]) {
      assert.throws(() => checkValue(fromHex(around), defaultWireBounds), extension(type));
    }
  }
});

test('a value is exactly one value', () => {
  const incomplete = (bytes: number) =>
    refusal('invalid_message', `Cannot read a value of ${bytes} bytes: it must be exactly one MessagePack value`);
  for (const hex of ['', '91', 'a161 61', 'a2 61', 'c4', 'cb00', '0101', '82 a161 01 a162', 'dd000000', '9190 c0']) {
    const bytes = fromHex(hex);
    assert.throws(() => checkValue(bytes, defaultWireBounds), incomplete(bytes.length));
  }
  for (const hex of ['00', 'c0', '90', '80', 'a0', 'c400', '91c0', 'dc0000', 'df00000000', '82a16101a16102']) {
    checkValue(fromHex(hex), defaultWireBounds);
  }
});

test('a length that breaks a bound is refused by its header alone', () => {
  const tooLarge = refusal('message_too_large', 'Cannot read a message of more than 33554432 bytes: send less at once');
  const tooMany = refusal('message_too_large', 'Cannot read a message of more than 1000000 values: send fewer at once');
  for (
    const [hex, error] of [
      ['ddffffffff', tooLarge],
      ['dfffffffff', tooLarge],
      ['c6ffffffff', tooLarge],
      ['dbffffffff', tooLarge],
      ['c602000000', tooLarge],
      ['dd000f4241', tooMany],
      ['df0007a121', tooMany],
      ['91dd000f4240', tooMany],
    ] as const
  ) {
    const walk = new Walk(defaultWireBounds);
    assert.throws(() => walk.advance(fromHex(hex)), error, hex);
  }
  for (const hex of ['dd000f4240', 'df0007a120', 'c601fffffb', 'db01fffffb']) {
    const walk = new Walk(defaultWireBounds);
    walk.advance(fromHex(hex));
    assert.ok(!walk.done || walk.passed > 5);
  }
});

test('lists of 65535 in one another are refused by the count of all values, after a few bytes', () => {
  const walk = new Walk(defaultWireBounds);
  const bytes = fromHex('dcffff'.repeat(16));
  assert.throws(
    () => walk.advance(bytes),
    refusal('message_too_large', 'Cannot read a message of more than 1000000 values: send fewer at once'),
  );
  assert.ok(walk.passed <= 48);
});

test('nesting is allowed to 64 levels and refused at 65, in lists, maps and keys', () => {
  const tooDeep = refusal('invalid_message', 'Cannot read a message nested deeper than 64 levels');
  for (const [open, close] of [['91', 'c0'], ['81a161', 'c0'], ['81', 'c0' + '01'.repeat(64)]] as const) {
    checkValue(fromHex(open.repeat(64) + close), defaultWireBounds);
    assert.throws(() => checkValue(fromHex(open.repeat(65) + close), defaultWireBounds), tooDeep);
  }
  // An empty container holds nothing and so is no level of its own.
  checkValue(fromHex('91'.repeat(64) + '90'), defaultWireBounds);
  assert.throws(() => checkValue(fromHex('91'.repeat(65) + '90'), defaultWireBounds), tooDeep);
});

test('the bounds on bytes and values hold exactly', () => {
  const bounds = { maxMessageBytes: 10, maxDepth: 3, maxElements: 4 };
  const bytesError = refusal('message_too_large', 'Cannot read a message of more than 10 bytes: send less at once');
  const valuesError = refusal('message_too_large', 'Cannot read a message of more than 4 values: send fewer at once');
  checkValue(fromHex('a9' + '61'.repeat(9)), bounds);
  assert.throws(() => checkValue(fromHex('aa' + '61'.repeat(10)), bounds), bytesError);
  checkValue(fromHex('9401020304'), bounds);
  assert.throws(() => checkValue(fromHex('950102030405'), bounds), valuesError);
  checkValue(fromHex('92919100'.padEnd(8, '0') + '01'), bounds);
  assert.throws(() => checkValue(fromHex('92 9101 920101'), bounds), valuesError);
  checkValue(fromHex('82a16101a16202'), bounds);
  assert.throws(() => checkValue(fromHex('83a16101a16202a16303'), bounds), valuesError);
});

test('a walk that goes on byte by byte ends where a walk in one go ends', () => {
  const values = ['93 a3616263 c4020102 cf0000000000000001', '82 a161 91 90 a162 df00000001 c0 c3', 'd903616263', '00'];
  for (const hex of values) {
    const bytes = fromHex(hex);
    const walk = new Walk(defaultWireBounds);
    for (let end = 0; end <= bytes.length; end++) {
      walk.advance(bytes.subarray(0, end));
      assert.equal(walk.done && walk.passed <= end, end === bytes.length, `${hex} at ${end}`);
    }
    assert.equal(walk.passed, bytes.length);
  }
});

test('the items of a list and the entries of a map are the bytes they came in', () => {
  assert.deepEqual(arrayItems(raw('94 00 a161 920102 81a16101'))?.map(({ bytes }) => toHex(bytes)), [
    '00',
    'a161',
    '920102',
    '81a16101',
  ]);
  assert.deepEqual(arrayItems(raw('90')), []);
  assert.deepEqual(arrayItems(raw('dc0001c0'))?.map(({ bytes }) => toHex(bytes)), ['c0']);
  for (const hex of ['80', 'a161', '00', 'c0', 'c403909090']) assert.equal(arrayItems(raw(hex)), undefined);

  const entries = mapEntries(raw('85 a161 9101 c40162 02 05 03 a161 04 a95f5f70726f746f5f5f 05'))!;
  assert.deepEqual([...entries].map(([key, { bytes }]) => [key, toHex(bytes)]), [['a', '04'], ['b', '02'], [
    '__proto__',
    '05',
  ]]);
  assert.equal(mapEntries(raw('80'))!.size, 0);
  for (const hex of ['90', 'a161', '00', 'c0']) assert.equal(mapEntries(raw(hex)), undefined);
});

test('text is the payload of str and bin, and of nothing else', () => {
  for (
    const hex of ['a26162', 'c4026162', 'c500026162', 'c6000000026162', 'd9026162', 'da00026162', 'db000000026162']
  ) {
    assert.equal(toHex(textBytes(raw(hex))!), '6162');
  }
  assert.equal(textBytes(raw('a0'))!.length, 0);
  for (const hex of ['00', 'c0', '90', '80', 'c3', 'cb0000000000000000', 'e0']) {
    assert.equal(textBytes(raw(hex)), undefined);
  }
});

test('scalars are read as the codec reads them, 64-bit integers in full', () => {
  const values = [
    0,
    127,
    -1,
    -32,
    -33,
    128,
    255,
    256,
    65_535,
    65_536,
    -128,
    -129,
    -32_768,
    -32_769,
    -(2 ** 31),
    1.5,
    -0,
  ];
  for (const value of [...values, NaN, Infinity, true, false, null]) {
    assert.ok(Object.is(readScalar(encode(value), 0), value), `${value}`);
  }
  assert.equal(readScalar(fromHex('cfffffffffffffffff'), 0), 2n ** 64n - 1n);
  assert.equal(readScalar(fromHex('d38000000000000000'), 0), -(2n ** 63n));
  assert.equal(readScalar(fromHex('ca3fc00000'), 0), 1.5);
  assert.equal(readScalar(fromHex('ffffd0ff'), 2), -1);
  for (const hex of ['a161', '90', '80', 'c400']) assert.equal(readScalar(fromHex(hex), 0), undefined);
  const view = new Uint8Array(20);
  view.set(encode(2 ** 40), 7);
  assert.equal(readScalar(view.subarray(7, 16), 0), 2n ** 40n);
  assert.equal(isNil(raw('c0')), true);
  assert.equal(isNil(raw('90')), false);
});

test('random bytes are a value or a ProtocolError, never anything else', () => {
  const random = seededRandom(11);
  let accepted = 0;
  for (let i = 0; i < 60_000; i++) {
    const bytes = random.bytes(1 + random.below(24));
    if (random.next() < 0.5) bytes[0] = random.pick([0x91, 0x92, 0x82, 0x94, 0xdc, 0xdf, 0xc4, 0xd9]);
    try {
      checkValue(bytes, defaultWireBounds);
      accepted++;
    } catch (error) {
      assert.ok(error instanceof ProtocolError, `${toHex(bytes)}: ${error}`);
      continue;
    }
    arrayItems(new RawValue(bytes));
    mapEntries(new RawValue(bytes));
    textBytes(new RawValue(bytes));
  }
  assert.ok(accepted > 1000, `${accepted} accepted`);
});

test('random bytes that were accepted can be decoded, or are refused as a message', () => {
  const random = seededRandom(12);
  for (let i = 0; i < 30_000; i++) {
    const bytes = random.bytes(1 + random.below(16));
    bytes[0] = random.pick([0x81, 0x82, 0x91, 0x92]);
    try {
      checkValue(bytes, defaultWireBounds);
      decode(bytes);
    } catch (error) {
      assert.ok(error instanceof ProtocolError, `${toHex(bytes)}: ${(error as Error).message}`);
    }
  }
});
