// list_files: order, pages, globs, hidden names, and what `complete` says of a scan.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { openPlace, type Place } from '../../../src/tools/providers/workspace/confined_files.ts';
import { listFilesTool } from '../../../src/tools/providers/workspace/list_files.ts';
import { type Omissions, omissionSentences } from '../../../src/tools/providers/workspace/omissions.ts';
import { walk } from '../../../src/tools/providers/workspace/walk.ts';

let root = '';
const signal = new AbortController().signal;

before(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'list-files-')));
});

after(() => rm(root, { recursive: true }));

/** A workspace of its own with these files, each empty. */
async function workspace(name: string, files: readonly string[]): Promise<string> {
  const folder = join(root, name);
  await mkdir(folder, { recursive: true });
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), '');
  }
  return folder;
}

async function list(folder: string, args: Record<string, unknown> = {}, maxBytes = 1 << 20) {
  const answer = await listFilesTool.call(args, { root: folder, signal, maxBytes });
  assert.ok(answer.ok, answer.ok ? '' : answer.message);
  return answer as typeof answer & { structured: { files: string[]; next_offset: number | null; omitted: string[] } };
}

test('files come in the order of their whole paths, one a line, without their folders', async () => {
  const folder = await workspace('order', ['b.txt', 'a/z', 'a.b', 'a/b/c', 'B', 'é', 'a-b']);
  await mkdir(join(folder, 'empty'));
  const { content, structured, complete } = await list(folder);
  const files = ['B', 'a-b', 'a.b', 'a/b/c', 'a/z', 'b.txt', 'é'];
  assert.equal(content, files.join('\n'));
  assert.deepEqual(structured, { files, complete: true, next_offset: null, has_more: false, omitted: [] });
  assert.equal(complete, true);
  assert.deepEqual(files, [...files].sort());
});

test('paths are relative to the workspace also below a folder, and its pattern to the folder', async () => {
  const folder = await workspace('below', ['src/a.ts', 'src/x/b.ts', 'c.ts']);
  assert.equal((await list(folder, { path: 'src' })).content, 'src/a.ts\nsrc/x/b.ts');
  assert.equal((await list(folder, { path: 'src', pattern: 'x/*.ts' })).content, 'src/x/b.ts');
  assert.equal((await list(folder, { path: join(folder, 'src'), pattern: '*.ts' })).content, 'src/a.ts\nsrc/x/b.ts');
});

test('names that begin with a dot are listed when asked for, .git only when named', async () => {
  const folder = await workspace('hidden', ['.env', '.github/x', '.git/config', 'sub/.git/config', 'a']);
  assert.deepEqual((await list(folder)).structured.files, ['a']);
  assert.deepEqual((await list(folder, { hidden: true })).structured.files, ['.env', '.github/x', 'a']);
  assert.deepEqual((await list(folder, { path: '.git' })).structured.files, ['.git/config']);
});

test('pages joined by next_offset are the whole listing, and only the last may be complete', async () => {
  const folder = await workspace('pages', Array.from({ length: 25 }, (_, index) => `d${index % 5}/f${index}`));
  const whole = (await list(folder)).structured.files;
  for (const [limit, maxBytes] of [[10, 1 << 20], [1000, 512 + 60]] as const) {
    const joined: string[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const { structured, complete, content } = await list(folder, { limit, offset }, maxBytes);
      assert.ok(structured.files.length > 0 && content.length <= maxBytes - 512);
      joined.push(...structured.files);
      offset = structured.next_offset;
      assert.equal(complete, offset === null);
      assert.equal(structured['has_more'], offset !== null);
    }
    assert.deepEqual(joined, whole);
  }
  assert.deepEqual((await list(folder, { limit: 25 })).structured.next_offset, null);
  assert.deepEqual((await list(folder, { offset: 25 })).structured, {
    files: [],
    complete: true,
    next_offset: null,
    has_more: false,
    omitted: [],
  });
});

