// A bound that has fired ends the program for good: nothing of it runs afterwards, whatever it left behind.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from '../../src/client/client.ts';
import { TestDaemon } from '../helpers/daemon.ts';

let daemon: TestDaemon;
let agent: Client;
const marks: string[] = [];

before(async () => {
  daemon = await TestDaemon.start();
  agent = await daemon.connect({ mark: { handler: ({ text }) => marks.push(String(text)) > 0 } });
});
after(async () => {
  await agent.close();
  await daemon[Symbol.asyncDispose]();
});

const untilMemoryIsUsedUp = 'local s = "xxxxxxxxxxxxxxxx" while true do s = s .. s end';

test('a hook for calls makes no tool call after the memory limit has ended the program', async () => {
  marks.length = 0;
  const outcome = await agent.runCode(`
    debug.sethook(function() print(pcall(tool.mark, {text = "after the end"})) end, "c")
    ${untilMemoryIsUsedUp}`);
  assert.equal(outcome.kind, 'memory', outcome.report);
  assert.deepEqual(marks, []);
  assert.equal(outcome.output, '');
});

test('a function put in the registry makes no tool call after the memory limit has ended the program', async () => {
  marks.length = 0;
  const outcome = await agent.runCode(`
    local registry = debug.getregistry and debug.getregistry() or {}
    for key, value in pairs(registry) do
      if value == collectgarbage then
        registry[key] = function() print(pcall(tool.mark, {text = "after the end"})) end
      end
    end
    ${untilMemoryIsUsedUp}`);
  assert.equal(outcome.kind, 'memory', outcome.report);
  assert.deepEqual(marks, []);
  assert.equal(outcome.output, '');
});

test('a function put in the registry prints nothing after the clock has ended the program', async () => {
  const outcome = await agent.runCode(
    `
    local registry = debug.getregistry and debug.getregistry() or {}
    for key, value in pairs(registry) do
      if value == collectgarbage then registry[key] = function() print("after the end") end end
    end
    while true do end`,
    { timeoutSecs: 0.2 },
  );
  assert.equal(outcome.kind, 'time', outcome.report);
  assert.equal(outcome.output, '');
});
