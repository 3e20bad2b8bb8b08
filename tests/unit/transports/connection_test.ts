// A connection on a pair of streams: broken rules are told and end it, slow readers are cut off, half-open ones closed.

import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import { MessageReader } from '../../../src/protocol/message_reader.ts';
import { defaultWireBounds } from '../../../src/protocol/outline.ts';
import { decode, encode } from '../../../src/protocol/wire.ts';
import { serveConnection } from '../../../src/transports/connection.ts';
import { fromHex } from '../../helpers/hex.ts';
import { recordedLog } from '../../helpers/recorded_log.ts';
import { until } from '../../helpers/until.ts';

const limits = { ...defaultWireBounds, maxMessageBytes: 100_000, maxUnanswered: 4 };

function connect(request: (method: string, params: any) => Promise<unknown> = (method) => Promise.resolve(method)) {
  const [ours, theirs] = duplexPair();
  const { log, lines } = recordedLog();
  const received: any[] = [];
  const faults: unknown[] = [];
  const reader = new MessageReader(defaultWireBounds);
  ours.on('data', (chunk: Uint8Array) => {
    for (const { bytes } of reader.feed(chunk)) received.push(decode(bytes));
  });
  const state = { ended: false };
  ours.on('end', () => state.ended = true);
  ours.on('error', () => {});
  const connection = serveConnection({
    socket: theirs,
    limits,
    log,
    handlers: () => ({
      request: (method, params) => request(method, decode(params.bytes)),
      notification: () => {},
      fault: (error) => void faults.push(error),
    }),
  });
  return { ours: ours as Duplex, theirs: theirs as Duplex, connection, received, lines, faults, state };
}

test('requests are answered, in chunks of any size', async () => {
  const { ours, received } = connect((method, params) => Promise.resolve({ method, params }));
  for (const byte of encode([0, 7, 'hello', [{ a: 1 }]])) ours.write(Uint8Array.of(byte));
  ours.write(Uint8Array.from([...encode([0, 8, 'x', [{}]]), ...encode([0, 9, 'y', [{}]])]));
  await until(() => received.length === 3);
  assert.deepEqual(received, [
    [1, 7, null, { method: 'hello', params: { a: 1 } }],
    [1, 8, null, { method: 'x', params: {} }],
    [1, 9, null, { method: 'y', params: {} }],
  ]);
});

test('a peer that breaks a rule gets an error that names it, and is closed', async () => {
  const table: [string, unknown][] = [
    ['c0', [2, 'error', [{
      code: 'invalid_message',
      message: 'Cannot read a message that begins with 0xc0: it must be an array of three or four values',
    }]]],
    ['94 00 05 a178 91 d47200', [1, 5, {
      code: 'invalid_message',
      message: 'Cannot read an extension (0xd4): only plain MessagePack is understood, without extensions',
    }, null]],
    ['94 00 05 a178 c6 7fffffff', [1, 5, {
      code: 'message_too_large',
      message: 'Cannot read a message of more than 100000 bytes: send less at once',
    }, null]],
    ['94 03 05 a178 90', [2, 'error', [{
      code: 'invalid_message',
      message:
        'Cannot read the message: it must be [0, id, method, [params]], [1, id, error, result] or [2, method, [params]]',
    }]]],
    ['94 01 05 c0 c0', [2, 'error', [{
      code: 'invalid_message',
      message: 'Cannot take a response to 5: no request with this id is unanswered',
    }]]],
    ['94 00 05 a178 9101', [1, 5, {
      code: 'invalid_message',
      message: 'Cannot read the parameters of a message: they must be an array of one map',
    }, null]],
    ['94 00 05 07 90', [1, 5, {
      code: 'invalid_message',
      message: 'Cannot read the method of a message: it must be a string',
    }, null]],
  ];
  for (const [hex, told] of table) {
    const { ours, connection, received, state, lines } = connect();
    ours.write(fromHex(hex));
    await until(() => state.ended);
    assert.deepEqual(received, [told], hex);
    assert.deepEqual(lines.filter(({ level }) => level === 'warn').map(({ message }) => message), [
      'a peer broke the protocol: its connection is closed',
    ]);
    ours.end();
    await connection.closed;
  }
});

