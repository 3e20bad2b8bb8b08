// The frames between daemon and child: there and back in any chunks, refused where they are malformed.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import {
  encodeFrame,
  frameKinds,
  FrameReader,
  maxFrameBytes,
  readFrame,
} from '../../../src/protocol/child_messages.ts';
import { toHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

const frames = [
  encodeFrame(frameKinds.ready, { protocol: 1, runtime: 'node', lockdown: { seccomp: 'on' } }),
  encodeFrame(frameKinds.printed, undefined, Uint8Array.of(0, 255, 10)),
  encodeFrame(frameKinds.printed, undefined),
  encodeFrame(frameKinds.call, { call: 1, tool: 'é\u2028"', structured: true }, Uint8Array.of(0x80)),
  encodeFrame(
    frameKinds.answer,
    { call: 1, status: 'ok', message: '', contentBytes: 2 },
    Uint8Array.of(1, 2),
    Uint8Array.of(3),
  ),
  encodeFrame(frameKinds.program, { cwd: null }, new Uint8Array(70_000).fill(7)),
];

type Shown = { kind: number; header: unknown; payload: string };

function readAll(chunks: Iterable<Uint8Array>): Shown[] {
  const reader = new FrameReader();
  const found: Shown[] = [];
  for (const chunk of chunks) {
    for (const { kind, header, payload } of reader.feed(chunk)) found.push({ kind, header, payload: toHex(payload) });
  }
  return found;
}

const stream = Uint8Array.from(Buffer.concat(frames));
const whole = readAll([stream]);

test('frames come back as they were made', () => {
  assert.deepEqual(whole.slice(0, 5), [
    { kind: 1, header: { protocol: 1, runtime: 'node', lockdown: { seccomp: 'on' } }, payload: '' },
    { kind: 2, header: undefined, payload: '00ff0a' },
    { kind: 2, header: undefined, payload: '' },
    { kind: 3, header: { call: 1, tool: 'é\u2028"', structured: true }, payload: '80' },
    { kind: 17, header: { call: 1, status: 'ok', message: '', contentBytes: 2 }, payload: '010203' },
  ]);
  assert.equal(whole[5]!.payload.length, 140_000);
});

test('a stream in chunks of any size gives the same frames', () => {
  assert.deepEqual(readAll(Array.from(stream.subarray(0, 400), (byte) => Uint8Array.of(byte))), whole.slice(0, 5));
  for (let at = 0; at < 400; at++) assert.deepEqual(readAll([stream.slice(0, at), stream.slice(at)]), whole);
  const random = seededRandom(2);
  for (let round = 0; round < 30; round++) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < stream.length;) {
      const size = 1 + random.below(3000);
      chunks.push(stream.slice(at, at + size));
      at += size;
    }
    assert.deepEqual(readAll(chunks), whole);
  }
});

test('payloads that were given stay as they were when more arrives', () => {
  const reader = new FrameReader();
  const kept: Uint8Array[] = [];
  const some = Uint8Array.from(Buffer.concat(frames.slice(0, 5)));
  for (let round = 0; round < 20; round++) {
    for (let at = 0; at < some.length; at += 11) {
      for (const { payload } of reader.feed(some.slice(at, at + 11))) kept.push(payload);
    }
  }
  assert.equal(kept.length, 100);
  kept.forEach((payload, i) => assert.equal(toHex(payload), whole[i % 5]!.payload));
});

function frame(length: number, kind: number, headerBytes: number, rest = ''): Uint8Array {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt32LE(length, 0);
  bytes[4] = kind;
  bytes.writeUInt32LE(headerBytes, 5);
  return Uint8Array.from(Buffer.concat([bytes, Buffer.from(rest)]));
}

test('a length that no frame can have is refused before its bytes arrive', () => {
  for (const length of [0, 4, maxFrameBytes + 1, 0xffff_ffff]) {
    const head = frame(length, 2, 0).subarray(0, 4);
    assert.throws(() => readAll([head]), new Error(`a frame must hold 5 to ${maxFrameBytes} bytes, got ${length}`));
  }
  for (const length of [5, maxFrameBytes]) assert.equal(readFrame(frame(length, 2, 0).subarray(0, 4)), undefined);
});

test('a header longer than its frame is refused', () => {
  for (const [length, header] of [[5, 1], [10, 6], [20, 0xffff_ffff]] as const) {
    const bytes = frame(length, 3, header, 'x'.repeat(length - 5));
    assert.throws(() => readAll([bytes]), new Error(`a frame of ${length} bytes cannot have a header of ${header}`));
  }
  assert.equal(readAll([frame(7, 3, 2, '{}')]).length, 1);
});

test('a header that is no JSON is refused by an error', () => {
  for (const text of ['{', 'nope', '{"a":1}x', '\xff']) {
    assert.throws(() => readAll([frame(5 + Buffer.byteLength(text), 3, Buffer.byteLength(text), text)]), SyntaxError);
  }
});

test('frames before a malformed one are given', () => {
  const reader = new FrameReader();
  const found: number[] = [];
  assert.throws(() => {
    const chunk = Buffer.concat([frames[0]!, frames[1]!, Buffer.alloc(4)]);
    for (const { kind } of reader.feed(chunk)) found.push(kind);
  });
  assert.deepEqual(found, [1, 2]);
});

test('random bytes give frames or an Error, and end', () => {
  const random = seededRandom(13);
  for (let round = 0; round < 20_000; round++) {
    const bytes = random.bytes(random.below(40));
    if (bytes.length > 4) bytes.set([random.below(30), 0, 0, 0]);
    try {
      readAll([bytes]);
    } catch (error) {
      assert.ok(error instanceof Error);
    }
  }
});
