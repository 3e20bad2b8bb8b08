// Globs: what each construct matches, faults, and bombs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRefusal } from '../../../src/tools/providers/workspace/arguments.ts';
import { compileGlob, type Glob } from '../../../src/tools/providers/workspace/glob.ts';

function compiled(source: string): Glob {
  const glob = compileGlob(source);
  assert.ok(!isRefusal(glob), isRefusal(glob) ? glob.refused : '');
  return glob;
}

test('each construct matches what it stands for and nothing else', () => {
  const table: Record<string, { yes: string[]; no: string[] }> = {
    '*.ts': { yes: ['a.ts', 'x/y/a.ts', '.ts'], no: ['a.tsx', 'a/ts', 'a.ts/b'] },
    '/*.ts': { yes: ['a.ts', 'x/a.ts'], no: ['a.js'] },
    './src/*.ts': { yes: ['src/a.ts'], no: ['src/x/a.ts', 'x/src/a.ts'] },
    'src/**/*.ts': { yes: ['src/a.ts', 'src/x/y/a.ts'], no: ['a.ts', 'xsrc/a.ts'] },
    '**/a': { yes: ['a', 'x/a', 'x/y/a'], no: ['xa', 'x/ya', 'a/x'] },
    'src/**': { yes: ['src/a', 'src/x/y'], no: ['src', 'srcs/a'] },
    'a/**/b/**/c': { yes: ['a/b/c', 'a/x/b/y/z/c'], no: ['a/c', 'ab/c'] },
    'x/a**b': { yes: ['x/ab', 'x/axxb'], no: ['x/a/b'] },
    '**': { yes: ['a', 'a/b'], no: [] },
    'a?c': { yes: ['abc', 'a\u{1f600}c', 'aéc', 'x/a\nc'], no: ['ac', 'a/c', 'abbc'] },
    '[abc].x': { yes: ['a.x', 'c.x'], no: ['d.x', 'ab.x', '.x'] },
    '[a-c0-9]': { yes: ['b', '5'], no: ['d', '-'] },
    '[!a-c]': { yes: ['d', '-'], no: ['b'] },
    '[^a]': { yes: ['b'], no: ['a'] },
    'x/[!a]': { yes: ['x/b'], no: ['x/a', 'x//'] },
    '[]a]': { yes: [']', 'a'], no: ['b'] },
    '[-a]': { yes: ['-', 'a'], no: ['b'] },
    '[a-]': { yes: ['-', 'a'], no: ['b'] },
    '[\\]\\-x]': { yes: [']', '-', 'x'], no: ['\\'] },
    '*.{ts,js}': { yes: ['a.ts', 'a.js'], no: ['a.ts,js', 'a.rs'] },
    '{src,lib/{a,b}}/*.c': { yes: ['src/x.c', 'lib/a/x.c', 'lib/b/x.c'], no: ['lib/x.c', 'lib/c/x.c'] },
    'a{,.txt}': { yes: ['a', 'a.txt'], no: ['a.', 'ab'] },
    '{**/a,b}/c': { yes: ['a/c', 'x/y/a/c', 'b/c'], no: ['x/b/c'] },
    'a,b': { yes: ['a,b'], no: ['a', 'b'] },
    '\\*\\{a\\}': { yes: ['*{a}'], no: ['x{a}', 'a'] },
    '\\d+.(x)|^$': { yes: ['d+.(x)|^$'], no: ['1.x', ''] },
    'naïve*': { yes: ['naïve.txt'], no: ['naive.txt'] },
    'A': { yes: ['A'], no: ['a'] },
    'a\nb': { yes: ['a\nb'], no: ['ab', 'a'] },
  };
  for (const [source, { yes, no }] of Object.entries(table)) {
    const glob = compiled(source);
    for (const path of yes) assert.equal(glob.test(path), true, `${source} matches ${path}`);
    for (const path of no) assert.equal(glob.test(path), false, `${source} does not match ${path}`);
  }
});

test('faults are told', () => {
  const table: Record<string, string> = {
    '[a': 'the [ at character 1 has no closing ]',
    'a[]': 'the [ at character 2 has no closing ]',
    '{a': 'a { has no closing }',
    'a}': 'the } at character 2 has no opening {',
    'a\\': 'the \\ at its end escapes nothing',
    '[z-a]': 'the pattern must be a glob, but has invalid character class range: "z-a"',
  };
  for (const [source, fault] of Object.entries(table)) {
    assert.deepEqual(compileGlob(source), { refused: `Cannot match files by ${JSON.stringify(source)}: ${fault}` });
  }
});

test('bombs are refused or cheap', () => {
  // Without the guard: the same as a native pattern backtracks beyond all bounds (cut short here at 5 stars).
  const native = new RegExp(`^${'[^/]*a'.repeat(5)}b$`);
  const start = performance.now();
  native.test('a'.repeat(80));
  assert.ok(performance.now() - start > 1);

  const bombs = [
    `${'*a'.repeat(100)}b`,
    '{a,b}'.repeat(90),
    '{'.repeat(240) + 'a' + '}'.repeat(240),
    '**/'.repeat(150) + 'x',
    `${'*a'.repeat(20)}${'?'.repeat(100)}`,
    '[!a]'.repeat(120),
    `{${'a,'.repeat(240)}}`,
    'x'.repeat(501),
  ];
  const path = `${'a/'.repeat(500)}${'a'.repeat(255)}`;
  for (const source of bombs) {
    const began = performance.now();
    const glob = compileGlob(source);
    if (!isRefusal(glob)) glob.test(path);
    const took = performance.now() - began;
    assert.ok(took < 150, `${source.slice(0, 40)} took ${took} ms`);
  }
  assert.equal(compiled(`x/${'*a'.repeat(60)}b`).test('a'.repeat(4000)), null);
});
