// What belongs to a session stays its own, also when the daemon has forgotten the session; nothing runs for nobody.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TestDaemon, until } from '../helpers/daemon.ts';
import { RawPeer } from '../helpers/raw_peer.ts';

let daemon: TestDaemon;

before(async () => void (daemon = await TestDaemon.start()));
after(() => daemon[Symbol.asyncDispose]());

test(
  'the runs of a session are not open to whoever takes its name after ten thousand others',
  { timeout: 60_000 },
  async () => {
    const owner = await RawPeer.connect(daemon.socket);
    await owner.hello([], { session: 'shop' });
    owner.send([0, 2, 'run_code', [{ program: 'print("the secret")', run_id: 'r1' }]]);
    await owner.response(2);
    owner.close();
    await owner.closed();
    for (let i = 0; i < 100; i++) {
      const crowd = await Promise.all(Array.from({ length: 100 }, () => RawPeer.connect(daemon.socket)));
      await Promise.all(crowd.map((peer) => peer.hello()));
      for (const peer of crowd) peer.close();
    }
    const thief = await RawPeer.connect(daemon.socket);
    await thief.ask(1, 'hello', { protocol: 1, agent: 'thief', session: 'shop' });
    const [, , error, run] = await thief.ask(2, 'run', { run_id: 'r1' });
    thief.close();
    assert.notEqual(error, null, `the run of another was told: ${JSON.stringify(run)}`);
  },
);

test('a program asked for behind hello ends with a connection that ends while hello is answered', async () => {
  const peer = await RawPeer.connect(daemon.socket);
  peer.send(
    [0, 1, 'hello', [{ protocol: 1, agent: 'gone', tools: [{ name: 't', input_schema: { type: 'object' } }] }]],
    [0, 2, 'run_code', [{ program: 'while true do end' }]],
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  peer.close();
  await using other = await daemon.connect();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal((await other.status()).counts.running, 0);
});

test('a key of hello that only looks like another is ignored as any unknown key', async () => {
  const peer = await RawPeer.connect(daemon.socket);
  const [, , error] = await peer.ask(1, 'hello', {
    protocol: 1,
    agent: 'x',
    tools: [{ name: 'a' }],
    '\ufefftools': 5,
  });
  peer.close();
  assert.equal(error, null, JSON.stringify(error));
});

test('a result deeper than other messages can carry it is refused, and run answers on the same connection', async () => {
  await using client = await daemon.connect({
    deep: { handler: () => Array.from({ length: 61 }).reduce((inner: unknown) => [inner], 1) },
  });
  const { output } = await client.runCode('print(wizard.call("deep").content)', { runId: 'deep' });
  assert.match(output as string, /nested deeper than 56 levels/);
  assert.equal((await client.run('deep')).calls.length, 1);
});

test('a run with many large arguments is shown by run on the same connection', { timeout: 60_000 }, async () => {
  await using client = await daemon.connect({ t: { handler: () => '' } });
  const outcome = await client.runCode('local s = ("a"):rep(7900000) for i = 1, 10 do pcall(tool.t, {s = s}) end', {
    runId: 'large',
  });
  assert.equal(outcome.kind, 'ok', outcome.report);
  assert.equal((await client.run('large')).outcome?.kind, 'ok');
});

test('texts for the model that are larger than a message do not cost the outcome', { timeout: 60_000 }, async () => {
  const peer = await RawPeer.connect(daemon.socket);
  await peer.hello([{ name: 't' }]);
  peer.send([0, 2, 'run_code', [{ program: 'for i = 1, 3 do tool.t{} end' }]]);
  for (let i = 0; i < 3; i++) {
    const [, id] = await peer.request('call_tool', i);
    peer.send([1, id, null, { ok: true, content: '', context: ['c'.repeat(31_000_000)] }]);
  }
  await until(() => peer.ended || peer.received.some(([type, id]) => type === 1 && id === 2), 'there is an outcome');
  assert.ok(!peer.ended, 'the connection was closed instead of an outcome sent');
  peer.close();
});
