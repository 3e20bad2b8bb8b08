// search_files: what matches, how it is shown, pages, context, long and foreign lines, and `complete`.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Match } from '../../../src/tools/providers/workspace/search_page.ts';
import { searchFilesTool } from '../../../src/tools/providers/workspace/search_files.ts';

let root = '';
const signal = new AbortController().signal;

before(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'search-files-')));
});

after(() => rm(root, { recursive: true }));

async function workspace(name: string, files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = join(root, name);
  for (const [file, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), content);
  }
  return folder;
}

async function search(folder: string, args: Record<string, unknown>, maxBytes = 1 << 20) {
  const answer = await searchFilesTool.call(args, { root: folder, signal, maxBytes });
  assert.ok(answer.ok, answer.ok ? '' : answer.message);
  return answer as typeof answer & {
    structured: { matches: Match[]; files: string[]; next_offset: number | null; omitted: string[] };
  };
}

test('matches come by path and line, as text and as data', async () => {
  const folder = await workspace('basic', {
    'b.txt': 'one\ntwo mlua\n',
    'a/x.rs': 'use mlua;\r\n\nmlua mlua\n',
    'c': 'no',
  });
  const { content, structured, complete } = await search(folder, { pattern: 'mlua' });
  assert.equal(content, 'a/x.rs:1: use mlua;\na/x.rs:3: mlua mlua\nb.txt:2: two mlua');
  assert.deepEqual(structured, {
    matches: [
      { path: 'a/x.rs', line: 1, text: 'use mlua;' },
      { path: 'a/x.rs', line: 3, text: 'mlua mlua' },
      { path: 'b.txt', line: 2, text: 'two mlua' },
    ],
    files: ['a/x.rs', 'b.txt'],
    searched_files: 3,
    binary_files: 0,
    complete: true,
    next_offset: null,
    has_more: false,
    omitted: [],
  });
  assert.equal(complete, true);
});

test('a word and the same word as a pattern find the same lines in a file of several pieces', async () => {
  const lines = Array.from({ length: 60_000 }, (_, index) => index % 7919 === 0 ? `needle ${index}` : `hay é ${index}`);
  const folder = await workspace('pieces', { f: lines.join('\n') });
  const word = await search(folder, { pattern: 'needle' });
  const pattern = await search(folder, { pattern: '(?:needle)' });
  assert.deepEqual(word.structured.matches.map(({ line }) => line), [0, 1, 2, 3, 4, 5, 6, 7].map((n) => n * 7919 + 1));
  assert.deepEqual(word.structured, pattern.structured);
  assert.equal(word.content, pattern.content);
});

test('patterns, plain text, case, anchors and globs choose lines and files', async () => {
  const folder = await workspace('choices', {
    'a.ts': 'Foo(bar)\nfoo[1]\n  end\r\n',
    'b.js': 'Foo(bar)\n',
    '.hidden': 'Foo(bar)\n',
    'src/c.ts': 'STRASSE\n',
  });
  const table: [Record<string, unknown>, string[]][] = [
    [{ pattern: 'F.o\\(' }, ['a.ts:1', 'b.js:1']],
    [{ pattern: 'o[1]', literal: true }, ['a.ts:2']],
    [{ pattern: 'o[1]', literal: true, glob: '*.js' }, []],
    [{ pattern: 'FOO', ignore_case: true, glob: '*.ts' }, ['a.ts:1', 'a.ts:2']],
    [{ pattern: 'FOO[', ignore_case: true, literal: true }, ['a.ts:2']],
    [{ pattern: '^\\s+end$' }, ['a.ts:3']],
    [{ pattern: 'Foo', hidden: true, glob: '.*' }, ['.hidden:1']],
    [{ pattern: Buffer.from('STR'), path: 'src' }, ['src/c.ts:1']],
    [{ pattern: 'STR', path: 'src', glob: 'c.*' }, ['src/c.ts:1']],
    [{ pattern: 'bar', path: 'a.ts' }, ['a.ts:1']],
  ];
  for (const [args, found] of table) {
    const { structured, complete } = await search(folder, args);
    assert.deepEqual(structured.matches.map(({ path, line }) => `${path}:${line}`), found);
    assert.equal(complete, true);
  }
});

test('context shows each line once, and the data gives it to each match', async () => {
  const folder = await workspace('context', { f: 'a\nhit 1\nb\nhit 2\nc\nd\ne\nhit 3\n', g: 'x\nhit 4' });
  const { content, structured } = await search(folder, { pattern: 'hit', context: 1 });
  assert.equal(
    content,
    'f-1- a\nf:2: hit 1\nf-3- b\nf:4: hit 2\nf-5- c\n--\nf-7- e\nf:8: hit 3\n--\ng-1- x\ng:2: hit 4',
  );
  assert.deepEqual(structured.matches.map(({ before, after }) => [before, after]), [
    [['a'], ['b']],
    [['b'], ['c']],
    [['e'], []],
    [['x'], []],
  ]);
  const first = await search(folder, { pattern: 'hit', context: 2, limit: 1 });
  assert.deepEqual(first.structured.matches, [{
    path: 'f',
    line: 2,
    text: 'hit 1',
    before: ['a'],
    after: ['b', 'hit 2'],
  }]);
  assert.equal(first.structured.next_offset, 1);
});

