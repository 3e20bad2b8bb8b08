// Small pieces of sentences: counted nouns and lists of alternatives.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted, quotedList } from '../../../src/protocol/wording.ts';

test('a noun is counted as one reads it', () => {
  assert.deepEqual([0, 1, 2, 1000].map((count) => counted(count, 'call')), [
    '0 calls',
    '1 call',
    '2 calls',
    '1000 calls',
  ]);
});

test('a list of names reads as a sentence does', () => {
  assert.equal(quotedList([]), '');
  assert.equal(quotedList(['a']), '"a"');
  assert.equal(quotedList(['a', 'b']), '"a" or "b"');
  assert.equal(quotedList(['a', 'b"', 'c']), '"a", "b\\"" or "c"');
});
