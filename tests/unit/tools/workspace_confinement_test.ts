// Attacks on the confinement of the workspace tools: each shows first that it works without the guard,
// then that no tool reads, lists or tells anything outside the root. Linux, as the guard is.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isRefusal } from '../../../src/tools/providers/workspace/arguments.ts';
import { explain, openFile, openPlace } from '../../../src/tools/providers/workspace/confined_files.ts';
import { workspaceTools } from '../../../src/tools/providers/workspace/workspace_tools.ts';

const secret = 'the secret of another';
let base = '';
let root = '';
const never = new AbortController().signal;

before(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'confined-')));
  root = join(base, 'root');
  await mkdir(join(root, 'inner'), { recursive: true });
  await mkdir(join(base, 'outer'));
  await mkdir(join(base, 'root-beside'));
  await writeFile(join(base, 'outer/file'), secret);
  await writeFile(join(base, 'root-beside/file'), secret);
  await writeFile(join(root, 'inner/file'), 'what is allowed');
});

after(() => rm(base, { recursive: true }));

async function call(name: string, args: Record<string, unknown>, signal = never, where = root) {
  const tool = workspaceTools.find((each) => each.name === name)!;
  return await tool.call(args, { root: where, signal, maxBytes: 1 << 20 });
}

function outsideMessage(verb: string, path: string): string {
  return `Cannot ${verb} ${path}: it lies outside the workspace ${root}; paths are relative to the workspace`;
}

test('paths that lead out by their letters are refused before anything is touched', async () => {
  assert.equal(await readFile(join(root, '../outer/file'), 'utf8'), secret);
  for (
    const path of [
      '../outer/file',
      'inner/../../outer/file',
      `${base}/outer/file`,
      '../root-beside/file',
      '/etc/passwd',
      '/proc/self/environ',
      '..',
    ]
  ) {
    assert.deepEqual(await call('read_file', { path }), { ok: false, message: outsideMessage('read', path) });
    assert.deepEqual(await call('list_files', { path }), { ok: false, message: outsideMessage('list', path) });
    const search = await call('search_files', { path, pattern: 'secret' });
    assert.deepEqual(search, { ok: false, message: outsideMessage('search', path) });
  }
});

test('symbolic links out of the root are refused alike, whether or not there is something behind them', async () => {
  const passing = await open(join(base, 'outer/file'));
  const links: Record<string, string> = {
    'absolute': join(base, 'outer'),
    'relative': '../outer',
    'chain': 'relative',
    'climbing': 'inner/../../outer',
    'proc-root': `/proc/self/root${base}/outer`,
  };
  try {
    for (const [name, target] of Object.entries(links)) {
      await symlink(target, join(root, name));
      assert.equal(await readFile(join(root, name, 'file'), 'utf8'), secret);
      for (const path of [`${name}/file`, `${name}/no-such-file`, name]) {
        assert.deepEqual(await call('read_file', { path }), { ok: false, message: outsideMessage('read', path) });
        assert.deepEqual(await call('list_files', { path }), { ok: false, message: outsideMessage('list', path) });
        const search = await call('search_files', { path, pattern: 'secret' });
        assert.deepEqual(search, { ok: false, message: outsideMessage('search', path) });
      }
    }
    await symlink(`/proc/self/fd/${passing.fd}`, join(root, 'descriptor'));
    assert.equal(await readFile(join(root, 'descriptor'), 'utf8'), secret);
    assert.deepEqual(await call('read_file', { path: 'descriptor' }), {
      ok: false,
      message: outsideMessage('read', 'descriptor'),
    });
    const all = await call('search_files', { pattern: 'secret|allowed' });
    assert.ok(all.ok && all.content === 'inner/file:1: what is allowed');
  } finally {
    await passing.close();
    for (const name of [...Object.keys(links), 'descriptor']) await rm(join(root, name), { force: true });
  }
});

test('symbolic links that stay inside are followed, also absolute ones, and loops end', async () => {
  await symlink(join(root, 'inner'), join(root, 'good'));
  await symlink('loop', join(root, 'loop'));
  const read = await call('read_file', { path: 'good/file' });
  assert.ok(read.ok && read.content === 'what is allowed');
  const list = await call('list_files', { path: 'good' });
  assert.ok(list.ok && list.content === 'inner/file');
  assert.deepEqual(await call('read_file', { path: 'loop' }), {
    ok: false,
    message: `Cannot read loop: it goes through too many symbolic links (in the workspace ${root})`,
  });
});

