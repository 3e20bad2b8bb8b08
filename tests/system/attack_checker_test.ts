// A checker that dies or stands still costs nobody more than a moment.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { childrenOf, spawnDaemon, until } from '../helpers/daemon.ts';

let folder: string;
let daemon: Awaited<ReturnType<typeof spawnDaemon>>;
let agent: Client;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rw-'));
  daemon = await spawnDaemon(folder);
  const inputSchema = { type: 'object', properties: { a: { type: 'string' } } };
  agent = await Client.connect({
    socket: daemon.socket,
    agent: 'x',
    tools: { t: { inputSchema, handler: () => 'v' } },
  });
  await agent.runCode('tool.t{a = "x"}');
});
after(async () => {
  await agent.close();
  daemon.child.kill('SIGTERM');
  await daemon.ended;
  rmSync(folder, { recursive: true, force: true });
});

function checkers(): number[] {
  return childrenOf(daemon.pid).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('checker_main');
    } catch {
      return false;
    }
  });
}

test('a checker that stands still while it starts is given up, and the call with it or checked by the next', {
  timeout: 60_000,
}, async () => {
  const killed = checkers();
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  await until(() => !checkers().some((pid) => killed.includes(pid)), 'they are gone');
  const running = agent.runCode('print(pcall(tool.t, {a = "x"}))');
  const fresh = () => checkers().find((pid) => !killed.includes(pid));
  await until(() => fresh() !== undefined, 'a checker is started');
  const held = fresh();
  process.kill(held!, 'SIGSTOP');
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, 35_000, undefined).unref());
  const outcome = await Promise.race([running, late]);
  try {
    process.kill(held!, 'SIGCONT');
  } catch {
    // It has been ended, as it should be.
  }
  assert.notEqual(outcome, undefined, 'the program still waits for a checker that does not start');
});