test('pages joined by next_offset are the whole result, by count and by room', async () => {
  const file = Array.from({ length: 40 }, (_, index) => `match ${index}`).join('\n');
  const folder = await workspace('pages', { a: file, b: file });
  const whole = (await search(folder, { pattern: 'match' })).structured.matches;
  assert.equal(whole.length, 80);
  for (const pattern of ['match', 'm.tch']) {
    for (const [limit, maxBytes] of [[7, 1 << 20], [1000, 2000]] as const) {
      const joined: Match[] = [];
      for (let offset: number | null = 0; offset !== null;) {
        const { structured, complete, content } = await search(folder, { pattern, limit, offset }, maxBytes);
        assert.ok(structured.matches.length > 0 && content.length <= maxBytes);
        joined.push(...structured.matches);
        offset = structured.next_offset;
        assert.equal(complete, offset === null);
      }
      assert.deepEqual(joined, whole);
    }
  }
});

test('a long line is cut, marked and told, and a plain word is found beyond the cut', async () => {
  const folder = await workspace('long', { f: `${'x'.repeat(50_000)} end\nshort end\n` });
  const { content, structured, complete } = await search(folder, { pattern: 'end' });
  const [first, second] = structured.matches;
  assert.deepEqual(first, { path: 'f', line: 1, text: 'x'.repeat(1000), cut: true });
  assert.deepEqual(second, { path: 'f', line: 2, text: 'short end' });
  assert.equal(content, `f:1: ${'x'.repeat(1000)} [cut: 1000 of 50004 characters]\nf:2: short end`);
  assert.deepEqual(structured.omitted, ['the text of 1 line cut to 1000 characters']);
  assert.equal(complete, false);
  const pattern = await search(folder, { pattern: 'e.d' });
  assert.deepEqual(pattern.structured.matches, [second]);
  assert.deepEqual(pattern.structured.omitted, ['1 line searched only at the beginning']);
  assert.equal((await search(folder, { pattern: 'END', ignore_case: true })).structured.matches.length, 2);
});

test('a line of several MiB is searched at its beginning, and the lines after it keep their numbers', async () => {
  const folder = await workspace('giant', { f: `needle${'é'.repeat(1_500_000)}needle\nx\nneedle\n` });
  for (const pattern of ['needle', 'n[e]edle']) {
    const { structured, complete } = await search(folder, { pattern });
    assert.deepEqual(structured.matches.map(({ line, cut }) => [line, cut]), [[1, true], [3, undefined]]);
    assert.equal(complete, false);
  }
});

test('binary files are passed over and counted, and one named itself is refused', async () => {
  const folder = await workspace('binary', { 'a.bin': 'needle\0', 'b.txt': 'needle' });
  const { structured, complete } = await search(folder, { pattern: 'needle' });
  assert.deepEqual([structured.files, structured['binary_files'], complete], [['b.txt'], 1, true]);
  assert.deepEqual(
    await searchFilesTool.call({ pattern: 'x', path: 'a.bin' }, { root: folder, signal, maxBytes: 4096 }),
    {
      ok: false,
      message: 'Cannot search a.bin: it must be text, and it has a NUL in its first 8192 bytes',
    },
  );
});

test('a line that is not UTF-8 is found and comes as its bytes', async () => {
  const latin = Buffer.from('caf\xe9 needle\nplain needle é\n', 'latin1');
  const folder = await workspace('latin', { f: Buffer.concat([latin, Buffer.from('é needle\n')]) });
  const { content, structured } = await search(folder, { pattern: 'needle' });
  const [first, , third] = structured.matches;
  assert.deepEqual(Buffer.from(first!.text as Uint8Array).toString('latin1'), 'caf\xe9 needle');
  assert.equal(third!.text, 'é needle');
  assert.ok(content instanceof Uint8Array);
  assert.ok(Buffer.from(content).toString('latin1').startsWith('f:1: caf\xe9 needle\nf:2: plain needle \xe9\n'));
});

test('symbolic links are passed over, so that nothing is found twice or outside', async () => {
  const folder = await workspace('links', { 'd/f': 'needle' });
  await symlink('d', join(folder, 'e'));
  await symlink('d/f', join(folder, 'g'));
  await symlink('.', join(folder, 'd/loop'));
  const { structured, complete } = await search(folder, { pattern: 'needle' });
  assert.deepEqual([structured.files, complete], [['d/f'], true]);
  assert.deepEqual((await search(folder, { pattern: 'needle', path: 'g' })).structured.files, ['d/f']);
});

test('what cannot be searched is refused with the reason', async () => {
  const folder = await workspace('refused', { f: '' });
  const table: [Record<string, unknown>, string][] = [
    [
      { pattern: '(' },
      'Cannot search for "(": the pattern must be a regular expression in RE2 syntax, but has missing closing ): "("',
    ],
    [
      { pattern: 'a\nb' },
      'Cannot search for "a\\nb": a pattern is matched line by line and must not contain a line break or NUL',
    ],
    [{ pattern: 'x', path: 'no' }, `Cannot search no: there is no such file or folder (in the workspace ${folder})`],
    [
      { pattern: 'x', path: '../..' },
      `Cannot search ../..: it lies outside the workspace ${folder}; paths are relative to the workspace`,
    ],
    [{ pattern: 'x', glob: '{a' }, 'Cannot match files by "{a": a { has no closing }'],
    [{ pattern: new Uint8Array([0xff]) }, 'Cannot search: a pattern must be valid UTF-8, and these bytes are not'],
  ];
  for (const [args, message] of table) {
    assert.deepEqual(await searchFilesTool.call(args, { root: folder, signal, maxBytes: 4096 }), {
      ok: false,
      message,
    });
  }
});
