// What does not stop by itself: every kind of endless program, from inside and by force, and what is left of it.

import assert from 'node:assert/strict';
import process from 'node:process';
import { after, before, test } from 'node:test';
import type { Outcome } from '../../src/client/messages.ts';
import type { Client } from '../../src/client/client.ts';
import { childrenOf, isAlive, TestDaemon, until } from '../helpers/daemon.ts';

let daemon: TestDaemon;
let agent: Client;
const cancelled: { runId: string; call: number }[] = [];

before(async () => {
  daemon = await TestDaemon.start();
  agent = await daemon.connect({
    echo: { handler: ({ text }) => text },
    never: {
      handler: (_args, call) => {
        call.signal.addEventListener('abort', () => cancelled.push({ runId: call.runId, call: call.call }));
        return new Promise(() => {});
      },
    },
  });
});
after(async () => {
  await agent.close();
  await daemon[Symbol.asyncDispose]();
});

const marked = 'print("before the loop") tool.echo{text = "hello"}\n';

async function assertUnharmed(): Promise<void> {
  const outcome = await agent.runCode('print(tool.echo{text = "still here"})');
  assert.equal(outcome.kind, 'ok', outcome.report);
  assert.equal(outcome.output, 'still here\n');
}

const endless: Record<string, string> = {
  'a loop round pcall': 'while true do pcall(function() while true do end end) end',
  'a loop in a coroutine': 'coroutine.wrap(function() while true do end end)()',
  'a loop in a coroutine that is resumed in a loop':
    'while true do coroutine.resume(coroutine.create(function() while true do end end)) end',
  'a loop in __gc': 'setmetatable({}, {__gc = function() while true do end end}) collectgarbage()',
  'a loop in __close': 'do local x <close> = setmetatable({}, {__close = function() while true do end end}) end',
  'a loop in an xpcall handler': 'xpcall(error, function() while true do end end)',
  'a pathological pattern': 'string.find(string.rep("a", 30), string.rep("a-", 30) .. "b")',
  'a pathological pattern over a long text':
    'while true do pcall(string.find, string.rep("a", 5e4), "(.-)(.-)(.-)(.-)b") end',
  'table.move over a huge range': 'table.move({}, 1, 1e15, 2)',
  'a sort whose comparator loops': 'table.sort({3, 2, 1}, function() while true do end end)',
  'a gsub whose callback loops': 'string.gsub("x", ".", function() while true do end end)',
  'a goto': '::again:: goto again',
  'errors caught again and again': 'while true do pcall(error, "x") end',
  'a metamethod that calls itself by way of others':
    'local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x',
};

for (const [name, program] of Object.entries(endless)) {
  test(`${name} ends as time from inside, with traceback, output and ledger`, async () => {
    const outcome = await agent.runCode(marked + program, { timeoutSecs: 0.3 });
    assert.equal(outcome.kind, 'time', outcome.report);
    assert.equal(outcome.stopped_by, 'inside', outcome.report);
    assert.equal(outcome.clock, 'compute');
    assert.match(outcome.message, /^the compute budget of 0\.3 s is used up, last seen at program:[12]$/);
    assert.match(outcome.traceback ?? '', /^stack traceback:\n[\s\S]*program:[12]: in main chunk$/);
    assert.equal(outcome.output, 'before the loop\n');
    assert.deepEqual(outcome.calls.map(({ tool, outcome: end }) => [tool, end]), [['echo', 'ok']]);
    assert.deepEqual(outcome.exhausted && { ...outcome.exhausted, used: 0, requested: 0 }, {
      name: 'compute_ms',
      used: 0,
      limit: 300,
      requested: 0,
    });
    assert.match(
      outcome.report,
      /^run_code time: the compute budget[\s\S]*\noutput:\nbefore the loop\n\ncalls:\n {2}1 echo \{"text":"hello"\} -> ok, 5 bytes\n$/,
    );
    await assertUnharmed();
  });
}

test('a child that is held by SIGSTOP is killed, and what it printed is kept', async () => {
  let running: Promise<Outcome>;
  const pid = await daemon.nextComputing(() =>
    running = agent.runCode(marked + 'while true do end', { timeoutSecs: 1 })
  );
  process.kill(pid, 'SIGSTOP');
  const outcome = await running!;
  assert.equal(outcome.kind, 'time');
  assert.equal(outcome.stopped_by, 'kill');
  assert.equal(outcome.output, 'before the loop\n');
  assert.equal(outcome.calls.length, 1);
  assert.ok(!isAlive(pid));
  await assertUnharmed();
});

test('a child that is killed from outside is a crash, told with what was printed', async () => {
  let running: Promise<Outcome>;
  process.kill(await daemon.nextComputing(() => running = agent.runCode(marked + 'while true do end')), 'SIGKILL');
  const outcome = await running!;
  assert.equal(outcome.kind, 'crashed');
  assert.equal(outcome.stopped_by, 'kill');
  assert.equal(outcome.message, 'the process of the program ended without an outcome: it was ended by SIGKILL');
  assert.equal(outcome.output, 'before the loop\n');
  await assertUnharmed();
});

test('a tool that never answers is ended by the wall clock, and the agent is told to cancel the call', async () => {
  const outcome = await agent.runCode('print("waiting")\ntool.never{}', { limits: { wall_ms: 400 }, runId: 'never-1' });
  assert.equal(outcome.kind, 'time');
  assert.equal(outcome.clock, 'wall');
  assert.equal(outcome.stopped_by, 'inside');
  assert.equal(outcome.message, 'the wall clock of 0.4 s has run out, in a call of "never", at program:2');
  assert.deepEqual(outcome.calls.map(({ tool, outcome: end }) => [tool, end]), [['never', 'unknown']]);
  assert.deepEqual(outcome.warnings, ['call 1 of "never" gave no answer before the end; it may still be running']);
  assert.equal(outcome.evidence.unknown, 1);
  assert.deepEqual(cancelled.filter(({ runId }) => runId === 'never-1'), [{ runId: 'never-1', call: 1 }]);
  await assertUnharmed();
});

