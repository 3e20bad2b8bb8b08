// The documents against the source: what is made from tables is current, the protocol is named to the key,
// examples are the files that they show, links and names of files lead somewhere.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { amount, documents, fill, reservedCodes } from '../../docs/generate.ts';
import { requests } from '../../src/protocol/agent_messages.ts';
import { errorCodes } from '../../src/protocol/errors.ts';
import { limitNames } from '../../src/protocol/limits.ts';
import { encode } from '../../src/protocol/wire.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const pages = globSync(['*.md', 'docs/**/*.md', 'tests/*.md'], { cwd: root }).sort();
const protocol = read('docs/protocol.md');

/** The text under a heading, up to the next one of the same or a higher level. */
function section(document: string, heading: string): string {
  const level = /^#+/.exec(heading)![0].length;
  const from = document.indexOf(`\n${heading}\n`);
  assert.ok(from >= 0, `there must be a heading ${heading}`);
  const rest = document.slice(from + heading.length + 2);
  const next = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return next < 0 ? rest : rest.slice(0, next);
}

/** Every word that stands in backticks, `{a, b?: {c}}` taken apart. */
const named = (text: string): Set<string> =>
  new Set([...text.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code!.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []));

/** The keys of a schema: its own, and those of the tools in it. */
function keysOf(schema: z.ZodObject): { own: string[]; tool: string[] } {
  const { properties = {} } = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as {
    properties?: Record<string, { items?: { properties?: object } }>;
  };
  return { own: Object.keys(properties), tool: Object.keys(properties.tools?.items?.properties ?? {}) };
}

test('what is made from tables is current', () => {
  for (const { file, found, wanted } of documents()) assert.equal(found, wanted, `${file}: run npm run docs`);
});

test('a part that is not current is replaced, and a document without its place is refused', () => {
  const document = 'before\n<!-- made: x -->\n\nold\n\n<!-- end -->\nafter\n';
  assert.equal(fill(document, 'x', 'new'), 'before\n<!-- made: x -->\n\nnew\n\n<!-- end -->\nafter\n');
  assert.equal(fill(fill(document, 'x', 'new'), 'x', 'old'), document);
  assert.throws(() => fill(document, 'y', ''), /^Error: Cannot fill in "y": the document has no place for it$/);
});

test('amounts have the largest unit that keeps them whole', () => {
  const shown = [[65_536, 'bytes'], [1, 'bytes'], [1500, 'ms'], [3_600_000, 'ms'], [30_000, 'characters'], [
    null,
    'bytes',
  ]]
    .map(([value, unit]) => amount(value as number | null, unit as string));
  assert.deepEqual(shown, ['64 KiB', '1 byte', '1,500 ms', '3,600 s', '30,000', 'none']);
});

test('the protocol page names every request with every key, and no other request', () => {
  const asked = section(protocol, '## Requests of agents');
  const headings = [...asked.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name);
  assert.deepEqual(headings.sort(), Object.keys(requests).sort());
  for (const [name, schema] of Object.entries(requests)) {
    const words = named(section(protocol, `### \`${name}\``));
    const missing = keysOf(schema).own.filter((key) => !words.has(key));
    assert.deepEqual(missing, [], `keys of ${name} that docs/protocol.md does not name`);
  }
});

test('the protocol page names every key of a tool and every limit', () => {
  const tool = named(section(protocol, '### Tool'));
  for (const request of ['hello', 'set_tools'] as const) {
    const { tool: keys } = keysOf(requests[request]);
    assert.ok(keys.length > 5, `the tools of ${request} must have been found`);
    assert.deepEqual(keys.filter((key) => !tool.has(key)), [], `keys of a tool in ${request}`);
  }
  const limits = named(section(protocol, '### Limits'));
  assert.deepEqual(limitNames.filter((name) => !limits.has(name)), []);
});

test('the protocol page names every error code', () => {
  const words = named(section(protocol, '## Errors'));
  assert.deepEqual(errorCodes.filter((code) => !words.has(code)), []);
});

