// The daemon as a process: its death and that of its children, draining, sockets that are stale or taken.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { childrenOf, isAlive, runCommand, spawnDaemon, TestDaemon, until } from '../helpers/daemon.ts';

let folder: string;
const killed: number[] = [];

beforeEach(() => void (folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'rw-')))));
afterEach(() => {
  for (const pid of killed.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function startDaemon() {
  const daemon = await spawnDaemon(folder);
  killed.push(daemon.pid);
  return daemon;
}

const connect = (socket: string, tools = {}) => Client.connect({ socket, agent: 'tester', cwd: folder, tools });

test('kill -9 of the daemon leaves no process after a second, spinning and waiting children included', async () => {
  const daemon = await startDaemon();
  const agent = await connect(daemon.socket, {
    never: { inputSchema: { type: 'object' }, handler: () => new Promise(() => {}) },
  });
  const lost = ['while true do end', 'while true do pcall(error) end', 'tool.never{}'].map((program) =>
    agent.runCode(program).catch((error: Error) => error.message)
  );
  await until(async () => (await agent.runs('running')).length === 3, 'three programs run');
  await until(async () => (await agent.status()).pools.lua.warm === 2, 'the pool is warm');
  const children = childrenOf(daemon.pid);
  assert.ok(children.length >= 6, String(children));
  process.kill(daemon.pid, 'SIGKILL');
  const from = performance.now();
  await until(() => !children.some(isAlive), 'all children are gone');
  assert.ok(performance.now() - from < 1000, `${performance.now() - from} ms`);
  assert.deepEqual(await Promise.all(lost), Array(3).fill('the connection to the daemon has ended'));
});

test('a socket that a killed daemon left is taken over, and one that is served is not', async () => {
  const first = await startDaemon();
  process.kill(first.pid, 'SIGKILL');
  await first.ended;
  assert.ok(existsSync(first.socket));
  const second = await startDaemon();
  await using agent = await connect(second.socket);
  const third = await runCommand(['serve', '--socket', second.socket, '--state', path.join(folder, 'other')]).ended;
  assert.equal(third.code, 1);
  assert.match(
    third.stderr,
    /^runwarden: Cannot listen at .*: another daemon serves there; stop it, or choose another socket$/m,
  );
  assert.equal((await agent.runCode('print(1)')).output, '1\n');
});

test('of several daemons that start at once at a stale socket, one serves', async () => {
  const first = await startDaemon();
  process.kill(first.pid, 'SIGKILL');
  await first.ended;
  const starters = Array.from(
    { length: 4 },
    (_, i) =>
      runCommand(['serve', '--socket', first.socket, '--state', path.join(folder, `state${i}`)], {
        env: { HOME: folder },
      }),
  );
  for (const { child } of starters) killed.push(child.pid!);
  const ended = new Set<number>();
  starters.forEach(({ ended: end }, i) => void end.then(() => ended.add(i)));
  await until(
    () =>
      starters.every(({ stderr }, i) =>
        ended.has(i) || stderr().includes('"listening"') || stderr().includes('listening')
      ),
    'each has decided',
  );
  assert.equal(ended.size, 3, starters.map(({ stderr }) => stderr()).join('\n'));
  await using agent = await connect(first.socket);
  assert.equal((await agent.runCode('print(1)')).output, '1\n');
});

test('what is no socket is left alone', async () => {
  const file = path.join(folder, 'file');
  writeFileSync(file, 'precious');
  const { code, stderr } = await runCommand(['serve', '--socket', file, '--state', path.join(folder, 'state')]).ended;
  assert.equal(code, 1);
  assert.match(stderr, /something that is no socket stands there/);
  assert.ok(statSync(file).isFile());
});

test('a server that does not answer hello is not taken for stale', async () => {
  const file = path.join(folder, 'silent');
  const server = createServer(() => {}).listen(file);
  await new Promise((resolve) => server.once('listening', resolve));
  const { code, stderr } = await runCommand(['serve', '--socket', file, '--state', path.join(folder, 'state')]).ended;
  server.close();
  assert.equal(code, 1);
  assert.match(stderr, /another daemon serves there/);
});

test('the socket, its folder and the state folder are private', async () => {
  const { socket } = await startDaemon();
  const mode = (file: string) => statSync(file).mode & 0o777;
  assert.equal(mode(socket), 0o600);
  assert.equal(mode(path.dirname(socket)), 0o700);
  assert.equal(mode(path.join(folder, 'state')), 0o700);
});

test('SIGTERM drains: what runs may finish, nothing new begins, then the socket is gone', async () => {
  const daemon = await startDaemon();
  const { promise: answer, resolve: goOn } = Promise.withResolvers<string>();
  await using agent = await connect(daemon.socket, { wait: { handler: () => answer } });
  const running = agent.runCode('print(tool.wait{})');
  await until(async () => (await agent.runs('running')).some(({ calls }) => calls === 1), 'the program waits');
  process.kill(daemon.pid, 'SIGTERM');
  await until(async () => (await agent.status()).daemon.draining, 'the daemon drains');
  await assert.rejects(agent.runCode('print(1)'), (error: { code?: string }) => error.code === 'shutting_down');
  goOn('finished in time');
  assert.equal((await running).output, 'finished in time\n');
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.ok(!existsSync(daemon.socket));
});

test(
  'a program that does not finish while the daemon drains is interrupted, and told so',
  { timeout: 30_000 },
  async () => {
    const daemon = await startDaemon();
    await using agent = await connect(daemon.socket);
    const running = agent.runCode('print("begun") while true do end');
    await until(async () => (await agent.runs('running')).length === 1, 'the program runs');
    process.kill(daemon.pid, 'SIGTERM');
    const outcome = await running;
    assert.equal(outcome.kind, 'interrupted');
    assert.match(outcome.message, /^the daemon is shutting down, last seen at program:1$/);
    assert.equal(outcome.output, 'begun\n');
    assert.equal((await daemon.ended).code, 0);
  },
);

test('a warm child that is killed from outside is replaced', async () => {
  await using daemon = await TestDaemon.start({ pool: { warm: 1 } });
  await using agent = await daemon.connect();
  const pool = async () => (await agent.status()).pools.lua;
  await until(async () => (await pool()).warm === 1, 'the pool is warm');
  const { started } = await pool();
  for (const pid of childrenOf(process.pid).filter(isAlive)) process.kill(pid, 'SIGKILL');
  await until(async () => (await pool()).started > started && (await pool()).warm === 1, 'it is replaced');
  assert.equal((await agent.runCode('print(2)')).output, '2\n');
});
