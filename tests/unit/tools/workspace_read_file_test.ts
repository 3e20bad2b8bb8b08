// read_file: exact bytes, selectors, limits and what `complete` and `next_line` say of them.

import assert from 'node:assert/strict';
import { appendFile, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readFileTool } from '../../../src/tools/providers/workspace/read_file.ts';

let root = '';

before(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'read-file-')));
});

after(() => rm(root, { recursive: true }));

/** What read_file answers; `maxBytes` is the room for text, without the envelope. */
async function read(args: Record<string, unknown>, room = 1_000_000) {
  const signal = new AbortController().signal;
  const path = Buffer.byteLength(String(args['path']));
  return await readFileTool.call(args, { root, signal, maxBytes: room + 512 + path });
}

async function readOk(args: Record<string, unknown>, room?: number) {
  const answer = await read(args, room);
  assert.ok(answer.ok, answer.ok ? '' : answer.message);
  return answer;
}

test('a text file comes exactly as it is, with byte order mark, carriage returns, NUL and no last line break', async () => {
  const text = '\ufefffirst\r\n\0second\u{1f600}\n\nlast';
  await writeFile(join(root, 'exact.txt'), text);
  const answer = await readOk({ path: './exact.txt' });
  assert.equal(answer.content, text);
  assert.equal(answer.complete, true);
  assert.deepEqual(answer.structured, {
    files: [{
      path: 'exact.txt',
      text,
      encoding: 'utf-8',
      complete: true,
      size: Buffer.byteLength(text),
      start_line: 1,
      line_count: 4,
      total_lines: 4,
    }],
    complete: true,
    next_line: null,
  });
});

test('a file that is not UTF-8 comes as its bytes and says so', async () => {
  const bytes = new Uint8Array([0xff, 0xfe, 0, 10, 0xe9]);
  await writeFile(join(root, 'latin'), bytes);
  const { content, structured, complete } = await readOk({ path: 'latin' });
  assert.deepEqual(Uint8Array.from(content as Uint8Array), bytes);
  const [file] = structured['files'] as { encoding: string; text: Uint8Array; line_count: number }[];
  assert.equal(file!.encoding, 'bytes');
  assert.equal(file!.line_count, 2);
  assert.equal(complete, true);
});

test('an empty file is complete, has no lines, and a path may come as bytes', async () => {
  await writeFile(join(root, 'empty'), '');
  const { content, structured, complete } = await readOk({ path: Buffer.from('empty') });
  assert.equal(content, '');
  assert.equal(complete, true);
  assert.equal((structured['files'] as { total_lines: number }[])[0]!.total_lines, 0);
});

test('selectors give whole lines and say what they leave out', async () => {
  await writeFile(join(root, 'lines'), 'a\nb\nc\nd');
  const table: [Record<string, unknown>, string, boolean, number | null, number | null][] = [
    [{ line_count: 2 }, 'a\nb\n', false, 3, null],
    [{ start_line: 3 }, 'c\nd', false, null, 4],
    [{ start_line: 2, line_count: 2 }, 'b\nc\n', false, 4, null],
    [{ start_line: 4n, line_count: 1n }, 'd', false, null, 4],
    [{ start_line: 1, line_count: 4 }, 'a\nb\nc\nd', true, null, 4],
    [{ line_count: 99 }, 'a\nb\nc\nd', true, null, 4],
  ];
  for (const [args, text, complete, nextLine, total] of table) {
    const answer = await readOk({ path: 'lines', ...args });
    assert.equal(answer.content, text);
    assert.equal(answer.complete, complete);
    assert.equal(answer.structured['next_line'], nextLine);
    assert.equal((answer.structured['files'] as { total_lines: number | null }[])[0]!.total_lines, total);
  }
});

test('line_count that ends with the file is complete, whether or not the file ends in a line break', async () => {
  for (const text of ['a\nb\n', 'a\nb']) {
    await writeFile(join(root, 'ending'), text);
    const answer = await readOk({ path: 'ending', line_count: 2 });
    assert.deepEqual([answer.content, answer.complete, answer.structured['next_line']], [text, true, null]);
  }
});

test('a start beyond the end names the number of lines', async () => {
  await writeFile(join(root, 'three'), 'a\nb\nc\n');
  assert.deepEqual(await read({ path: 'three', start_line: 4 }), {
    ok: false,
    message: 'Cannot read three from line 4: start_line must be at most 3, the number of its lines',
  });
});

