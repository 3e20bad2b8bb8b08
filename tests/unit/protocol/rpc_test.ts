// MessagePack-RPC without a socket: who answers what, in which order, and what ends all that is unanswered.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import { RawValue } from '../../../src/protocol/outline.ts';
import { RemoteError, type RpcHandlers, RpcPeer } from '../../../src/protocol/rpc.ts';
import { decode, encode } from '../../../src/protocol/wire.ts';
import { fromHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';
import { until } from '../../helpers/until.ts';

type Sent = [number, ...any[]];

function makePeer(options: Partial<RpcHandlers> & { maxUnanswered?: number } = {}) {
  const sent: Sent[] = [];
  const notified: [string, unknown][] = [];
  const faults: [unknown, string][] = [];
  const peer = new RpcPeer({
    send: (bytes) => void sent.push(decode(bytes)),
    maxUnanswered: options.maxUnanswered ?? 8,
    handlers: {
      request: options.request ?? (() => Promise.resolve('answer')),
      notification: options.notification ?? ((method, params) => void notified.push([method, decode(params.bytes)])),
      fault: options.fault ?? ((error, method) => void faults.push([error, method])),
    },
  });
  const receive = (message: unknown) => peer.receive(new RawValue(encode(message)));
  return { peer, sent, notified, faults, receive };
}

const invalid = (message: string) => new ProtocolError('invalid_message', message);
const shape = invalid(
  'Cannot read the message: it must be [0, id, method, [params]], [1, id, error, result] or [2, method, [params]]',
);

test('a request goes out as the protocol has it, and its answer comes back as bytes', async () => {
  const { peer, sent, receive } = makePeer();
  const answer = peer.request('call_tool', { a: 1, raw: new RawValue(fromHex('cf ffffffffffffffff')) });
  assert.deepEqual(sent, [[0, 1, 'call_tool', [{ a: 1, raw: 2n ** 64n - 1n }]]]);
  receive([1, 1, null, { ok: true }]);
  assert.deepEqual(decode((await answer).bytes), { ok: true });
});

test('answers in any order reach their own requests', async () => {
  const { peer, receive } = makePeer({ maxUnanswered: 100 });
  const answers = Array.from({ length: 50 }, (_, i) => peer.request('m', { i }));
  const random = seededRandom(1);
  const ids = Array.from({ length: 50 }, (_, i) => i + 1);
  while (ids.length > 0) {
    const [id] = ids.splice(random.below(ids.length), 1);
    receive([1, id, null, id! * 10]);
  }
  const results = await Promise.all(answers);
  assert.deepEqual(results.map(({ bytes }) => decode(bytes)), Array.from({ length: 50 }, (_, i) => (i + 1) * 10));
});

test('a response to an id that nobody waits for is refused', async () => {
  const { peer, receive } = makePeer();
  const refusal = (id: number) => invalid(`Cannot take a response to ${id}: no request with this id is unanswered`);
  assert.throws(() => receive([1, 7, null, 1]), refusal(7));
  const answer = peer.request('m', {});
  assert.throws(() => receive([1, 2, null, 1]), refusal(2));
  receive([1, 1, null, 'first']);
  assert.throws(() => receive([1, 1, null, 'second']), refusal(1));
  assert.equal(decode((await answer).bytes), 'first');
});

test('more requests than may be unanswered are refused on this side, and room that is freed is used', async () => {
  const { peer, sent, receive } = makePeer({ maxUnanswered: 2 });
  const first = peer.request('a', {});
  const second = peer.request('b', {});
  await assert.rejects(
    peer.request('c', {}),
    new RemoteError({
      code: 'too_many_requests',
      message: 'Cannot ask c: 2 requests to this peer are unanswered',
    }),
  );
  assert.equal(sent.length, 2);
  receive([1, 1, null, 1]);
  await first;
  const third = peer.request('d', {});
  assert.equal(sent.length, 3);
  peer.close('over');
  await assert.rejects(second);
  await assert.rejects(third);
});

test('more requests than may be unanswered are refused on the other side, and the others are answered', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { peer, sent, receive } = makePeer({ maxUnanswered: 2, request: () => promise });
  receive([0, 1, 'a', [{}]]);
  receive([0, 2, 'b', [{}]]);
  assert.equal(peer.answering, 2);
  receive([0, 3, 'c', [{}]]);
  assert.deepEqual(sent, [[1, 3, {
    code: 'too_many_requests',
    message: 'Cannot take "c": 2 requests of this connection are unanswered, which is the most',
  }, null]]);
  resolve('done');
  await until(() => sent.length === 3);
  assert.deepEqual(sent.slice(1), [[1, 1, null, 'done'], [1, 2, null, 'done']]);
  assert.equal(peer.answering, 0);
  receive([0, 4, 'd', [{}]]);
  await until(() => sent.length === 4);
});

