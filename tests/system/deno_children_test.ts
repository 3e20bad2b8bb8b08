// Children on Deno, for hosts that have no Node: the same programs, and what is lost told plainly.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from '../../src/client/client.ts';
import { TestDaemon, until } from '../helpers/daemon.ts';

let daemon: TestDaemon;
let agent: Client;
before(async () => {
  daemon = await TestDaemon.start({ pool: { runtime: 'deno', warm: 1 }, workspace: { tools: true } });
  agent = await daemon.connect({
    echo: { inputSchema: { type: 'object', properties: { n: { type: 'integer' } } }, handler: ({ n }) => `n is ${n}` },
    never: { handler: () => new Promise(() => {}) },
  });
});
after(async () => {
  await agent.close();
  await daemon[Symbol.asyncDispose]();
});

test('a program runs, calls and fails on a Deno child as on a Node child', async () => {
  const outcome = await agent.runCode(
    'print(tool.echo{n = 9007199254740993}) print(pcall(tool.echo, {n = "x"})) error("end")',
  );
  assert.equal(outcome.kind, 'error');
  assert.equal(outcome.message, 'program:1: end');
  assert.equal(
    outcome.output,
    'n is 9007199254740993\nfalse\tCannot call tool "echo": arguments.n must be integer, got string "x"\n',
  );
});

test('a Deno child locks itself up as well', async () => {
  await until(async () => Object.keys((await agent.status()).containment.lockdown).length > 0, 'a child is ready');
  const { containment } = await agent.status();
  assert.match(containment.runtime, /^deno /);
  assert.ok(Object.values(containment.lockdown).every((part) => part === 'on'), JSON.stringify(containment));
});

test('memory is bounded on a Deno child', async () => {
  const outcome = await agent.runCode('pcall(string.rep, "x", 6e8)');
  assert.equal(outcome.kind, 'memory');
});

test('a Deno child that computes past its budget is killed, with what it printed but no traceback', async () => {
  const outcome = await agent.runCode('print("kept") while true do end', { timeoutSecs: 0.3 });
  assert.equal(outcome.kind, 'time');
  assert.equal(outcome.stopped_by, 'kill');
  assert.equal(outcome.traceback, null);
  assert.equal(outcome.output, 'kept\n');
});

test('a Deno child that waits in a call is stopped from inside', async () => {
  const outcome = await agent.runCode('tool.never{}', { limits: { wall_ms: 300 } });
  assert.equal(outcome.kind, 'time');
  assert.equal(outcome.stopped_by, 'inside');
  assert.match(outcome.message, /in a call of "never", at program:1$/);
});

test('the runs after these are unharmed', async () => {
  for (let i = 0; i < 5; i++) assert.equal((await agent.runCode(`print(${i})`)).output, `${i}\n`);
});
