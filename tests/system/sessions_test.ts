// Who may see what: sessions and their keys, runs of others, modes, workspace roots, the definition for the model.

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { TestDaemon, until } from '../helpers/daemon.ts';

let daemon: TestDaemon;
before(async () => void (daemon = await TestDaemon.start()));
after(() => daemon[Symbol.asyncDispose]());

const refusal = (code: string, message: RegExp) => (error: { code?: string; message: string }) => {
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
};

test('a session is opened again by its key, also after a disconnect, and its runs are there', async () => {
  const first = await daemon.connect();
  const { run_id: runId } = await first.runCode('print("kept")', { intent: 'to be found again' });
  const { session } = first;
  await first.close();
  await using second = await daemon.connect({}, { session });
  assert.deepEqual((await second.runs()).map(({ run_id, kind, intent }) => [run_id, kind, intent]), [[
    runId,
    'ok',
    'to be found again',
  ]]);
  assert.equal((await second.run(runId)).outcome?.output, 'kept\n');
});

test('neither the name nor the session nor a wrong key opens what belongs to another', async () => {
  await using owner = await daemon.connect({}, { agent: 'owner' });
  const { run_id: runId } = await owner.runCode('print("secret")');
  await using stranger = await daemon.connect({}, { agent: 'owner' });
  assert.deepEqual(await stranger.runs(), []);
  const noSuchRun = refusal('no_such_run', /^Cannot find run/);
  await assert.rejects(stranger.run(runId), noSuchRun);
  await assert.rejects(stranger.cancel(runId), noSuchRun);
  await assert.rejects(stranger.readSpill(runId), noSuchRun);
  for (const key of ['', 'x', owner.session.key.slice(1) + 'x']) {
    await assert.rejects(
      daemon.connect({}, { session: { id: owner.session.id, key } }),
      refusal('forbidden', /^Cannot open session ".*": it exists, and session_key does not fit it$/),
    );
  }
});

test('the same run id may be used by two sessions, and not twice by one', async () => {
  await using one = await daemon.connect();
  await using two = await daemon.connect();
  assert.equal((await one.runCode('print(1)', { runId: 'same' })).output, '1\n');
  assert.equal((await two.runCode('print(2)', { runId: 'same' })).output, '2\n');
  await assert.rejects(
    one.runCode('print(3)', { runId: 'same' }),
    refusal('invalid_params', /run_id "same" is in use/),
  );
  assert.equal((await one.run('same')).outcome?.output, '1\n');
});

test('the status tells of runs as numbers only', async () => {
  await using owner = await daemon.connect({}, { agent: 'private-name' });
  await owner.runCode('print(1)', { runId: 'private-run', intent: 'private-intent' });
  await using other = await daemon.connect({}, { agent: 'other' });
  const text = JSON.stringify(await other.status());
  for (const word of ['private-name', 'private-run', 'private-intent', owner.session.id]) {
    assert.ok(!text.includes(word), word);
  }
});

test('the status tells what the children are locked up by', async () => {
  await using agent = await daemon.connect();
  await until(async () => Object.keys((await agent.status()).containment.lockdown).length > 0, 'a child is ready');
  const { containment, pools, daemon: facts } = await agent.status();
  assert.ok(Object.values(containment.lockdown).every((part) => part === 'on'), JSON.stringify(containment));
  assert.match(containment.runtime, /^node 24\./);
  assert.equal(pools.lua.launcher, 'spawn');
  assert.equal(facts.version, agent.hello.server.version);
});

test('plan mode, inspection and a model without native tool calling get no programs', async () => {
  await using agent = await daemon.connect({}, { mode: 'plan' });
  await assert.rejects(agent.runCode('print(1)'), refusal('plan_mode', /exit_plan/));
  await agent.setMode('inspect');
  assert.deepEqual(agent.codeTools, []);
  await assert.rejects(agent.runCode('print(1)'), refusal('inspect_only', /may only inspect/));
  await agent.setMode('normal');
  assert.equal((await agent.runCode('print(1)')).kind, 'ok');
  await using plain = await daemon.connect({}, { nativeToolCalling: false });
  assert.deepEqual(plain.codeTools, []);
  await assert.rejects(plain.runCode('print(1)'), refusal('disabled', /native tool calling/));
});