test('an id that is still unanswered cannot be used again; afterwards it can', async () => {
  const waiting: (() => void)[] = [];
  const { sent, receive } = makePeer({ request: () => new Promise((resolve) => waiting.push(() => resolve('x'))) });
  receive([0, 9, 'a', [{}]]);
  assert.throws(
    () => receive([0, 9, 'a', [{}]]),
    invalid('Cannot take request 9: a request with this id is still unanswered'),
  );
  waiting[0]!();
  await until(() => sent.length === 1);
  receive([0, 9, 'a', [{}]]);
  assert.equal(waiting.length, 2);
});

test('closing fails each pending request once, with the reason, and later ones at once', async () => {
  const { peer, sent } = makePeer();
  const outcomes: string[] = [];
  const watch = (promise: Promise<unknown>) =>
    promise.then(
      () => outcomes.push('fulfilled'),
      (error: RemoteError) => outcomes.push(`${error.code}: ${error.message}`),
    );
  const pending = [peer.request('a', {}), peer.request('b', {})].map(watch);
  peer.close('the connection has ended');
  peer.close('another reason');
  await Promise.all(pending);
  await watch(peer.request('c', {}));
  peer.notify('n', {});
  assert.deepEqual(outcomes, Array(3).fill('closed: the connection has ended'));
  assert.equal(sent.length, 2);
});

test('an answer that is ready after the end is not sent', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { peer, sent, receive } = makePeer({ request: () => promise });
  receive([0, 1, 'a', [{}]]);
  peer.close('over');
  resolve('late');
  await until(() => peer.answering === 0);
  assert.deepEqual(sent, []);
});

test('an error of the peer is taken whatever its shape is', async () => {
  const table: [unknown, { code: string; message: string; data?: unknown }][] = [
    [{ code: 'denied', message: 'no', data: { a: 1 } }, { code: 'denied', message: 'no', data: { a: 1 } }],
    [{ code: 'denied', message: 'no' }, { code: 'denied', message: 'no' }],
    [{ message: 'only this' }, { code: 'error', message: 'only this' }],
    [{ code: 5, message: 'a number' }, { code: 'error', message: 'a number' }],
    [{ code: 'x', message: 5 }, { code: 'error', message: '{"code":"x","message":5}' }],
    ['text', { code: 'error', message: 'text' }],
    ['', { code: 'error', message: '' }],
    [['a', 1], { code: 'error', message: '["a",1]' }],
    [42, { code: 'error', message: '42' }],
    [2n ** 63n, { code: 'error', message: '9223372036854775808' }],
    [false, { code: 'error', message: 'false' }],
    [{}, { code: 'error', message: '{}' }],
    [NaN, { code: 'error', message: 'null' }],
  ];
  for (const [value, expected] of table) {
    const { peer, receive } = makePeer();
    const answer = peer.request('m', {});
    receive([1, 1, value, null]);
    await assert.rejects(answer, (error: RemoteError) => {
      assert.ok(error instanceof RemoteError);
      assert.deepEqual({ code: error.code, message: error.message, data: error.data }, {
        data: undefined,
        ...expected,
      });
      return true;
    });
  }
});

test('a message of any shape is taken or refused, and never an error of another kind', () => {
  const keys = ['90', '80', '9101', 'c40100', 'c0', 'c3'];
  const odd = keys.map((key) => `81 ${key} 01`);
  for (const value of odd) {
    for (
      const hex of [
        `93 ${value} a178 90`,
        `93 02 ${value} 90`,
        `94 00 ${value} a178 90`,
        `94 00 01 ${value} 90`,
        `94 00 01 a178 91 ${value}`,
        `94 01 01 ${value} c0`,
        `94 01 01 c0 ${value}`,
      ]
    ) {
      const { peer } = makePeer();
      peer.request('m', {}).catch(() => {});
      try {
        peer.receive(new RawValue(fromHex(hex)));
      } catch (error) {
        assert.ok(error instanceof ProtocolError, `${hex}: ${(error as Error).message}`);
      }
    }
  }
});

test('what is no message is refused by its shape', () => {
  const { receive } = makePeer();
  for (
    const message of [
      [],
      [0],
      [0, 1, 'a'],
      [0, 1, 'a', [{}], 1],
      [1, 1, null],
      [2, 'a'],
      [2, 'a', [{}], 1],
      [3, 1, 1, 1],
      ['0', 1, 'a', [
        {},
      ]],
      [null, 1, 'a', []],
      [-1, 1, 'a', []],
      [0.5, 1, 'a', []],
      {},
      'x',
      5,
    ]
  ) assert.throws(() => receive(message), shape, JSON.stringify(message));
});