test('a walk takes no link in a path that it found without one, even where the link stays inside', async () => {
  const request = { root, verb: 'list' } as const;
  const followed = await openPlace({ ...request, path: 'good/file', links: true });
  assert.ok(!isRefusal(followed));
  await followed.handle.close();
  assert.deepEqual(await openPlace({ ...request, path: 'good/file', links: false }), {
    refused: outsideMessage('list', 'good/file'),
  });
});

test('a folder swapped between a check and the opening gets past a check of paths, and not past the tools', async () => {
  const victim = join(root, 'victim');
  await mkdir(victim);
  await writeFile(join(victim, 'file'), 'harmless');
  // Without the guard: the path is checked, then the folder is swapped, then the path is read.
  const checked = await realpath(join(victim, 'file'));
  assert.ok(checked.startsWith(`${root}/`));
  await rename(victim, join(root, 'aside'));
  await symlink('../outer', victim);
  assert.equal(await readFile(checked, 'utf8'), secret);
  await rename(victim, join(base, 'link'));
  await rename(join(root, 'aside'), victim);

  let done = false;
  let swaps = 0;
  const swapping = (async () => {
    for (; !done; swaps++) {
      await rename(victim, join(base, 'aside'));
      await rename(join(base, 'link'), victim);
      await rename(victim, join(base, 'link'));
      await rename(join(base, 'aside'), victim);
    }
  })();
  const seen = { harmless: 0, refused: 0 };
  try {
    for (let round = 0; round < 400; round++) {
      const answers = await Promise.all([
        call('read_file', { path: 'victim/file' }),
        call('search_files', { pattern: 'secret|harmless', path: 'victim' }),
        call('search_files', { pattern: 'secret' }),
        call('list_files', { path: 'victim' }),
      ]);
      for (const answer of answers) {
        assert.ok(!JSON.stringify(answer).includes(secret), `round ${round}: ${JSON.stringify(answer)}`);
        if (answer.ok) seen.harmless++;
        else seen.refused++;
      }
    }
  } finally {
    done = true;
    await swapping;
  }
  assert.ok(swaps > 10 && seen.harmless > 0, JSON.stringify({ swaps, ...seen }));
});

test('a listing of a swapped folder never shows the names of another', async () => {
  await mkdir(join(base, 'others/deep'), { recursive: true });
  await writeFile(join(base, 'others/deep/private-name'), '');
  await mkdir(join(root, 'names/deep'), { recursive: true });
  await writeFile(join(root, 'names/deep/public-name'), '');
  await symlink('../others', join(base, 'names-link'));
  await rename(join(base, 'names-link'), join(root, 'names-link'));
  assert.deepEqual(await readdir(join(root, 'names-link/deep')), ['private-name']);
  let done = false;
  const swapping = (async () => {
    while (!done) {
      await rename(join(root, 'names'), join(root, 'names-aside'));
      await rename(join(root, 'names-link'), join(root, 'names'));
      await rename(join(root, 'names'), join(root, 'names-link'));
      await rename(join(root, 'names-aside'), join(root, 'names'));
    }
  })();
  try {
    for (let round = 0; round < 400; round++) {
      const answer = await call('list_files', round % 2 === 0 ? {} : { path: 'names/deep' });
      assert.ok(!JSON.stringify(answer).includes('private-name'));
    }
  } finally {
    done = true;
    await swapping;
  }
});

