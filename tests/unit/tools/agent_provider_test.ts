// Calls that go back to their agent: what is asked, and what becomes of answers of every shape.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import { RawValue } from '../../../src/protocol/outline.ts';
import { RpcPeer } from '../../../src/protocol/rpc.ts';
import { decode, encode } from '../../../src/protocol/wire.ts';
import { agentProvider } from '../../../src/tools/providers/agent.ts';
import type { ToolAnswer, ToolRequest } from '../../../src/tools/provider.ts';
import { rawOf } from '../../helpers/call_parts.ts';
import { fromHex } from '../../helpers/hex.ts';

function setUp() {
  const sent: any[] = [];
  const peer = new RpcPeer({
    send: (bytes) => void sent.push(decode(bytes)),
    maxUnanswered: 10,
    handlers: { request: () => Promise.resolve(null), notification: () => {}, fault: () => {} },
  });
  const stop = new AbortController();
  const request: ToolRequest = {
    runId: 'r',
    call: 3,
    tool: 'read',
    arguments: rawOf({ path: 'a', n: 2n ** 60n }),
    class: 'read',
    turn: 't',
    intent: undefined,
    cwd: '/w',
    maxBytes: 1000,
    signal: stop.signal,
  };
  return { sent, peer, stop, request, provider: agentProvider(peer) };
}

/** What becomes of an answer, or of an error, of the agent. */
function answered(result: unknown, error: unknown = null): Promise<ToolAnswer> {
  const { peer, provider, request } = setUp();
  const answer = provider.call(request);
  peer.receive(new RawValue(encode([1, 1, error, result])));
  return answer;
}

const shown = ({ content, structured, ...rest }: ToolAnswer) => ({
  ...rest,
  content: content && decode(content.bytes),
  structured: structured && decode(structured.bytes),
});

const nothing = { content: undefined, structured: undefined, complete: undefined, changedPaths: [], context: [] };

test('the agent is asked for the call, arguments as they are', async () => {
  const { sent, provider, request, peer } = setUp();
  const asked = provider.call({ ...request, intent: 'why' });
  assert.deepEqual(sent, [[0, 1, 'call_tool', [{
    run_id: 'r',
    call: 3,
    tool: 'read',
    arguments: { path: 'a', n: 2n ** 60n },
    class: 'read',
    turn: 't',
    intent: 'why',
  }]]]);
  peer.receive(new RawValue(encode([1, 1, null, { ok: true }])));
  await asked;
});

test('an answer of every shape becomes what the protocol says', async () => {
  const why = 'the tool reported a failure without saying why';
  const table: [unknown, object][] = [
    [{ ok: true }, { ...nothing, status: 'ok', message: '' }],
    [{ ok: true, content: 'text' }, { ...nothing, status: 'ok', message: '', content: 'text' }],
    [{ ok: true, content: '' }, { ...nothing, status: 'ok', message: '', content: '' }],
    [{ ok: true, content: null }, { ...nothing, status: 'ok', message: '' }],
    [{ ok: true, content: { a: 1 } }, { ...nothing, status: 'ok', message: '', structured: { a: 1 } }],
    [{ ok: true, content: [1] }, { ...nothing, status: 'ok', message: '', structured: [1] }],
    [{ ok: true, content: 5 }, { ...nothing, status: 'ok', message: '', structured: 5 }],
    [{ ok: true, content: false }, { ...nothing, status: 'ok', message: '', structured: false }],
    [{ ok: true, content: 'x', structured: { a: 1 } }, {
      ...nothing,
      status: 'ok',
      message: '',
      content: 'x',
      structured: { a: 1 },
    }],
    [{ ok: true, content: { b: 2 }, structured: { a: 1 } }, {
      ...nothing,
      status: 'ok',
      message: '',
      structured: { a: 1 },
    }],
    [{ ok: true, content: 'x', structured: null }, { ...nothing, status: 'ok', message: '', content: 'x' }],
    [{ ok: true, content: { b: 2 }, structured: null }, {
      ...nothing,
      status: 'ok',
      message: '',
      structured: { b: 2 },
    }],
    [{ ok: true, complete: false, changed_paths: ['a'], context: ['c'] }, {
      ...nothing,
      status: 'ok',
      message: '',
      complete: false,
      changedPaths: ['a'],
      context: ['c'],
    }],
    [{ ok: true, complete: 'no', changed_paths: [1], context: 'c', error: 'ignored', more: 1 }, {
      ...nothing,
      status: 'ok',
      message: '',
    }],
    [{ ok: true, complete: null, changed_paths: null, context: null }, { ...nothing, status: 'ok', message: '' }],
    [{ ok: false, content: 'no such file' }, {
      ...nothing,
      status: 'failed',
      message: 'no such file',
      content: 'no such file',
    }],
    [{ ok: false, error: { message: 'broken', code: 'x' } }, { ...nothing, status: 'failed', message: 'broken' }],
    [{ ok: false, error: { message: 'broken' }, content: '' }, {
      ...nothing,
      status: 'failed',
      message: 'broken',
      content: '',
    }],
    [{ ok: false, error: 'broken' }, { ...nothing, status: 'failed', message: 'broken' }],
    [{ ok: false, error: null }, { ...nothing, status: 'failed', message: why }],
    [{ ok: false }, { ...nothing, status: 'failed', message: why }],
    [{ ok: false, content: { code: 5 } }, {
      ...nothing,
      status: 'failed',
      message: '{"code":5}',
      structured: { code: 5 },
    }],
    [{ ok: false, content: null, structured: { code: 5 } }, {
      ...nothing,
      status: 'failed',
      message: '{"code":5}',
      structured: { code: 5 },
    }],
  ];
  const wrong: string[] = [];
  for (const [result, expected] of table) {
    const given = shown(await answered(result));
    try {
      assert.deepEqual(given, expected);
    } catch {
      wrong.push(`${JSON.stringify(result)}:\n   ${JSON.stringify(given)}\n   instead of ${JSON.stringify(expected)}`);
    }
  }
  assert.equal(wrong.length, 0, `\n${wrong.join('\n')}`);
});

