// A daemon that is out of descriptors lives on, and serves again when they are back. On Deno it lives on and
// drains, but accepts no more (docs/runtimes.md): there the end of the daemon is what is looked at.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { childrenOf, commandFor, until } from '../helpers/daemon.ts';

let folder: string;
let socket: string;
let daemon: ChildProcess;
let log = '';
let ended: string | undefined;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rw-'));
  socket = path.join(folder, 's', 'rw.sock');
  const [executable, line] = commandFor('serve', '--socket', socket, '--state', path.join(folder, 'state'));
  daemon = spawn('sh', ['-c', 'ulimit -n 120; exec "$0" "$@"', executable, ...line], {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  daemon.stderr!.on('data', (chunk) => log += chunk);
  daemon.once('exit', (code, signal) => ended = `code ${code}, signal ${signal}: ${log.slice(-1000)}`);
  await until(() => log.includes('listening'), 'the daemon listens', () => log);
  await using client = await Client.connect({ socket, agent: 'first' });
  assert.equal((await client.runCode('print(1)')).output, '1\n');
});
after(async () => {
  daemon.kill('SIGTERM');
  await until(() => ended !== undefined, 'the daemon ends');
  rmSync(folder, { recursive: true, force: true });
});

test('a daemon without descriptors cannot start children, and serves again when connections have gone', {
  timeout: 60_000,
}, async () => {
  const crowd: Socket[] = [];
  for (let i = 0; i < 400; i++) {
    const one = connect(socket);
    one.on('error', () => {});
    crowd.push(one);
  }
  const open = () => readdirSync(`/proc/${daemon.pid}/fd`).length;
  await until(() => open() > 110 || ended !== undefined, 'the descriptors are used up');
  // The pool has to replace the children that die now.
  for (const child of childrenOf(daemon.pid!)) process.kill(child, 'SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for (const one of crowd) one.destroy();
  assert.equal(ended, undefined);
  if ('deno' in process.versions) return;

  const served = (async () => {
    await using client = await Client.connect({ socket, agent: 'later' });
    return (await client.runCode('print(2)')).output;
  })();
  const late = new Promise((resolve) => setTimeout(resolve, 15_000, 'no answer').unref());
  assert.equal(await Promise.race([served, late]), '2\n');
});
