// Bytes of a stream: what was appended and not consumed, and how often it is copied on the way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StreamBuffer } from '../../../src/protocol/stream_buffer.ts';
import { toHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

test('what is read is what was appended and not consumed, for random chunks', () => {
  const random = seededRandom(3);
  for (let round = 0; round < 200; round++) {
    const buffer = new StreamBuffer();
    let expected: number[] = [];
    for (let step = 0; step < 60; step++) {
      const chunk = random.bytes(random.below(random.next() < 0.1 ? 3000 : 20));
      buffer.append(chunk);
      expected.push(...chunk);
      const count = random.below(expected.length + 1);
      if (random.next() < 0.6) {
        buffer.consume(count);
        expected = expected.slice(count);
      }
      assert.equal(toHex(buffer.bytes), toHex(Uint8Array.from(expected)));
    }
  }
});

test('a view that was taken keeps its bytes when more arrives', () => {
  const buffer = new StreamBuffer();
  const taken: { view: Uint8Array; hex: string }[] = [];
  const random = seededRandom(4);
  for (let i = 0; i < 500; i++) {
    buffer.append(random.bytes(1 + random.below(40)));
    if (buffer.bytes.length < 24) continue;
    const view = buffer.bytes.subarray(0, 20);
    taken.push({ view, hex: toHex(view) });
    buffer.consume(20);
  }
  for (const { view, hex } of taken) assert.equal(toHex(view), hex);
});

test('a chunk that nothing is held before is handed on without a copy', () => {
  const buffer = new StreamBuffer();
  const chunk = Uint8Array.of(1, 2, 3);
  buffer.append(chunk);
  assert.equal(buffer.bytes.buffer, chunk.buffer);
  buffer.append(Uint8Array.of(4));
  assert.notEqual(buffer.bytes.buffer, chunk.buffer);
  assert.equal(toHex(chunk), '010203');
});

/** Bytes that go through `Uint8Array.prototype.set` while `work` runs: every copy of this project's does. */
function copiedBytes(work: () => void): number {
  const original = Uint8Array.prototype.set;
  let copied = 0;
  Uint8Array.prototype.set = function (source: ArrayLike<number>, offset?: number) {
    copied += source.length;
    return original.call(this, source, offset);
  };
  try {
    work();
  } finally {
    Uint8Array.prototype.set = original;
  }
  return copied;
}

test('a mebibyte in chunks of one byte is copied a bounded number of times', () => {
  const size = 1024 * 1024;
  const byte = Uint8Array.of(7);
  const buffer = new StreamBuffer();
  const copied = copiedBytes(() => {
    for (let i = 0; i < size; i++) buffer.append(byte);
  });
  assert.equal(buffer.bytes.length, size);
  assert.ok(copied <= 4 * size, `${copied} bytes were copied for ${size}`);
});

test('many small messages with one left over each time are copied a bounded number of times', () => {
  const buffer = new StreamBuffer();
  const chunks = 2000;
  const copied = copiedBytes(() => {
    for (let i = 0; i < chunks; i++) {
      buffer.append(new Uint8Array(1000));
      buffer.consume(buffer.bytes.length - 1);
    }
  });
  assert.ok(copied <= 4 * 1000 * chunks, `${copied} bytes were copied`);
});