test('the error codes that are called reserved are those that the source never uses', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => path.basename(file) !== 'errors.ts');
  const source = files.map(read).join('\n') + read('src/protocol/errors.ts').split('export type ErrorCode')[1];
  const unused = errorCodes.filter((code) => !source.includes(`'${code}'`));
  assert.deepEqual([...reservedCodes].sort(), unused.sort());
});

test('the bytes of the example are those of its messages', () => {
  const block = /```\n([\s\S]*?)```/.exec(section(protocol, '### Bytes of an example'))![1]!;
  const examples = block.trim().split('\n\n').map((example) => example.split('\n'));
  assert.equal(examples.length, 2);
  for (const [message, bytes] of examples) {
    assert.equal(Buffer.from(encode(JSON.parse(message!))).toString('hex').replace(/..(?=.)/g, '$& '), bytes);
  }
});

test('the README shows the two commands, and the examples as they are', () => {
  const readme = read('README.md');
  for (const command of ['npm ci && npm run demo', 'npm ci && npm test']) {
    assert.ok(readme.includes(`\`\`\`sh\n${command}\n\`\`\``), command);
  }
  assert.ok(readme.includes('```ts\n' + read('examples/agent.ts') + '```'), 'examples/agent.ts');
  assert.ok(readme.includes('```lua\n' + read('examples/first.lua') + '```'), 'examples/first.lua');
});

/** Anchors of a document's headings, as code hosts make them. */
const anchors = (document: string): Set<string> =>
  new Set(
    [...document.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')
    ),
  );

test('every relative link leads to a file, and to a heading in it', () => {
  for (const page of pages) {
    const text = read(page).replace(/```[\s\S]*?```/g, '');
    for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link!)) continue;
      const [file, anchor] = link!.split('#') as [string, string?];
      const target = path.join(root, file === '' ? page : path.join(path.dirname(page), file));
      assert.ok(existsSync(target), `${page} links to ${link}, which is not there`);
      if (anchor !== undefined) {
        assert.ok(anchors(readFileSync(target, 'utf8')).has(anchor), `${page} links to ${link}: no such heading`);
      }
    }
  }
});

test('every file of the source that a document names is there', () => {
  for (const page of pages) {
    for (const [, name] of read(page).matchAll(/`((?:[a-z_]+\/)+[a-z_]+\.(?:ts|lua|svg))`/g)) {
      const found = [name!, `src/${name}`].some((file) => existsSync(path.join(root, file)));
      assert.ok(found, `${page} names ${name}, which is not there`);
    }
  }
});

test('the architecture names every folder of the source', () => {
  const folders = globSync('src/*/', { cwd: root }).map((folder) => path.basename(folder));
  const words = read('ARCHITECTURE.md');
  assert.ok(folders.length > 8);
  assert.deepEqual(folders.filter((folder) => !words.includes(`| \`${folder}/\` |`)), []);
});

test('every dependency has a line with its pin', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string> | undefined>;
  const rows = read('CONTRIBUTING.md').split('\n').filter((line) => line.startsWith('| `'));
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, version] of Object.entries(manifest[kind] ?? {})) {
      const row = rows.some((line) => line.includes(`\`${name}\``) && line.includes(`| ${version} |`));
      assert.ok(row, `CONTRIBUTING.md must have a row for ${name} ${version}`);
    }
  }
});

test('no document speaks of the place where it was written, or of what is left to do', () => {
  // Written apart, so that this file does not hold the words itself.
  const forbidden = [['TO', 'DO'], ['FIX', 'ME'], ['/wo', 'rk/'], ['../sha', 'red'], ['this ses', 'sion ']]
    .map((halves) => halves.join(''));
  for (const page of [...pages, ...globSync('docs/**/*.{ts,svg}', { cwd: root })]) {
    const text = read(page);
    assert.deepEqual(forbidden.filter((word) => text.includes(word)), [], page);
  }
});