test('a limit cuts at a line break, and next_line goes on until the file is whole', async () => {
  const whole = Array.from({ length: 500 }, (_, index) => `line ${index} é\n`).join('');
  await writeFile(join(root, 'long'), whole);
  let text = '';
  let pages = 0;
  for (let line: number | null = 1; line !== null; pages++) {
    const answer = await readOk({ path: 'long', start_line: line }, 1000);
    assert.ok(Buffer.byteLength(answer.content as string) <= 1000);
    assert.ok((answer.content as string).endsWith('\n'));
    assert.equal(answer.complete, false);
    text += answer.content;
    line = answer.structured['next_line'] as number | null;
  }
  assert.equal(text, whole);
  assert.equal(pages, Math.ceil(Buffer.byteLength(whole) / 1000));
});

test('a file of just the room comes whole, one byte more is refused unless parts are asked for', async () => {
  await writeFile(join(root, 'fits'), 'x'.repeat(100));
  assert.equal((await readOk({ path: 'fits' }, 100)).complete, true);
  assert.deepEqual(await read({ path: 'fits' }, 99), {
    ok: false,
    message:
      'Cannot read fits whole: it has 100 bytes, and one result may have 99; read parts of it by start_line and line_count',
  });
  assert.equal((await readOk({ path: 'fits', start_line: 1 }, 99)).complete, false);
});

test('a line larger than the limit is cut between characters and has no next line', async () => {
  await writeFile(join(root, 'wide'), '\u{1f600}'.repeat(100));
  const answer = await readOk({ path: 'wide', start_line: 1 }, 41);
  assert.equal(answer.content, '\u{1f600}'.repeat(10));
  assert.deepEqual([answer.complete, answer.structured['next_line']], [false, null]);
});

test('a large file is decoded in parts without harm to its characters', async () => {
  const text = 'aé漢\u{1f600}\n'.repeat(200_000);
  await writeFile(join(root, 'large'), text);
  const answer = await readOk({ path: 'large' }, 16 << 20);
  assert.ok(answer.content === text);
  assert.equal(answer.complete, true);
});

test('a file that grows while it is read gives a beginning of what it became', async () => {
  const path = join(root, 'growing');
  await writeFile(path, 'x\n'.repeat(1 << 20));
  const reading = readOk({ path: 'growing' }, 16 << 20);
  const growing = (async () => {
    for (let round = 0; round < 50; round++) await appendFile(path, 'y\n'.repeat(100));
  })();
  const [answer] = await Promise.all([reading, growing]);
  const text = answer.content as string;
  assert.ok(/^(?:x\n)+(?:y\n)*$/.test(text) && text.length >= 2 << 20);
  assert.equal(answer.complete, answer.structured['next_line'] === null);
});

test('a file whose size is told as 0 is read to its end', async () => {
  const signal = new AbortController().signal;
  const answer = await readFileTool.call({ path: 'ostype' }, { root: '/proc/sys/kernel', signal, maxBytes: 4096 });
  assert.ok(answer.ok && answer.content === 'Linux\n' && answer.complete);
});

test('what is no file is refused with what it is', async () => {
  const table: [unknown, string][] = [
    ['.', 'Cannot read .: it must be a file, and it is a folder; list_files lists folders'],
    ['no/such', `Cannot read no/such: there is no such file or folder (in the workspace ${root})`],
    ['empty/x', `Cannot read empty/x: a part of the path before its end is no folder (in the workspace ${root})`],
    ['a\0b', 'Cannot read "a\\u0000b": a path must not contain a NUL character'],
    ['a\nb', `Cannot read "a\\nb": there is no such file or folder (in the workspace ${root})`],
    [new Uint8Array([0x61, 0xe9]), 'Cannot read a\ufffd: a path must be valid UTF-8, and these bytes are not'],
    [
      'n'.repeat(300),
      `Cannot read ${'n'.repeat(200)}: a name in it is longer than the file system allows (in the workspace ${root})`,
    ],
    ['n/'.repeat(2049), `Cannot read ${'n/'.repeat(100)}: a path must be at most 4096 bytes long, got 4098`],
  ];
  for (const [path, message] of table) assert.deepEqual(await read({ path }), { ok: false, message });
});
