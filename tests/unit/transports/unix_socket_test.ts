// The socket that agents connect to: claimed from the dead only, private at once, removed if it is still ours.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listenUnix, type UnixListener } from '../../../src/transports/unix_socket.ts';
import { until } from '../../helpers/until.ts';

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sock-'));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whoever only asks whether the socket is served goes away without reading. */
const greet = (socket: Socket): void => void socket.on('error', () => {}).end('hi');

const listen = (
  file: string,
  mode = 0o600,
  accept: (socket: Socket) => void = greet,
): Promise<UnixListener> => listenUnix({ file, mode, accept });

/** What whoever serves at `file` says. */
function greeting(file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(file);
    socket.on('data', (chunk) => text += chunk);
    socket.on('end', () => {
      socket.destroy();
      resolve(text);
    });
    socket.on('error', reject);
  });
}

/** Leaves a socket as a daemon does that was killed: the file stands, nobody serves. */
async function leaveStale(file: string): Promise<void> {
  const server = createServer();
  const elsewhere = `${file.slice(0, file.lastIndexOf('/'))}/l`;
  await new Promise<void>((resolve) => server.listen(elsewhere, () => resolve()));
  renameSync(elsewhere, file);
  await new Promise((resolve) => server.close(resolve));
  assert.ok(lstatSync(file).isSocket());
}

test('a socket is served, private, and gone when it is closed', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 'deep', 'er', 's.sock');
    const listener = await listen(file);
    assert.equal(await greeting(file), 'hi');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(path.dirname(file)).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(path.dirname(file)), ['s.sock']);
    await listener.close();
    assert.deepEqual(readdirSync(path.dirname(file)), []);
  });
});

test('the mode is the one asked for, and the mask of the process is as it was', async () => {
  await withFolder(async (folder) => {
    const before = process.umask(0o022);
    const listener = await listen(path.join(folder, 's'), 0o660);
    assert.equal(statSync(path.join(folder, 's')).mode & 0o777, 0o660);
    assert.equal(process.umask(before), 0o022);
    await listener.close();
  });
});

test('under its name the socket is never open to others, not even for a moment', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 's');
    const before = process.umask(0);
    const modes = new Set<number>();
    let done = false;
    const starting = listen(file).finally(() => done = true);
    await until(() => {
      for (const name of readdirSync(folder)) modes.add(lstatSync(path.join(folder, name)).mode & 0o077);
      return done;
    });
    process.umask(before);
    await (await starting).close();
    assert.deepEqual([...modes], [0]);
  });
});

/** The length of the longest path at which `listenUnix` listens, in bytes, as it says itself. */
async function longestPath(): Promise<number> {
  const { message } = await listen(path.join(tmpdir(), 'x'.repeat(120))).then(
    () => assert.fail(),
    (error: Error) => error,
  );
  const length = Number(/^Cannot listen at .*: its path must have at most (\d+) bytes$/.exec(message)?.[1]);
  assert.ok(length > 80 && length <= 107, message);
  return length;
}

test('a stale socket is replaced, at the longest path too', async () => {
  await withFolder(async (folder) => {
    const longest = await longestPath();
    for (const length of [folder.length + 2, longest - 10, longest - 6, longest - 5, longest - 1, longest]) {
      const file = path.join(folder, 'x'.repeat(length - folder.length - 1));
      await leaveStale(file);
      const listener = await listen(file);
      assert.equal(await greeting(file), 'hi');
      await listener.close();
      assert.deepEqual(readdirSync(folder), [], `a path of ${length} bytes`);
    }
  });
});

test('a path that is too long is refused by its length', async () => {
  await withFolder(async (folder) => {
    const longest = await longestPath();
    const file = path.join(folder, 'x'.repeat(longest - folder.length));
    await assert.rejects(
      listen(file),
      new Error(`Cannot listen at ${file}: its path must have at most ${longest} bytes`),
    );
    assert.deepEqual(readdirSync(folder), []);
  });
});