test('the definition for the model names the tools and the limits in force, and follows set_tools', async () => {
  await using agent = await daemon.connect({ first_tool: { handler: () => '' } });
  const [definition] = agent.codeTools;
  assert.equal(definition!.name, 'run_code');
  assert.equal(definition!.class, 'execute');
  assert.match(definition!.description, /first_tool/);
  assert.match(definition!.description, /64 calls/);
  await agent.setTools({ second_tool: { handler: () => 'two' } });
  assert.match(agent.codeTools[0]!.description, /second_tool/);
  assert.doesNotMatch(agent.codeTools[0]!.description, /first_tool/);
  assert.deepEqual(agent.hello.inventory.in_code, [{ name: 'second_tool', class: 'other', provider: 'agent' }]);
  assert.equal((await agent.runCode('print(tool.second_tool{})')).output, 'two\n');
});

test('a run keeps the tools that it began with', async () => {
  const { promise: changed, resolve: goOn } = Promise.withResolvers<void>();
  await using agent = await daemon.connect({
    wait: { handler: () => changed.then(() => 'waited') },
    old: { handler: () => 'old' },
  });
  const running = agent.runCode('tool.wait{} print(pcall(tool.old)) print(#wizard.tools())');
  await until(async () => (await agent.runs('running')).some(({ calls }) => calls === 1), 'the run waits');
  await agent.setTools({ fresh: { handler: () => 'fresh' } });
  goOn();
  assert.equal((await running).output, 'true\told\n2\n');
  assert.match((await agent.runCode('print(pcall(tool.old))')).output as string, /there is no such tool/);
});

test('a cwd must be a folder below a root, also after symlinks are followed', async () => {
  const inside = path.join(daemon.workspace, 'inside');
  mkdirSync(inside);
  symlinkSync('/', path.join(daemon.workspace, 'out'));
  const outside = refusal('forbidden', /it must lie below a workspace root; the roots are /);
  await assert.rejects(daemon.connect({}, { cwd: '/etc' }), outside);
  await assert.rejects(daemon.connect({}, { cwd: path.join(daemon.workspace, 'out', 'etc') }), outside);
  await assert.rejects(daemon.connect({}, { cwd: `${daemon.workspace}/../../etc` }), outside);
  await assert.rejects(
    daemon.connect({}, { cwd: 'relative' }),
    refusal('invalid_params', /it must be an absolute path/),
  );
  await assert.rejects(
    daemon.connect({}, { cwd: path.join(inside, 'none') }),
    refusal('invalid_params', /it cannot be opened/),
  );
  await using agent = await daemon.connect({}, { cwd: inside });
  assert.equal((await agent.runCode('print(cwd)')).output, `${inside}\n`);
  await assert.rejects(agent.runCode('print(cwd)', { cwd: '/etc' }), outside);
});

test('progress is told while a run goes on', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using agent = await daemon.connect({ wait: { handler: () => promise } });
  const heard: unknown[] = [];
  const outcome = await agent.runCode('print("so far") tool.wait{}', {
    intent: 'to be watched',
    progress: (progress) => {
      heard.push([progress.intent, progress.calls, progress.recent.map(({ tool }) => tool), progress.printed]);
      resolve();
    },
  });
  assert.equal(outcome.kind, 'ok');
  assert.deepEqual(heard[0], ['to be watched', 1, ['wait'], 'so far\n']);
});

test('integers beyond 2^53 reach handlers as the agent wishes', async () => {
  const seen: unknown[] = [];
  const tools = { take: { handler: ({ n, small }: { n: unknown; small: unknown }) => void seen.push([n, small]) } };
  for (const integers of ['auto', 'number', 'bigint'] as const) {
    await using agent: Client = await daemon.connect(tools, { integers });
    await agent.runCode('tool.take{n = 9007199254740993, small = 7}');
  }
  assert.deepEqual(seen, [[9007199254740993n, 7], [9007199254740992, 7], [9007199254740993n, 7n]]);
});

test('progress is told while a program only computes', async () => {
  await using agent = await daemon.connect();
  const { promise: heard, resolve } = Promise.withResolvers<void>();
  let notices = 0;
  const running = agent.runCode('while true do end', {
    runId: 'computing',
    progress: ({ compute_ms: computeMs }) => {
      if (++notices >= 2 && computeMs > 500) resolve();
    },
  });
  await heard;
  await agent.cancel('computing');
  assert.equal((await running).kind, 'interrupted');
});
