// Messages found in a stream: the same whatever the chunks are, refused as soon as a bound is broken.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import { MessageReader } from '../../../src/protocol/message_reader.ts';
import { defaultWireBounds } from '../../../src/protocol/outline.ts';
import { encode } from '../../../src/protocol/wire.ts';
import { fromHex, toHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

const bounds = { maxMessageBytes: 1000, maxDepth: 8, maxElements: 50 };

/** The messages of all chunks as hex, and the error that ended the reading. */
function readAll(chunks: Iterable<Uint8Array>, reader = new MessageReader(defaultWireBounds)) {
  const messages: string[] = [];
  try {
    for (const chunk of chunks) for (const { bytes } of reader.feed(chunk)) messages.push(toHex(bytes));
    return { messages, error: undefined };
  } catch (error) {
    return { messages, error: error as Error };
  }
}

const messages = [
  encode([0, 1, 'hello', [{ agent: 'x', list: [1, 2, { deep: [[]] }], text: 'y'.repeat(300) }]]),
  encode([2, 'note', [{}]]),
  encode([1, 4_000_000_000, null, { b: new Uint8Array(70), big: 2n ** 63n }]),
  fromHex('93 02 a0 90'),
  fromHex('dc 0004 00 01 a178 9180'),
  fromHex('dd 00000003 02 a178 9180'),
];
const stream = Uint8Array.from(Buffer.concat(messages));
const expected = messages.map(toHex);

test('a stream in chunks of one byte gives the same messages as the whole', () => {
  assert.deepEqual(readAll([stream]).messages, expected);
  assert.deepEqual(readAll(Array.from(stream, (byte) => Uint8Array.of(byte))).messages, expected);
});

test('every split of a stream into two chunks gives the same messages', () => {
  for (let at = 0; at <= stream.length; at++) {
    assert.deepEqual(readAll([stream.subarray(0, at), stream.subarray(at)]).messages, expected, `split at ${at}`);
  }
});

test('random splits of a stream give the same messages', () => {
  const random = seededRandom(5);
  for (let round = 0; round < 300; round++) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < stream.length;) {
      const size = random.below(random.next() < 0.3 ? 200 : 8);
      chunks.push(stream.slice(at, at + size));
      at += size;
    }
    assert.deepEqual(readAll(chunks).messages, expected);
  }
});

test('each message is given as soon as its last byte is there, not later', () => {
  const reader = new MessageReader(defaultWireBounds);
  let given = 0;
  let end = 0;
  for (const message of messages) {
    for (let i = 0; i < message.length; i++) {
      for (const _ of reader.feed(message.subarray(i, i + 1))) given++;
      assert.equal(given, i === message.length - 1 ? end + 1 : end);
    }
    end++;
  }
});

test('messages that were given stay as they were when more arrives', () => {
  const reader = new MessageReader(defaultWireBounds);
  const kept: Uint8Array[] = [];
  for (let round = 0; round < 50; round++) {
    for (let at = 0; at < stream.length; at += 7) {
      for (const { bytes } of reader.feed(stream.slice(at, at + 7))) kept.push(bytes);
    }
  }
  kept.forEach((bytes, i) => assert.equal(toHex(bytes), expected[i % expected.length]));
});

test('a message that is no list is refused by its first byte', () => {
  for (const hex of ['80', '81a161', 'c0', '00', 'a3616263', 'c3', 'c1', 'd47200', 'de0001', 'ff', 'c400']) {
    const first = hex.slice(0, 2);
    assert.deepEqual(
      readAll([fromHex(hex)]).error,
      new ProtocolError(
        'invalid_message',
        `Cannot read a message that begins with 0x${first}: it must be an array of three or four values`,
      ),
    );
  }
  assert.deepEqual(readAll([Uint8Array.from([...messages[1]!, 0xc0])]), {
    messages: [expected[1]],
    error: new ProtocolError(
      'invalid_message',
      'Cannot read a message that begins with 0xc0: it must be an array of three or four values',
    ),
  });
});