test('a living socket is kept', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 's');
    const first = await listen(file);
    await assert.rejects(
      listen(file),
      new Error(`Cannot listen at ${file}: another daemon serves there; stop it, or choose another socket`),
    );
    assert.equal(await greeting(file), 'hi');
    assert.deepEqual(readdirSync(folder), ['s']);
    await first.close();
  });
});

test('something that is no socket is refused and left alone', async () => {
  await withFolder(async (folder) => {
    const kinds: Record<string, (file: string) => void> = {
      file: (file) => writeFileSync(file, 'precious'),
      folder: (file) => mkdirSync(file),
      link: (file) => symlinkSync('/nowhere', file),
    };
    for (const [kind, make] of Object.entries(kinds)) {
      const file = path.join(folder, kind);
      make(file);
      await assert.rejects(
        listen(file),
        new Error(`Cannot listen at ${file}: something that is no socket stands there`),
        kind,
      );
      assert.ok(lstatSync(file));
    }
    assert.deepEqual(readdirSync(folder).sort(), ['file', 'folder', 'link']);
  });
});

test("closing removes only a socket of one's own", async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 's');
    const first = await listen(file);
    rmSync(file);
    const second = await listen(file);
    await first.close();
    assert.equal(await greeting(file), 'hi');
    await second.close();
    assert.deepEqual(readdirSync(folder), []);
  });
});

const starter = `
  import { listenUnix } from ${JSON.stringify(new URL('../../../src/transports/unix_socket.ts', import.meta.url).href)};
  import process from 'node:process';
  process.stdin.once('data', async () => {
    try {
      await listenUnix({ file: process.argv.at(-1), mode: 0o600, accept: (socket) => socket.on('error', () => {}).end(String(process.pid)) });
      process.stdout.write('won\\n');
    } catch (error) {
      process.stdout.write(error.message + '\\n');
    }
  });
  process.stdout.write('ready\\n');
`;

test('of many that start at once over a stale socket exactly one wins, and it serves', async () => {
  await withFolder(async (folder) => {
    const file = path.join(folder, 's');
    const script = path.join(folder, 'starter.mjs');
    writeFileSync(script, starter);
    const deno = 'deno' in process.versions;
    const children = Array.from({ length: 4 }, () => {
      const line = deno ? ['run', '-A', '--no-check', '--quiet', script, file] : [script, file];
      const child = spawn(process.execPath, line, {
        stdio: ['pipe', 'pipe', 'inherit'],
        cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      });
      const said = { text: '' };
      child.stdout.on('data', (chunk) => said.text += chunk);
      return { child, said };
    });
    try {
      await until(() => children.every(({ said }) => said.text.includes('ready\n')), 'all are ready');
      await leaveStale(file);
      for (const { child } of children) child.stdin.write('go\n');
      await until(() => children.every(({ said }) => said.text.split('\n').length > 2), 'all have an outcome');
      const outcomes = children.map(({ said }) => said.text.split('\n')[1]!);
      const winners = children.filter((_, i) => outcomes[i] === 'won');
      assert.equal(winners.length, 1, outcomes.join('\n'));
      for (const outcome of outcomes) {
        assert.ok(outcome === 'won' || outcome.startsWith(`Cannot listen at ${file}: `), outcome);
      }
      assert.equal(await greeting(file), String(winners[0]!.child.pid));
    } finally {
      for (const { child } of children) {
        child.kill('SIGKILL');
        child.stdin.destroy();
      }
    }
  });
});

test('a daemon in one process may serve at several places', async () => {
  await withFolder(async (folder) => {
    const files = ['a', 'b', 'c'].map((name) => path.join(folder, name));
    const listeners = await Promise.all(files.map((file) => listen(file)));
    for (const file of files) assert.equal(await greeting(file), 'hi');
    for (const listener of listeners) await listener.close();
  });
});
