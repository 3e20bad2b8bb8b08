// Faults of the host round a daemon: the reader of its log goes away, writing its modules fails.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '../../src/client/client.ts';
import { stripModules } from '../../src/runtime/stripped_modules.ts';
import { commandFor, until } from '../helpers/daemon.ts';

let folder: string;

before(() => void (folder = mkdtempSync(path.join(tmpdir(), 'rw-'))));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a daemon whose log nobody reads any more serves on', { timeout: 60_000 }, async () => {
  const socket = path.join(folder, 's', 'rw.sock');
  const [executable, line] = commandFor('serve', '--socket', socket, '--state', path.join(folder, 'state'));
  const daemon = spawn(executable, line, {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  let ended = false;
  daemon.stderr.on('data', (chunk) => log += chunk);
  daemon.once('exit', () => ended = true);
  await until(() => log.includes('listening'), 'the daemon listens', () => log);
  daemon.stderr.destroy();
  try {
    const outputs: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      await using client = await Client.connect({ socket, agent: 'x' });
      outputs.push((await client.runCode('print(1)')).output);
    }
    assert.deepEqual(outputs, ['1\n', '1\n', '1\n']);
  } finally {
    daemon.kill('SIGTERM');
    await until(() => ended, 'the daemon ends');
  }
});

test('modules that cannot be written leave nothing behind', () => {
  const cache = path.join(folder, 'cache');
  const entry = new URL('../../src/child/main.ts', import.meta.url);
  // A file where the modules need a folder: writing fails in the middle, as on a full disk.
  const files = { child: fileURLToPath(import.meta.url) };
  assert.throws(() => stripModules({ entry, files, cache }));
  assert.deepEqual(readdirSync(cache), []);
});
