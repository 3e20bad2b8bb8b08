// The children that a daemon really starts, looked at from outside: the attacks on the lock-up are tried on a
// stand-in, and here is shown that what stands before a program is locked up the same way.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { test } from 'node:test';
import { childrenOf, TestDaemon, until } from '../helpers/daemon.ts';

const flags = [
  '--permission',
  '--allow-addons',
  '--frozen-intrinsics',
  '--disallow-code-generation-from-strings',
  '--disable-sigusr1',
];

const field = (text: string, name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1];

test('a warm child of a daemon has its flags, no environment, and a filter in every thread', async () => {
  await using daemon = await TestDaemon.start({ pool: { warm: 1 } });
  await using agent = await daemon.connect();
  await until(async () => (await agent.status()).pools.lua.warm === 1, 'the pool is warm');
  const [pid, ...others] = childrenOf(process.pid);
  assert.deepEqual(others, []);
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  for (const flag of flags) assert.ok(words.includes(flag), flag);
  assert.ok(words.some((word) => word.startsWith('--allow-fs-read=')));
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    assert.equal(field(status, 'Seccomp'), '2', `thread ${thread}`);
    assert.equal(field(status, 'NoNewPrivs'), '1', `thread ${thread}`);
  }
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  assert.match(limits, /^Max open files +4 +4 /m);
  assert.match(limits, /^Max file size +0 +0 /m);
  assert.match(limits, /^Max data size +1610612736 +1610612736 /m);
  // The rest of /proc is closed to an ordinary user, which is a part of the lock-up itself.
  if (process.getuid!() !== 0) {
    assert.throws(() => readFileSync(`/proc/${pid}/environ`), { code: 'EACCES' });
    return;
  }
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter((entry) => entry !== '');
  assert.ok(environment.every((entry) => entry.startsWith('DENO_EXTRA_STDIO_FDS=')), environment.join());
});

test("the daemon's own folders are no cwd", async () => {
  await using daemon = await TestDaemon.start();
  for (const cwd of [daemon.state, `${daemon.folder}/s`]) {
    await assert.rejects(daemon.connect({}, { cwd }), {
      code: 'forbidden',
      message: /it belongs to the daemon's own folders$/,
    });
  }
});
