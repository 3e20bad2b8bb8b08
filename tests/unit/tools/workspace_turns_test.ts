// How the workspace tools share the event loop: slices, turns, aborts, the line below one root, sorting.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { inLine, nextTurn, sliceSpent, sortInTurns } from '../../../src/tools/providers/workspace/turns.ts';
import { workspaceTools } from '../../../src/tools/providers/workspace/workspace_tools.ts';

let root = '';
const never = new AbortController().signal;

before(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'turns-')));
  await mkdir(join(root, 'wide'));
  for (let each = 0; each < 3000; each++) await writeFile(join(root, `wide/f${each * 7919 % 3000}`), '');
  // Every state of a pattern lives on in such text, and no part of the single line ends it.
  await writeFile(join(root, 'one-line'), 'a'.repeat(1 << 20));
  await writeFile(join(root, 'lines'), `${'ab'.repeat(60)}\n`.repeat(20_000));
});

after(() => rm(root, { recursive: true }));

function call(name: string, args: Record<string, unknown>, signal = never) {
  return workspaceTools.find((each) => each.name === name)!.call(args, { root, signal, maxBytes: 1 << 20 });
}

/** The longest time in ms that the event loop stood still while `work` went on. */
async function longestGap(work: () => Promise<unknown>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

test('hostile patterns, long lines and wide folders leave the event loop free', async () => {
  // Without the bounds: the same pattern on the same line, in one go.
  const { RE2JS } = await import('re2js');
  const hostile = RE2JS.compile('(?:a?){150}(?:a{1,20}){5}b');
  const start = performance.now();
  hostile.test('a'.repeat(1 << 16));
  const unbounded = performance.now() - start;

  for (
    const args of [
      { pattern: '(?:a?){150}(?:a{1,20}){5}b' },
      { pattern: '(a+)+$' },
      { pattern: '(?i)(?:\\pL|\\pN){190}!' },
      { pattern: '(x+x+)+y', context: 20 },
      { pattern: `${'a'.repeat(250)}b${'a'.repeat(249)}` },
      { pattern: 'ab'.repeat(100), ignore_case: true },
      { pattern: '.', limit: 10_000 },
      { pattern: '.', glob: `${'*a'.repeat(60)}b` },
    ]
  ) {
    const gap = await longestGap(() => call('search_files', args));
    assert.ok(gap < 100, `${JSON.stringify(args)}: the loop stood still for ${gap} ms (unbounded ${unbounded} ms)`);
  }
  const gap = await longestGap(() => call('list_files', { pattern: '**/f*{1,2,3}*' }));
  assert.ok(gap < 100, `list: the loop stood still for ${gap} ms`);
});

test('a slice is spent after its time, and a turn begins a new one', async () => {
  await nextTurn(never);
  assert.equal(sliceSpent(), false);
  for (const start = performance.now(); performance.now() - start < 6;);
  assert.equal(sliceSpent(), true);
  await nextTurn(never);
  assert.equal(sliceSpent(), false);
});

test('calls that wait get one turn each per round of the event loop', async () => {
  let round = 0;
  let counting = true;
  const count = () => {
    round++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const rounds = await Promise.all([1, 2, 3, 4].map(() => nextTurn(never).then(() => round)));
  counting = false;
  assert.equal(new Set(rounds).size, 4);
});

test('many calls at once hold the loop no longer than one', async () => {
  const gap = await longestGap(() =>
    Promise.all(Array.from({ length: 24 }, () => call('search_files', { pattern: 'a[b]+c', path: 'lines' })))
  );
  assert.ok(gap < 200, `the loop stood still for ${gap} ms`);
});

test('an abort ends a call with its reason, also one that still waits in line', async () => {
  const aborting = new AbortController();
  const reason = new Error('the run has ended');
  const calls = Array.from({ length: 20 }, () => call('search_files', { pattern: 'a[b]+c' }, aborting.signal));
  setImmediate(() => aborting.abort(reason));
  for (const outcome of await Promise.allSettled(calls)) {
    assert.ok(outcome.status === 'rejected' && outcome.reason === reason);
  }
  for (const name of ['read_file', 'list_files', 'search_files']) {
    await assert.rejects(call(name, { path: 'lines', pattern: 'a' }, aborting.signal), (error) => error === reason);
  }
});

test('a call that waits for its turn hears of an abort', async () => {
  const aborting = new AbortController();
  const reason = new Error('over');
  const waiting = nextTurn(aborting.signal);
  aborting.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  await nextTurn(never);
});

test('below one root so many calls go on at once as the table says, below another they do not wait', async () => {
  let open = 0;
  let most = 0;
  const releases: (() => void)[] = [];
  const work = () => {
    most = Math.max(most, ++open);
    return new Promise<void>((resolve) => releases.push(resolve)).finally(() => open--);
  };
  const calls = Array.from({ length: 30 }, () => inLine('/one', never, work));
  let passed = false;
  await inLine('/two', never, async () => passed = true);
  assert.equal(passed, true);
  assert.equal(open, 8);
  for (let each = 0; each < 30; each++) {
    releases.shift()!();
    await nextTurn(never);
  }
  await Promise.all(calls);
  assert.deepEqual([most, open], [8, 0]);
});

test('a call that throws gives its place to the next', async () => {
  const failures = Array.from({ length: 20 }, () => inLine('/three', never, () => Promise.reject(new Error('no'))));
  for (const outcome of await Promise.allSettled(failures)) assert.equal(outcome.status, 'rejected');
  assert.equal(await inLine('/three', never, () => Promise.resolve(1)), 1);
});

test('sorting in turns gives what sorting at once gives', async () => {
  for (const length of [0, 1, 4096, 4097, 50_000]) {
    const names = Array.from({ length }, (_, index) => `n${Math.imul(index, 2654435761) >>> 0}`);
    assert.deepEqual(await sortInTurns(names, never), [...names].sort());
  }
});