test('time in a call is not compute', async () => {
  await using slow = await daemon.connect({
    slow: { handler: () => new Promise((resolve) => setTimeout(() => resolve('done'), 500)) },
  });
  const outcome = await slow.runCode('print(tool.slow{})', { timeoutSecs: 0.3 });
  assert.equal(outcome.kind, 'ok', outcome.report);
  assert.ok(outcome.usage.tool_ms >= 490);
  assert.ok(outcome.usage.compute_ms < 300);
});

test('a run that computes is cancelled from inside, with the reason', async () => {
  const controller = new AbortController();
  let running: Promise<Outcome>;
  await daemon.nextComputing(() =>
    running = agent.runCode(marked + 'while true do end', { signal: controller.signal })
  );
  controller.abort(new Error('changed my mind'));
  const outcome = await running!;
  assert.equal(outcome.kind, 'interrupted');
  assert.equal(outcome.stopped_by, 'inside');
  assert.match(outcome.message, /^cancelled: changed my mind, last seen at program:[12]$/);
  await assertUnharmed();
});

test('a run that waits in a call is cancelled from inside', async () => {
  const controller = new AbortController();
  const running = agent.runCode('print("x")\npcall(tool.never)\nprint("not reached")', {
    signal: controller.signal,
    runId: 'cancel-1',
  });
  await until(
    async () => (await agent.runs('running')).some(({ run_id, calls }) => run_id === 'cancel-1' && calls === 1),
    'the call is open',
  );
  controller.abort(new Error('enough'));
  const outcome = await running;
  assert.equal(outcome.kind, 'interrupted');
  assert.equal(outcome.stopped_by, 'inside');
  assert.equal(outcome.message, 'cancelled: enough, at program:2');
  assert.equal(outcome.output, 'x\n');
  await assertUnharmed();
});

test('a run that is cancelled before it starts ends as interrupted', async () => {
  const outcome = await agent.runCode('print("x")', { signal: AbortSignal.abort(new Error('too late')) });
  assert.equal(outcome.kind, 'interrupted');
});

test('the frames of a program that is stopped while it prints are whole', async () => {
  for (let i = 0; i < 15; i++) {
    const program = 'local s = string.rep("0123456789", 1e5) while true do print(s) end';
    const outcome = await agent.runCode(program, { limits: { compute_ms: 40 + 7 * i, report_chars: 100 } });
    assert.equal(outcome.kind, 'time', outcome.report);
    assert.equal(outcome.stopped_by, 'inside', outcome.report);
  }
  await assertUnharmed();
});

test('a program that is stopped in the middle of a large call makes no torn call', async () => {
  const big = 'local s = string.rep("x", 4e6) while true do tool.echo{text = s} end';
  for (let i = 0; i < 8; i++) {
    const outcome = await agent.runCode(big, { limits: { compute_ms: 20 + 5 * i } });
    assert.ok(['time', 'calls', 'results'].includes(outcome.kind), outcome.report);
    assert.equal(outcome.stopped_by, 'inside', outcome.report);
  }
  await assertUnharmed();
});

test('the first cause wins: a cancel after the budget has run out changes nothing', async () => {
  let running: Promise<Outcome>;
  const pid = await daemon.nextComputing(() =>
    running = agent.runCode('while true do end', { timeoutSecs: 0.3, runId: 'first-1' })
  );
  process.kill(pid, 'SIGSTOP');
  // Until the budget has run out and the child that cannot obey is about to be killed.
  await until(
    () =>
      isAlive(pid) === false ||
      daemon.logged.some((line) => line.includes('"first-1"') && line.includes('told to stop')),
    'the run is told to stop',
  );
  await agent.cancel('first-1', 'later');
  const outcome = await running!;
  assert.equal(outcome.kind, 'time');
  assert.equal(outcome.clock, 'compute');
});

test('an agent that disconnects loses its programs within a second', async () => {
  const other = await daemon.connect({ never: { handler: () => new Promise(() => {}) } });
  const lost: Promise<unknown>[] = [];
  const lose = (program: string) => void lost.push(other.runCode(program).catch((error: Error) => error.message));
  const pid = await daemon.nextComputing(() => lose('while true do end'));
  lose('tool.never{}');
  await other.close();
  const from = performance.now();
  await until(() => !isAlive(pid), 'the child is gone');
  assert.ok(performance.now() - from < 1000);
  assert.deepEqual(await Promise.all(lost), Array(2).fill('the connection to the daemon has ended'));
  await until(async () => (await agent.status()).counts.running === 0, 'no run is left');
});

test('two hundred runs leave no zombie and no descriptor more', { timeout: 120_000 }, async () => {
  const { readdirSync } = await import('node:fs');
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const settled = async () => {
    await until(async () => {
      const { pools, counts } = await agent.status();
      return pools.lua.warm === pools.lua.wanted && pools.lua.running === 0 && pools.lua.starting === 0 &&
        counts.running === 0;
    }, 'the pool is full again');
    return { descriptors: descriptors(), children: childrenOf(process.pid).length };
  };
  await agent.runCode('print(1)');
  const before = await settled();
  for (let i = 0; i < 25; i++) {
    await Promise.all(
      Array.from({ length: 8 }, (_, j) => agent.runCode(j % 4 === 0 ? 'error("x")' : 'print(tool.echo{text = "x"})')),
    );
  }
  assert.deepEqual(await settled(), before);
});
