// Programs that must fail as programs fail, with their own words, and not take their process down with them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Client, denied } from '../../src/client/client.ts';
import { TestDaemon } from '../helpers/daemon.ts';
import { RawPeer } from '../helpers/raw_peer.ts';

let daemon: TestDaemon;
let agent: Client;

before(async () => {
  daemon = await TestDaemon.start();
  agent = await daemon.connect({
    veto: {
      handler: ({ reason }) => {
        throw denied(String(reason));
      },
    },
  });
});
after(async () => {
  await agent.close();
  await daemon[Symbol.asyncDispose]();
});

test('a name of a tool longer than any is refused as unknown, and the program goes on', async () => {
  const outcome = await agent.runCode(`
    print(pcall(function() return tool[("x"):rep(70000)]{} end))
    print(wizard.call(("x"):rep(70000), {}).status)`);
  assert.equal(outcome.kind, 'ok', outcome.message);
  assert.match(outcome.output as string, /^false\t.*there is no such tool.*\nnot_run\n$/);
});

test('a name of a tool of forty million zero bytes is refused as unknown, and the program goes on', async () => {
  const outcome = await agent.runCode(`print(pcall(function() return tool[("\\0"):rep(40000000)]{} end))`);
  assert.equal(outcome.kind, 'ok', outcome.message);
});

test('printing more at once than the process can hold is no stack overflow', async () => {
  const outcome = await agent.runCode(`
    local s = ("x"):rep(30000000)
    print(${Array(64).fill('s').join(', ')})`);
  assert.doesNotMatch(outcome.message, /stack overflow/);
});

test('a changed upvalue of print is no crash of the process', async () => {
  const outcome = await agent.runCode('debug.setupvalue(print, 1, io.stdout) print("x")');
  assert.notEqual(outcome.kind, 'crashed', outcome.message);
});

test('bytecode is not loaded by way of the upvalues of load', async () => {
  const outcome = await agent.runCode(`
    for i = 1, 3 do
      local _, raw = debug.getupvalue(load, i)
      if type(raw) == "function" then
        local loaded = raw(string.dump(function() return 42 end), "forged", "b")
        if loaded then print(loaded()) end
      end
    end`);
  assert.equal(outcome.output, '', outcome.report);
});

test('a stopped program is not said to be where a coroutine of its first variable waits', async () => {
  const outcome = await agent.runCode(
    [
      'local co = coroutine.create(function()',
      '  coroutine.yield()',
      'end)',
      'coroutine.resume(co)',
      'while true do local x = 1 end',
    ].join('\n'),
    { timeoutSecs: 0.2 },
  );
  assert.match(outcome.message, /last seen at program:[45]$/);
  assert.doesNotMatch(outcome.traceback!, /program:2/);
});

test('an error that is no denial ends as an error, however short the reason of a denial was that was caught', async () => {
  for (const reason of ['', 'e', 'no']) {
    const outcome = await agent.runCode(`
      pcall(tool.veto, {reason = ${JSON.stringify(reason)}})
      error("something else, not this")`);
    assert.equal(outcome.kind, 'error', `reason ${JSON.stringify(reason)}: ${outcome.report}`);
  }
});

test('a veto with a very long reason is a veto all the same', async () => {
  const peer = await RawPeer.connect(daemon.socket);
  await peer.hello([{ name: 't' }]);
  peer.send([0, 2, 'run_code', [{ program: 'print(tool.t{}) print("carried on")' }]]);
  const [, id] = await peer.request('call_tool');
  peer.send([1, id, { code: 'denied', message: 'never '.repeat(300_000) }, null]);
  const [, , , outcome] = await peer.response(2) as [number, number, unknown, Record<string, unknown>];
  peer.close();
  assert.equal(outcome.output, '');
  assert.equal(outcome.kind, 'denied');
});
