// What the kernel tells of a process: of one that is there, and of one that is not.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { test } from 'node:test';
import { processorTime } from '../../../src/runtime/process_facts.ts';
import { runtimeName, runtimeVersion } from '../../../src/runtime/runtime.ts';
import { until } from '../../helpers/until.ts';

test('the processor time of a process grows with what it does', async () => {
  if (!existsSync('/proc/self/schedstat')) return assert.equal(processorTime(process.pid), undefined);
  const busy = spawn(process.execPath, [runtimeName === 'deno' ? 'eval' : '-e', 'for (;;);'], { stdio: 'ignore' });
  try {
    await until(() => (processorTime(busy.pid!)?.cpuMs ?? 0) > 0);
    const before = processorTime(busy.pid!)!;
    assert.ok(before.waitMs >= 0);
    await until(() => processorTime(busy.pid!)!.cpuMs > before.cpuMs + 20);
    assert.ok(processorTime(busy.pid!)!.waitMs >= before.waitMs);
  } finally {
    busy.kill('SIGKILL');
  }
  await new Promise((resolve) => busy.once('exit', resolve));
  await until(() => processorTime(busy.pid!) === undefined);
});

test('of a process that is not there nothing is told', () => {
  for (const pid of [2 ** 30, -1, 0, NaN]) assert.equal(processorTime(pid), undefined);
});

test('the runtime is told by its name and version', () => {
  assert.ok(runtimeName === 'node' || runtimeName === 'deno');
  assert.match(runtimeVersion, /^(node|deno) \d+\.\d+\.\d+/);
  assert.equal(runtimeName === 'deno', 'Deno' in globalThis);
});