test('a FIFO holds up whoever opens it, and the tools refuse it at once', async () => {
  const fifo = join(root, 'fifo');
  execFileSync('mkfifo', [fifo]);
  let opened = false;
  const waiting = open(fifo, constants.O_RDONLY).then((handle) => {
    opened = true;
    return handle;
  });
  const message = 'it must be a regular file, and it is a FIFO, socket or device';
  assert.deepEqual(await call('read_file', { path: 'fifo' }), { ok: false, message: `Cannot read fifo: ${message}` });
  assert.deepEqual(await call('search_files', { path: 'fifo', pattern: 'x' }), {
    ok: false,
    message: `Cannot search fifo: ${message}`,
  });
  assert.deepEqual(await call('list_files', { path: 'fifo' }), {
    ok: false,
    message: 'Cannot list fifo: it must be a folder, and it is a FIFO, socket or device',
  });
  const list = await call('list_files', {});
  assert.ok(list.ok && !(list.content as string).includes('fifo'));
  assert.equal(opened, false);
  const writer = await open(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  await (await waiting).close();
  await writer.close();
});

test('a device gives bytes without end, and the tools refuse it', async () => {
  const zero = await open('/dev/zero');
  assert.equal((await zero.read(Buffer.alloc(10), 0, 10, null)).bytesRead, 10);
  await zero.close();
  assert.deepEqual(await call('read_file', { path: 'zero' }, never, '/dev'), {
    ok: false,
    message: 'Cannot read zero: it must be a regular file, and it is a FIFO, socket or device',
  });
});

test('the root of the file system can be a workspace', async () => {
  const answer = await call('read_file', { path: `${root.slice(1)}/inner/file` }, never, '/');
  assert.ok(answer.ok && answer.content === 'what is allowed');
});

test('without /proc links out, FIFOs and swapped files are refused as well', async () => {
  await symlink('../outer', join(root, 'way-out'));
  const ask = (path: string, links = true) => openFile({ root, path, verb: 'read', links, proc: false });
  const good = await ask('inner/file');
  assert.ok(!isRefusal(good));
  assert.equal(await good.handle.readFile('utf8'), 'what is allowed');
  await good.handle.close();
  assert.deepEqual(await ask('way-out/file'), { refused: outsideMessage('read', 'way-out/file') });
  assert.deepEqual(await ask('way-out/none'), { refused: outsideMessage('read', 'way-out/none') });
  assert.deepEqual(await ask('good/file', false), { refused: outsideMessage('read', 'good/file') });
  assert.deepEqual(await ask('fifo'), {
    refused: 'Cannot read fifo: it must be a regular file, and it is a FIFO, socket or device',
  });
  const folder = await openPlace({ root, path: 'inner', verb: 'list', links: true, proc: false });
  assert.ok(!isRefusal(folder) && folder.kind === 'folder');
  await folder.handle.close();
  await rm(join(root, 'way-out'));
});

test('errors of the operating system become sentences, those of the daemon are thrown', async () => {
  const request = { root, path: 'inner/file', verb: 'read', links: true } as const;
  const failed = (code: string) => Object.assign(new Error(code), { code });
  assert.deepEqual(await explain(failed('EACCES'), request), {
    refused: `Cannot read inner/file: the operating system denies permission (in the workspace ${root})`,
    code: 'EACCES',
  });
  assert.deepEqual(await explain(failed('EIO'), request), {
    refused: `Cannot read inner/file: the operating system reports EIO (in the workspace ${root})`,
    code: 'EIO',
  });
  await assert.rejects(explain(failed('EMFILE'), request), { code: 'EMFILE' });
  await assert.rejects(explain(new TypeError('a bug'), request), TypeError);
});

test('no call leaves a descriptor open, however it ends', async () => {
  await writeFile(join(root, 'large'), 'line\n'.repeat(200_000));
  const one = async () => {
    const aborting = new AbortController();
    const aborted = [
      call('search_files', { pattern: 'l[i]ne', offset: 1_000_000 }, aborting.signal),
      call('read_file', { path: 'large', start_line: 190_000 }, aborting.signal),
      call('list_files', {}, aborting.signal),
    ];
    const others = [
      call('read_file', { path: 'inner/file' }),
      call('read_file', { path: 'inner' }),
      call('read_file', { path: 'nothing' }),
      call('search_files', { pattern: 'line', limit: 1 }),
      call('search_files', { pattern: 'allowed', path: 'inner/file' }),
      call('list_files', { limit: 1 }),
    ];
    setImmediate(() => aborting.abort(new Error('enough')));
    await Promise.all([Promise.allSettled(aborted), ...others]);
  };
  await one();
  const before = await descriptors();
  for (let round = 0; round < 30; round++) await one();
  assert.deepEqual(await descriptors(), before);
});

/** What of the workspace this process has open. */
async function descriptors(): Promise<string[]> {
  const all = await Promise.all(
    (await readdir('/proc/self/fd')).map((each) => readlink(`/proc/self/fd/${each}`).catch(() => '')),
  );
  return all.filter((each) => each.startsWith(base));
}
