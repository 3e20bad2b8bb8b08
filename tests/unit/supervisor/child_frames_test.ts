// What comes from a child is never trusted: each header with each field wrong, and arguments that are none.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFrame, endings, type Frame, frameKinds, readFrame } from '../../../src/protocol/child_messages.ts';
import { encode } from '../../../src/protocol/wire.ts';
import { readChildMessage } from '../../../src/supervisor/child_frames.ts';
import { fromHex } from '../../helpers/hex.ts';

const frame = (kind: number, header: unknown, payload: Uint8Array = new Uint8Array(0)): Frame => ({
  kind,
  header,
  payload,
});
const ready = { protocol: 1, runtime: 'node', lockdown: { seccomp: 'on' } };
const call = { call: 1, tool: 'read', structured: false };
const finished = { ending: 'ok', message: '', traceback: null, memoryBytes: 0, droppedBytes: 0, cpuMs: 0 };
const empty = Uint8Array.of(0x80);

test('each kind of frame is read as it is', () => {
  assert.deepEqual(readChildMessage(frame(1, ready)), { kind: 'ready', header: ready });
  assert.deepEqual(readChildMessage(frame(2, undefined, Uint8Array.of(1))), {
    kind: 'printed',
    bytes: Uint8Array.of(1),
  });
  assert.deepEqual(readChildMessage(frame(3, call, empty)), { kind: 'call', header: call, arguments: empty });
  for (const ending of endings) {
    const header = { ...finished, ending, traceback: 't' };
    assert.deepEqual(readChildMessage(frame(4, header)), { kind: 'finished', header });
  }
  assert.deepEqual(readChildMessage(frame(5, { message: 'm' })), { kind: 'fault', header: { message: 'm' } });
});

test('a header with more than is known is read without it', () => {
  assert.deepEqual(readChildMessage(frame(3, { ...call, more: 1 }, empty)), {
    kind: 'call',
    header: call,
    arguments: empty,
  });
});

test('a header with any field wrong is malformed', () => {
  const long = 'x'.repeat(65_537);
  const table: [number, Record<string, unknown>, Record<string, unknown[]>][] = [
    [1, ready, { protocol: [2, '1', null, undefined], runtime: [1, long], lockdown: [[], 'x', { a: 1 }, null] }],
    [3, call, {
      call: [0, -1, 1.5, '1', 2 ** 53, null, undefined],
      tool: [1, null, long],
      structured: ['true', 0, undefined],
    }],
    [4, finished, {
      ending: ['crashed', 'time', 1, undefined],
      message: [1, long, undefined],
      traceback: [1, undefined, long],
      memoryBytes: [-1, 0.5, '1', Infinity, undefined],
      droppedBytes: [-1, 0.5, null],
    }],
    [5, { message: 'm' }, { message: [1, null, undefined, long] }],
  ];
  for (const [kind, header, wrong] of table) {
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        assert.throws(
          () => readChildMessage(frame(kind, { ...header, [field]: value }, empty)),
          (error: Error) => error.message.startsWith(`the header of a frame of kind ${kind} is malformed: `),
          `${kind} ${field} ${String(value).slice(0, 20)}`,
        );
      }
    }
    for (const header of [undefined, null, [], 'x', 5]) {
      assert.throws(() => readChildMessage(frame(kind, header, empty)));
    }
  }
});

test('a kind that no child may send does not exist', () => {
  for (const kind of [0, 6, 7, 15, 16, 17, 18, 19, 255]) {
    assert.throws(() => readChildMessage(frame(kind, {})), new Error(`a frame of kind ${kind} does not exist`));
  }
});

test('arguments that are no map, or no value, are refused', () => {
  for (const hex of ['90', 'c0', 'a161', '00', '9180']) {
    assert.throws(
      () => readChildMessage(frame(3, call, fromHex(hex))),
      new Error('the arguments of a call must be a map'),
    );
  }
  for (const hex of ['', '81', '8080', '81a161', 'd40100', '81a161c1', 'dfffffffff', '81a161 ddffffffff']) {
    assert.throws(() => readChildMessage(frame(3, call, fromHex(hex))), Error, hex);
  }
  assert.throws(() => readChildMessage(frame(3, call, encode({ a: 'x'.repeat(8 * 1024 * 1024) }))), {
    message: 'Cannot read a message of more than 8388608 bytes: send less at once',
  });
  let deep: unknown = {};
  for (let i = 0; i < 60; i++) deep = { k: deep };
  assert.throws(() => readChildMessage(frame(3, call, encode(deep))), {
    message: 'Cannot read a message nested deeper than 56 levels',
  });
});

test('a header that would reach a prototype reaches none', () => {
  const bytes = encodeFrame(
    frameKinds.call,
    JSON.parse('{"call":1,"tool":"__proto__","structured":true,"__proto__":{"x":1}}'),
    empty,
  );
  const message = readChildMessage(readFrame(bytes)!.frame);
  assert.deepEqual(Object.keys((message as { header: object }).header), ['call', 'tool', 'structured']);
});
