// tests/requirements.md against the tests: every requirement has a test of exactly the name that it gives.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../', import.meta.url));

type Row = { readonly no: number; readonly requirement: string; readonly test: string };

const rowForm = /^\|\s*(\d+)\s*\|\s*(.+?)\s*\|\s*`([^`]+)`\s*\|$/;

function readRows(document: string): { rows: Row[]; malformed: string[] } {
  const lines = document.split('\n').filter((line) => /^\|\s*\d/.test(line));
  const read = lines.map((line) => ({ line, row: rowForm.exec(line) }));
  return {
    rows: read.flatMap(({ row }) => row ? [{ no: Number(row[1]), requirement: row[2]!, test: row[3]! }] : []),
    malformed: read.filter(({ row }) => !row).map(({ line }) => line),
  };
}

/** The names of the tests in a file, as they are written there: those made from a table with their `${…}`. */
function testNames(text: string): string[] {
  const calls = text.matchAll(/\b(?:test|it)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|`([^`]*)`|"((?:[^"\\\n]|\\.)*)")\s*,/g);
  return [...calls].map(([, single, template, double]) => (single ?? template ?? double)!.replace(/\\(['"])/g, '$1'));
}

const withoutTest = (rows: readonly Row[], names: ReadonlySet<string>): string[] =>
  rows.filter((row) => !names.has(row.test)).map(({ no, requirement, test }) => `${no} ${requirement}: ${test}`);

test('every requirement has its test', () => {
  const { rows, malformed } = readRows(readFileSync(path.join(folder, 'requirements.md'), 'utf8'));
  assert.deepEqual(malformed, []);
  assert.ok(rows.length > 50, `the table must have been found, got ${rows.length} rows`);
  const files = globSync('**/*_test.ts', { cwd: folder }).filter((file) =>
    path.basename(file) !== 'requirements_test.ts'
  );
  const names = new Set(files.flatMap((file) => testNames(readFileSync(path.join(folder, file), 'utf8'))));
  assert.deepEqual(withoutTest(rows, names), []);
});

test('requirements are numbered from 1 without a gap, and none is written twice', () => {
  const { rows } = readRows(readFileSync(path.join(folder, 'requirements.md'), 'utf8'));
  assert.deepEqual(rows.map(({ no }) => no), rows.map((_, i) => i + 1));
  assert.equal(new Set(rows.map(({ requirement }) => requirement)).size, rows.length);
});

test('a requirement without its test is found, and names are read as they are written', () => {
  const source = [
    "test('it\\'s there', () => {});",
    'test(`${kind} ends`, async () => {});',
    "  it('nested', { timeout: 1 }, () => {});",
    "test.skip('left out', () => {});",
    "print('not one, no')",
  ].join('\n');
  const names = testNames(source);
  assert.deepEqual(names, ["it's there", '${kind} ends', 'nested']);
  const document = "| 1 | a | `it's there` |\n| 2 | b | `left out` |\n| 3 | no name |\n";
  const { rows, malformed } = readRows(document);
  assert.deepEqual(withoutTest(rows, new Set(names)), ['2 b: left out']);
  assert.deepEqual(malformed, ['| 3 | no name |']);
});
