// Names that are mistaken: which known ones are offered, and at what cost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbiddenNames, nearestNames } from '../../../src/tools/names.ts';

test('the nearest names come first, at most three', () => {
  const names = ['read_file', 'read_files', 'write_file', 'list_files', 'search-files', 'Read.File', 'execute'];
  const table: [string, string[]][] = [
    ['read_file', ['Read.File', 'read_file', 'read_files']],
    ['readfile', ['Read.File', 'read_file', 'read_files']],
    ['writefile', ['write_file']],
    ['exec', ['execute']],
    ['EXECUTE', ['execute']],
    ['search_files', ['search-files', 'read_files']],
    ['search.files', ['search-files', 'read_files']],
    ['serch files', ['search-files']],
    ['zzz', []],
    ['', []],
    ['x'.repeat(10_000), []],
  ];
  for (const [wrong, nearest] of table) assert.deepEqual(nearestNames(wrong, names), nearest, wrong.slice(0, 20));
  assert.deepEqual(nearestNames('read', names, 1), ['Read.File']);
});

test('names of equal distance come in the order of their letters', () => {
  assert.deepEqual(nearestNames('tool', ['toolz', 'toola', 'toolm']), ['toola', 'toolm', 'toolz']);
});

test('two thousand long names do not hold up the loop', () => {
  const names = Array.from({ length: 2000 }, (_, i) => `${'ab'.repeat(124)}${String(i).padStart(8, '0')}`);
  const began = performance.now();
  nearestNames('ba'.repeat(128), names);
  const took = performance.now() - began;
  assert.ok(took < 150, `${took} ms`);
});

test('the names that are never callable are those of the mission', () => {
  assert.deepEqual([...forbiddenNames].sort(), [
    'code_mode',
    'evolve',
    'exit_plan',
    'interview',
    'magi_control',
    'publish',
    'run_code',
    'run_command',
    'spawn_subagent',
  ]);
});