test('a header that breaks a bound is refused before the rest of its message arrives', () => {
  const table: Record<string, string> = {
    '94 00 01 a178 dd ffffffff': 'Cannot read a message of more than 1000 bytes: send less at once',
    '94 00 01 a178 c6 ffffffff': 'Cannot read a message of more than 1000 bytes: send less at once',
    '94 00 01 a178 db 000003e8': 'Cannot read a message of more than 1000 bytes: send less at once',
    '94 00 01 a178 dc 0100': 'Cannot read a message of more than 50 values: send fewer at once',
    'dc ffff': 'Cannot read a message of more than 1000 bytes: send less at once',
    '91 91 91 91 91 91 91 91 91': 'Cannot read a message nested deeper than 8 levels',
    '94 00 01 a178 91 d47200':
      'Cannot read an extension (0xd4): only plain MessagePack is understood, without extensions',
    '94 00 01 c1': 'Cannot read the unused type byte (0xc1): only plain MessagePack is understood, without extensions',
  };
  for (const [hex, message] of Object.entries(table)) {
    assert.equal(readAll([fromHex(hex)], new MessageReader(bounds)).error?.message, message, hex);
    const bytewise = Array.from(fromHex(hex), (byte) => Uint8Array.of(byte));
    assert.equal(readAll(bytewise, new MessageReader(bounds)).error?.message, message, `${hex} bytewise`);
  }
});

test('the bounds are those of one message: a second begins anew', () => {
  const one = encode([2, 'x', [{ text: 'y'.repeat(900), list: Array(40).fill(1) }]]);
  const { messages: found, error } = readAll(Array(20).fill(one), new MessageReader(bounds));
  assert.equal(error, undefined);
  assert.equal(found.length, 20);
});

test('a large message in small chunks is not looked at again from its beginning', () => {
  const items = 20_000;
  const bytes = encode([0, 1, 'x', [{ list: Array.from({ length: items }, (_, i) => i % 100) }]]);
  const reader = new MessageReader(defaultWireBounds);
  let found = 0;
  const began = performance.now();
  for (let at = 0; at < bytes.length; at++) for (const _ of reader.feed(bytes.subarray(at, at + 1))) found++;
  assert.equal(found, 1);
  // A walk from the beginning for each byte would look at 200 million headers: many seconds instead of milliseconds.
  assert.ok(performance.now() - began < 5000);
});

test('a mebibyte of text in chunks of one byte is one message', () => {
  const bytes = encode([0, 1, 'x', [{ text: 'y'.repeat(1024 * 1024) }]]);
  const reader = new MessageReader(defaultWireBounds);
  let size = 0;
  for (let at = 0; at < bytes.length; at++) {
    for (const message of reader.feed(bytes.subarray(at, at + 1))) size = message.bytes.length;
  }
  assert.equal(size, bytes.length);
});

test('the id of a request that broke a bound is known once it has been read', () => {
  const table: [string, number | undefined][] = [
    ['94 00 05 a178 91 d47200', 5],
    ['94 00 7f c1', 127],
    ['94 00 cc ff c1', 255],
    ['94 00 cd 0100 c1', 256],
    ['94 00 ce ffffffff c1', 4_294_967_295],
    ['94 00 ce ffff', undefined],
    ['94 00', undefined],
    ['94', undefined],
    ['94 00 ff c1', undefined],
    ['94 00 cf 0000000000000001 c1', undefined],
    ['94 00 a178 c1', undefined],
    ['94 00 c1', undefined],
    ['94 01 05 c1', undefined],
    ['93 02 a178 c1', undefined],
    ['c0', undefined],
  ];
  for (const [hex, id] of table) {
    const reader = new MessageReader(defaultWireBounds);
    readAll([fromHex(hex)], reader);
    assert.equal(reader.requestId(), id, hex);
  }
});

test('random bytes give messages or a ProtocolError, and end', () => {
  const random = seededRandom(6);
  for (let round = 0; round < 20_000; round++) {
    const reader = new MessageReader(bounds);
    const bytes = random.bytes(random.below(64));
    if (bytes.length > 0) bytes[0] = random.pick([0x93, 0x94, 0xdc, 0xdd]);
    const half = random.below(bytes.length + 1);
    const { error } = readAll([bytes.subarray(0, half), bytes.subarray(half)], reader);
    assert.ok(error === undefined || error instanceof ProtocolError, toHex(bytes));
    reader.requestId();
  }
});

test('messages with random bytes changed give messages or a ProtocolError', () => {
  const random = seededRandom(8);
  for (let round = 0; round < 5000; round++) {
    const changed = stream.slice();
    for (let i = 0; i <= random.below(3); i++) changed[random.below(changed.length)] = random.below(256);
    const { error } = readAll([changed]);
    assert.ok(error === undefined || error instanceof ProtocolError);
  }
});
