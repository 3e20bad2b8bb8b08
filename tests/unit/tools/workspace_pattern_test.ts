// Patterns of programs: which are taken, how much of a line they may see, and what hostile ones cost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRefusal } from '../../../src/tools/providers/workspace/arguments.ts';
import { askedFor, compilePattern, type Pattern, tooLong } from '../../../src/tools/providers/workspace/pattern.ts';

function compile(source: string, ignoreCase = false, literal = false) {
  return compilePattern({ source, ignoreCase, literal, asked: askedFor(source) });
}

function compiled(source: string, ignoreCase = false, literal = false): Pattern {
  const pattern = compile(source, ignoreCase, literal);
  assert.ok(!isRefusal(pattern), isRefusal(pattern) ? pattern.refused : '');
  return pattern;
}

test('a plain word is known as one and sees whole lines', () => {
  assert.equal(compiled('mlua').word, 'mlua');
  assert.equal(compiled('a.b', false, true).word, 'a.b');
  assert.equal(compiled('mlua').maxChars, Infinity);
  assert.equal(compiled('m.ua').word, null);
  assert.equal(compiled('mlua', true).word, null);
});

test('a larger pattern sees less of a line', () => {
  assert.equal(compiled('a.c').maxChars, 4096);
  assert.ok(compiled('[a-z]{200}').maxChars < 400);
  assert.equal(compiled('word', true).maxChars, 65_536);
});

test('what people write is taken', () => {
  const table: [string, string][] = [
    ['[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'id 123e4567-e89b-12d3-a456-426614174000'],
    ['\\b(TODO|FIXME)\\b', 'x TODO y'],
    ['(?i)straße', 'STRAßE'],
    ['^\\s*(?:export )?function (?P<name>\\w+)', '  export function a()'],
    ['\\x{2014}\\x{2014}\\x{2014}', '———'],
  ];
  for (const [source, text] of table) assert.equal(compiled(source).test(text), true, source);
});

test('refusals say what is required and what is so', () => {
  const table: [string, string][] = [
    [
      '(?=a)',
      'the pattern must be a regular expression in RE2 syntax, but has invalid or unsupported Perl syntax: "(?="',
    ],
    ['a{1000}b{1000}c{1000}', 'the repeat counts of a pattern must add up to at most 2000, got 3000'],
    ['(?:abcdefgh){500}', 'the pattern must compile to at most 500 instructions, got 4001; use smaller repeat counts'],
    [
      '(?i)[a-\\x{1e900}][b-\\x{1e900}][c-\\x{1e900}]',
      'a pattern that ignores case must have at most 2 ranges of other than ASCII characters, got 3',
    ],
  ];
  for (const [source, rest] of table) {
    assert.deepEqual(compile(source), { refused: `Cannot search for "${source.replaceAll('\\', '\\\\')}": ${rest}` });
  }
  const long = 'x'.repeat(501);
  assert.deepEqual(tooLong(long, askedFor(long)), {
    refused: `Cannot search for "${'x'.repeat(200)}": a pattern must be at most 500 characters long, got 501`,
  });
  assert.equal(tooLong('x'.repeat(500), ''), null);
});

test('no pattern costs more than a moment, to be refused, compiled or matched', () => {
  const hostile = [
    'a{1000}'.repeat(71),
    `(?:${'a'.repeat(480)}){1000}`,
    '(((((((((a{2}){2}){2}){2}){2}){2}){2}){2}){2})'.repeat(10),
    `(?i)${'\\pL'.repeat(160)}`,
    `(?i)${'[a-\\x{1e900}]'.repeat(30)}`,
    '(?:a?){249}b',
    '\\pL{490}',
    '\\pL{200}',
    '(?:\\pL|\\pN){240}!',
    '('.repeat(240) + 'a' + ')'.repeat(240),
    '(?:(?:a*)*)*'.repeat(40),
    '[^x]{0,240}[^y]{0,240}z',
    '\\Q'.repeat(200) + '{1000}',
    `${'a|'.repeat(240)}b`,
    '*',
    '{1000}',
    '[',
    '\\',
    '(?P<',
    '[[:alpha:',
    '(?i',
    '\\x{110000}',
    '\ud800',
    '.\ud800*',
  ];
  const texts = ['a'.repeat(70_000), 'ſKkabZ漢é\u{1f600}'.repeat(7000), 'ab'.repeat(35_000)];
  for (const ignoreCase of [false, true]) {
    for (const source of hostile) {
      let start = performance.now();
      const pattern = compile(source, ignoreCase);
      const compiling = performance.now() - start;
      assert.ok(compiling < 150, `${source.slice(0, 40)}: compiling took ${compiling} ms`);
      if (isRefusal(pattern)) continue;
      for (const text of texts) {
        start = performance.now();
        pattern.test(text.slice(0, pattern.maxChars));
        const matching = performance.now() - start;
        assert.ok(matching < 150, `${source.slice(0, 40)}: matching took ${matching} ms`);
      }
    }
  }
});