test('an id, a method and parameters of another kind are refused by name', () => {
  const { receive } = makePeer();
  const id = invalid('Cannot read the id of a message: it must be an unsigned 32-bit integer');
  for (const value of ['1', -1, 1.5, 2 ** 32, 2n ** 40n, null, [], true, NaN]) {
    assert.throws(() => receive([0, value, 'a', [{}]]), id, String(value));
    assert.throws(() => receive([1, value, null, null]), id, String(value));
  }
  const method = invalid('Cannot read the method of a message: it must be a string');
  for (const value of [1, null, [], {}, Uint8Array.of(97), true]) {
    assert.throws(() => receive([0, 1, value, [{}]]), method);
    assert.throws(() => receive([2, value, [{}]]), method);
  }
  const params = invalid('Cannot read the parameters of a message: they must be an array of one map');
  for (const value of [{}, null, 1, 'x', [1], [[]], [{}, {}], [null]]) {
    assert.throws(() => receive([0, 1, 'a', value]), params);
    assert.throws(() => receive([2, 'a', value]), params);
  }
});

test('an empty list of parameters counts as an empty map', async () => {
  const seen: unknown[] = [];
  const { notified, receive } = makePeer({ request: (_, params) => Promise.resolve(seen.push(decode(params.bytes))) });
  receive([0, 1, 'a', []]);
  receive([2, 'b', []]);
  await until(() => seen.length === 1);
  assert.deepEqual(seen, [{}]);
  assert.deepEqual(notified, [['b', {}]]);
});

test('parameters reach the handler as the bytes they came in', async () => {
  const { promise, resolve } = Promise.withResolvers<RawValue>();
  const { peer } = makePeer({ request: (_, params) => Promise.resolve(resolve(params)) });
  peer.receive(new RawValue(fromHex('94 00 01 a178 91 de0001 a161 cf0000000000000001')));
  assert.deepEqual((await promise).bytes, fromHex('de0001 a161 cf0000000000000001'));
});

test('a refusal is answered by its map, a fault as internal and told to the owner', async () => {
  const errors: [unknown, object][] = [
    [new ProtocolError('busy', 'full', { retry_after_ms: 5 }), {
      code: 'busy',
      message: 'full',
      data: { retry_after_ms: 5 },
    }],
    [new ProtocolError('forbidden', 'no'), { code: 'forbidden', message: 'no' }],
    [new TypeError('a bug'), { code: 'internal', message: 'a bug' }],
    ['thrown text', { code: 'internal', message: 'thrown text' }],
  ];
  const { sent, faults, receive } = makePeer({ request: (method) => Promise.reject(errors[Number(method)]![0]) });
  errors.forEach((_, i) => receive([0, i, String(i), [{}]]));
  await until(() => sent.length === errors.length);
  assert.deepEqual(sent, errors.map(([, map], i) => [1, i, map, null]));
  assert.deepEqual(faults, [[errors[2]![0], '2'], [errors[3]![0], '3']]);
});

test('a result that is missing is answered as nil', async () => {
  const { sent, receive } = makePeer({ request: () => Promise.resolve(undefined) });
  receive([0, 1, 'a', [{}]]);
  await until(() => sent.length === 1);
  assert.deepEqual(sent, [[1, 1, null, null]]);
});

test('a result that cannot be encoded is answered as an internal error, and the id is free again', async () => {
  const { peer, sent, faults, receive } = makePeer({ request: () => Promise.resolve({ n: 2n ** 64n }) });
  receive([0, 1, 'a', [{}]]);
  await until(() => sent.length === 1 || peer.answering === 0);
  const message = 'Cannot encode 18446744073709551616: an integer must fit in 64 bits';
  assert.deepEqual(sent, [[1, 1, { code: 'internal', message }, null]]);
  assert.equal(faults.length, 1);
  assert.equal(peer.answering, 0);
});

test('a request that cannot be encoded fails, and leaves nothing pending', async () => {
  const { peer, sent } = makePeer({ maxUnanswered: 1 });
  await assert.rejects(async () => await peer.request('m', { n: 2n ** 64n }), RangeError);
  const next = peer.request('m', {});
  assert.equal(sent.length, 1);
  peer.close('over');
  await assert.rejects(next, { code: 'closed' });
});

test('ids stay unsigned 32-bit integers and pass over those that are unanswered', () => {
  const { peer, sent, receive } = makePeer({ maxUnanswered: 10 });
  const ignore = (promise: Promise<unknown>) => void promise.catch(() => {});
  ignore(peer.request('m', {}));
  for (let i = 2; i <= 40; i++) {
    ignore(peer.request('m', {}));
    receive([1, i, null, null]);
  }
  assert.deepEqual(sent.map(([, id]) => id), Array.from({ length: 40 }, (_, i) => i + 1));
});