test('a path that fits on no page is left out and told, and the pages go on', async () => {
  const folder = await workspace('large', ['a', 'x'.repeat(200), 'z']);
  const { structured, complete } = await list(folder, {}, 512 + 100);
  assert.deepEqual(structured.files, ['a']);
  const rest = await list(folder, { offset: structured.next_offset }, 512 + 100);
  assert.deepEqual(rest.structured.files, ['z']);
  assert.deepEqual(rest.structured.omitted, ['1 entry larger than the largest result left out']);
  assert.deepEqual([complete, rest.complete], [false, false]);
});

test('symbolic links are listed and never followed, so that a loop ends', async () => {
  const folder = await workspace('links', ['d/f']);
  await symlink('..', join(folder, 'd/loop'));
  await symlink('/', join(folder, 'out'));
  await symlink('nowhere', join(folder, 'dangling'));
  assert.deepEqual((await list(folder)).structured.files, ['d/f', 'd/loop', 'dangling', 'out'].sort());
  assert.deepEqual((await list(folder, { path: 'd/loop/d' })).structured.files, ['d/f', 'd/loop']);
});

test('a name with a line break is one line of the text and itself in the data', async () => {
  const folder = await workspace('breaks', ['a\n/etc/passwd', '"q', 'tab\t']);
  const { content, structured } = await list(folder);
  assert.deepEqual(structured.files, ['"q', 'a\n/etc/passwd', 'tab\t']);
  assert.equal(content, '"\\"q"\n"a\\n/etc/passwd"\n"tab\\t"');
});

test('a name that is not UTF-8 is left out and told', async () => {
  const folder = await workspace('bytes', ['a', 'caf\ufffd']);
  const { structured, complete } = await list(folder);
  assert.deepEqual(structured.files, ['a']);
  assert.deepEqual(structured.omitted, ['1 name that is not valid UTF-8 left out']);
  assert.equal(complete, false);
});

test('a scan that reaches its bound says so although no page follows', async () => {
  const folder = await workspace('bound', ['a', 'b', 'c/d', 'c/e']);
  const omissions: Omissions = new Map();
  const start = await openPlace({ root: folder, path: '', verb: 'list', links: true }) as Place;
  const found: string[] = [];
  for await (const { path } of walk({ root: folder, start, hidden: false, signal, omissions, entries: 4 })) {
    found.push(path);
  }
  assert.equal(found.length, 3);
  assert.deepEqual(omissionSentences(omissions), ['the scan stopped after 200000 entries']);
});

test('folders deeper than the bound are told', async () => {
  const folder = await workspace('deep', [`${'d/'.repeat(70)}f`, 'a']);
  const { structured, complete } = await list(folder);
  assert.deepEqual(structured.files, ['a']);
  assert.deepEqual(structured.omitted, ['1 folder deeper than 64 left out']);
  assert.equal(complete, false);
});

test('what vanishes during a scan was never there', async () => {
  const folder = await workspace('vanishing', ['a/x', 'b/y', 'c/z']);
  const omissions: Omissions = new Map();
  const start = await openPlace({ root: folder, path: '', verb: 'list', links: true }) as Place;
  const found: string[] = [];
  for await (const { path } of walk({ root: folder, start, hidden: false, signal, omissions })) {
    found.push(path);
    await rm(join(folder, 'b'), { recursive: true, force: true });
  }
  assert.deepEqual([found, omissionSentences(omissions)], [['a/x', 'c/z'], []]);
});

test('what cannot be listed is refused with the reason', async () => {
  const folder = await workspace('refused', ['f']);
  const table: [Record<string, unknown>, string][] = [
    [{ path: 'f' }, 'Cannot list f: it must be a folder, and it is a file; read_file reads files'],
    [{ path: 'x' }, `Cannot list x: there is no such file or folder (in the workspace ${folder})`],
    [{ path: '..' }, `Cannot list ..: it lies outside the workspace ${folder}; paths are relative to the workspace`],
    [{ pattern: '[a' }, 'Cannot match files by "[a": the [ at character 1 has no closing ]'],
    [{ pattern: new Uint8Array([0xff]) }, 'Cannot match files: a glob must be valid UTF-8, and these bytes are not'],
  ];
  for (const [args, message] of table) {
    assert.deepEqual(await listFilesTool.call(args, { root: folder, signal, maxBytes: 1 << 20 }), {
      ok: false,
      message,
    });
  }
});