test('an error is never answered to a request that did not break the rule', async () => {
  const { ours, received, state } = connect();
  // A response to nobody, and behind it in the same chunk the beginning of a request that is sound.
  ours.write(Uint8Array.from([...fromHex('94 01 63 c0 c0'), ...encode([0, 5, 'x', [{}]])]));
  await until(() => state.ended);
  assert.deepEqual(received.map(([type]) => type), [2]);
});

test('any message ends in an answer or in an error of the protocol, and never reaches beyond its connection', async () => {
  for (
    const hex of [
      '94 81 90 01 01 a178 90',
      '94 00 81 90 01 a178 90',
      '94 00 01 81 80 01 90',
      '94 00 01 a178 91 81 90 01',
      '93 02 81 9101 c0 90',
    ]
  ) {
    const { ours, theirs, received, state } = connect();
    let thrown: unknown;
    // What the handler of `data` throws would end the daemon: take it here.
    const listeners = theirs.listeners('data') as ((chunk: Uint8Array) => void)[];
    theirs.removeAllListeners('data');
    theirs.on('data', (chunk: Uint8Array) => {
      try {
        for (const listener of listeners) listener(chunk);
      } catch (error) {
        thrown = error;
      }
    });
    ours.write(fromHex(hex));
    await until(() => thrown !== undefined || state.ended || received.length > 0, hex);
    assert.equal(thrown, undefined, hex);
  }
});

test('what comes after a broken rule is not read', async () => {
  const methods: string[] = [];
  const { ours, state } = connect((method) => (methods.push(method), Promise.resolve(null)));
  ours.write(Uint8Array.from([...encode([0, 1, 'before', [{}]]), 0xc0]));
  ours.write(encode([0, 2, 'after', [{}]]));
  await until(() => state.ended);
  assert.deepEqual(methods, ['before']);
});

test('a peer that does not read what it is sent is closed at the cap', async () => {
  const { ours, theirs, connection, lines } = connect();
  ours.pause();
  const big = { text: 'x'.repeat(50_000) };
  let most = 0;
  for (let i = 0; i < 20 && !theirs.destroyed; i++) {
    connection.peer.notify('n', big);
    most = Math.max(most, theirs.writableLength);
  }
  assert.equal(theirs.destroyed, true);
  await connection.closed;
  assert.ok(most <= 2 * limits.maxMessageBytes + 60_000, `${most} bytes were held`);
  assert.equal(lines.filter(({ level }) => level === 'warn').length, 1);
  connection.peer.notify('n', big);
});

test('a peer that has said its last word is closed, and its open requests are told', async () => {
  const { ours, connection } = connect();
  const asked = connection.peer.request('call_tool', {});
  ours.end();
  await assert.rejects(asked, { code: 'closed', message: 'the connection has ended' });
  await connection.closed;
});

test('a connection that fails ends as one that closes', async () => {
  const { theirs, connection, lines } = connect();
  const asked = connection.peer.request('call_tool', {});
  theirs.destroy(new Error('reset'));
  await assert.rejects(asked, { code: 'closed', message: 'the connection has ended' });
  await connection.closed;
  assert.deepEqual(lines.map(({ level, message }) => [level, message]), [['debug', 'a connection failed']]);
});

test('ending lets what was sent go out first', async () => {
  const { connection, received, state } = connect();
  for (let i = 0; i < 20; i++) connection.peer.notify('n', { i });
  connection.end();
  await until(() => state.ended);
  assert.equal(received.length, 20);
});

test('a peer that does not close after the last words is closed for it', async () => {
  const { ours, theirs, connection } = connect();
  ours.pause();
  ours.write(Uint8Array.of(0xc0));
  await connection.closed;
  assert.equal(theirs.destroyed, true);
});

test('one connection that breaks a rule does not touch another', async () => {
  const bad = connect();
  const good = connect();
  bad.ours.write(Uint8Array.of(0xc0));
  good.ours.write(encode([0, 1, 'x', [{}]]));
  await until(() => bad.state.ended && good.received.length === 1);
  assert.deepEqual(good.received, [[1, 1, null, 'x']]);
});

test('a handler that refuses is answered by its error', async () => {
  const { ours, received } = connect(() => Promise.reject(new ProtocolError('not_hello', 'hello must come first')));
  ours.write(encode([0, 1, 'x', [{}]]));
  await until(() => received.length === 1);
  assert.deepEqual(received, [[1, 1, { code: 'not_hello', message: 'hello must come first' }, null]]);
});