test('bytes that are no text are content too', async () => {
  const { content, structured } = await answered({ ok: true, content: Uint8Array.of(0xff) });
  assert.deepEqual([content!.bytes[0], structured], [0xc4, undefined]);
});

test('an answer that is none is a failure that shows it', async () => {
  for (
    const [result, text] of [
      [null, 'null'],
      ['text', '"text"'],
      [{}, '{}'],
      [{ ok: 'yes' }, '{"ok":"yes"}'],
      [{ ok: 1 }, '{"ok":1}'],
      [{ ok: null, content: 'x' }, '{"ok":null,"content":"x"}'],
      [[true], '[true]'],
      [{ content: 'x'.repeat(1000) }, `${JSON.stringify({ content: 'x'.repeat(1000) }).slice(0, 197)}...`],
    ] as const
  ) {
    const answer = await answered(result);
    assert.deepEqual(shown(answer), {
      ...nothing,
      status: 'failed',
      message: `Cannot read the agent's answer of read: it must be a map with ok true or false, got ${text}`,
    });
  }
});

test('an error of the agent is a denial, or could not be run, with its words', async () => {
  const table: [unknown, string, string][] = [
    [{ code: 'denied', message: 'the user said no' }, 'denied', 'the user said no'],
    [{ code: 'internal', message: 'broken' }, 'not_run', 'broken'],
    [{ message: 'only words' }, 'not_run', 'only words'],
    ['text', 'not_run', 'text'],
    [{ code: 5 }, 'not_run', '{"code":5}'],
    [['a', 1], 'not_run', '["a",1]'],
    [true, 'not_run', 'true'],
  ];
  for (const [error, status, message] of table) {
    assert.deepEqual(shown(await answered(null, error)), { ...nothing, status, message });
  }
});

test('huge messages are cut, whole characters kept', async () => {
  const long = 'x'.repeat(100_000);
  for (
    const [result, error] of [
      [{ ok: false, error: { message: long } }, null],
      [{ ok: false, content: { long } }, null],
      [null, { code: 'internal', message: long }],
      [null, { code: 'denied', message: long }],
      [null, long],
      [null, { long }],
    ] as const
  ) {
    const { message } = await answered(result, error);
    assert.ok(message.length <= 8192, `${message.length} characters`);
  }
  const pairs = await answered({ ok: false, error: { message: `a${'😀'.repeat(10_000)}` } });
  assert.ok(pairs.message.isWellFormed());
});

test('a run that ends tells the agent, once, and only while the call is open', async () => {
  const { sent, peer, provider, request, stop } = setUp();
  const answer = provider.call(request);
  stop.abort();
  assert.deepEqual(sent.slice(1), [[2, 'cancel_call', [{ run_id: 'r', call: 3 }]]]);
  peer.receive(new RawValue(encode([1, 1, null, { ok: true }])));
  await answer;

  const late = setUp();
  const answered = late.provider.call(late.request);
  late.peer.receive(new RawValue(encode([1, 1, null, { ok: true }])));
  await answered;
  late.stop.abort();
  assert.equal(late.sent.length, 1);
});

test('an agent that goes away with a call open leaves its outcome unknown: it is not said not to have run', async () => {
  const { peer, provider, request } = setUp();
  const answer = provider.call(request).then(({ status }) => status, () => 'threw');
  peer.close('the connection has ended');
  assert.notEqual(await answer, 'not_run');
});

test('an agent that is gone already, or has too much to do, was never asked', async () => {
  const { peer, provider, request } = setUp();
  peer.close('the connection has ended');
  assert.deepEqual(shown(await provider.call(request)), {
    ...nothing,
    status: 'not_run',
    message: 'the connection has ended',
  });
});

test('keys of any kind in an answer harm nobody', async () => {
  for (
    const hex of ['82 a26f6b c3 90 01', '82 a26f6b c3 a7636f6e74657874 81 90 01', '82 a26f6b c2 a56572726f72 81 80 c0']
  ) {
    const { peer, provider, request } = setUp();
    const answer = provider.call(request);
    peer.receive(new RawValue(Uint8Array.from([...fromHex('94 01 01 c0'), ...fromHex(hex)])));
    const status = await answer.then((given) => given.status, (error) => {
      // What the provider throws is a failure of its call.
      assert.ok(error instanceof ProtocolError);
      return 'failed';
    });
    assert.ok(status === 'ok' || status === 'failed');
  }
});
