// The pool of warm children, with processes and a clock that the test moves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pool } from '../../../src/supervisor/pool.ts';
import type { Launch } from '../../../src/supervisor/launcher.ts';
import { type FakeChild, fakeLaunch, lockdown } from '../../helpers/fake_child.ts';
import { FakeClock } from '../../helpers/fake_clock.ts';
import { recordedLog } from '../../helpers/recorded_log.ts';
import { until } from '../../helpers/until.ts';

const never = new AbortController().signal;

/** @param onStart what each child does when it has been started; by default it gets ready */
function makePool(warm: number, onStart: (child: FakeChild, index: number) => void = (child) => child.ready()) {
  const clock = new FakeClock();
  const { log, lines } = recordedLog();
  const { launch, children } = fakeLaunch((child) => onStart(child, children.indexOf(child)));
  const pool = new Pool({ launch, warm, clock, log });
  const close = async () => {
    const closing = pool[Symbol.asyncDispose]();
    for (const child of children) child.exit(null, 'SIGKILL');
    await closing;
  };
  return { pool, clock, lines, children, close };
}

test('a pool starts what it is to keep warm', async () => {
  const { pool, close } = makePool(2);
  await until(() => pool.status().warm === 2);
  assert.deepEqual(pool.status(), {
    warm: 2,
    starting: 0,
    running: 0,
    wanted: 2,
    started: 2,
    problem: undefined,
    runtime: 'fake 1',
    lockdown,
  });
  await close();
});

test('at most four children are starting at once', async () => {
  const { pool, children, close } = makePool(10, () => {});
  await until(() => children.length === 4);
  assert.deepEqual([pool.status().starting, pool.status().started], [4, 4]);
  children[0]!.ready();
  await until(() => children.length === 5);
  assert.equal(pool.status().starting, 4);
  await close();
});

test('a child that was taken is replaced, off the path of the run', async () => {
  const { pool, clock, children, close } = makePool(1);
  await until(() => pool.status().warm === 1);
  const child = await pool.take(never);
  assert.equal(child.state, 'warm');
  assert.equal(children.length, 1);
  assert.deepEqual([pool.status().warm, pool.status().running], [0, 1]);
  clock.advance(49);
  assert.equal(children.length, 1);
  clock.advance(1);
  await until(() => pool.status().warm === 1);
  assert.equal(children.length, 2);
  children[0]!.exit(0);
  await until(() => pool.status().running === 0);
  await close();
});

test('a run that is answered sooner has its replacement started then', async () => {
  const { pool, clock, children, close } = makePool(1);
  await until(() => pool.status().warm === 1);
  await pool.take(never);
  pool.refill();
  await until(() => pool.status().warm === 1);
  clock.advance(1000);
  assert.equal(children.length, 2);
  await close();
});

test('whoever finds no warm child waits for one, in the order of asking', async () => {
  const { pool, children, close } = makePool(0, () => {});
  const first = pool.take(never);
  const second = pool.take(never);
  await until(() => children.length === 2);
  children[1]!.ready();
  const one = await first;
  assert.equal(one.pid, children[1]!.process.pid);
  children[0]!.ready();
  assert.equal((await second).pid, children[0]!.process.pid);
  assert.deepEqual([pool.status().warm, pool.status().running], [0, 2]);
  await close();
});

test('a child that dies while warm is replaced, and never handed out', async () => {
  const { pool, children, lines, close } = makePool(1);
  await until(() => pool.status().warm === 1);
  children[0]!.exit(null, 'SIGKILL');
  await until(() => children.length === 2 && pool.status().warm === 1);
  assert.deepEqual(lines.filter(({ level }) => level === 'warn').map(({ message, data }) => [message, data.exit]), [[
    'a warm child died',
    'it was ended by SIGKILL',
  ]]);
  assert.equal((await pool.take(never)).pid, children[1]!.process.pid);
  await close();
});

test('a wait that is given up rejects with its reason, and its child goes to somebody else', async () => {
  const { pool, children, close } = makePool(0, () => {});
  const stop = new AbortController();
  const given = pool.take(stop.signal);
  const kept = pool.take(never);
  await until(() => children.length === 2);
  stop.abort(new Error('cancelled'));
  await assert.rejects(given, new Error('cancelled'));
  children[0]!.ready();
  assert.equal((await kept).pid, children[0]!.process.pid);
  children[1]!.ready();
  await until(() => pool.status().warm === 1);
  await close();
});

test('a wait that was given up before it began rejects at once', async () => {
  const { pool, children, close } = makePool(0, () => {});
  let settled = false;
  const taken = pool.take(AbortSignal.abort(new Error('too late'))).finally(() => settled = true);
  taken.catch(() => {});
  await until(() => settled || children.length > 0);
  children[0]?.ready();
  await assert.rejects(taken, new Error('too late'));
  await close();
});

test('a child that was given is not taken back by a later abort', async () => {
  const { pool, close } = makePool(0);
  const stop = new AbortController();
  const child = await pool.take(stop.signal);
  stop.abort(new Error('later'));
  assert.equal(child.state, 'warm');
  assert.equal(pool.status().running, 1);
  await close();
});

test('children that die at boot are tried again with growing pauses', async () => {
  const { pool, clock, children, lines, close } = makePool(1, (child) => child.exit(1));
  const pauses: number[] = [];
  for (let failures = 1; failures <= 11; failures++) {
    await until(() => lines.filter(({ level }) => level === 'error').length === failures && clock.armed.length === 1);
    pauses.push(clock.armed[0]!);
    assert.equal(children.length, failures);
    clock.advance(clock.armed[0]!);
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  assert.equal(pool.status().problem, 'a child ended before it was ready: it left with code 1');
  await close();
});

test('whoever waits is told after three failures in a row, and later askers wait for the next try', async () => {
  const { pool, clock, children, close } = makePool(0, (child) => child.exit(1));
  const outcomes: string[] = [];
  const watch = (promise: Promise<unknown>) =>
    void promise.then(() => outcomes.push('given'), (error: Error) => outcomes.push(error.message));
  watch(pool.take(never));
  for (let tries = 1; tries <= 3; tries++) {
    await until(() => children.length === tries && pool.status().starting === 0 && clock.armed.length === 1);
    if (tries < 3) assert.deepEqual(outcomes, []);
    clock.advance(clock.armed[0]!);
  }
  await until(() => outcomes.length === 1);
  assert.deepEqual(outcomes, ['a child ended before it was ready: it left with code 1']);
  await close();
});

test('a pool recovers when children start again', async () => {
  const { pool, clock, children, close } = makePool(1, (child, index) => index < 4 ? child.exit(1) : child.ready());
  for (let tries = 1; tries <= 4; tries++) {
    await until(() => children.length === tries && pool.status().starting === 0 && clock.armed.length === 1);
    clock.advance(clock.armed[0]!);
  }
  await until(() => pool.status().warm === 1);
  assert.equal(pool.status().problem, undefined);
  // The pauses begin anew after a success.
  children[4]!.exit(1);
  await until(() => children.length === 6 && pool.status().warm === 1);
  await close();
});

test('a launch that fails at once is a failure like any other, and never more', async () => {
  const clock = new FakeClock();
  const { log } = recordedLog();
  let launches = 0;
  const { launch, children } = fakeLaunch((child) => child.ready());
  const failing: Launch = () => {
    if (++launches <= 4) return { failed: 'spawn EMFILE' };
    return launch();
  };
  const pool = new Pool({ launch: failing, warm: 1, clock, log });
  const taken = pool.take(never);
  for (let tries = 1; tries <= 2; tries++) {
    // One for the pool and one for whoever waits, which together are one failure.
    await until(() => launches === 2 * tries && clock.armed.length === 1);
    assert.match(pool.status().problem!, /spawn EMFILE/);
    clock.advance(clock.armed[0]!);
  }
  assert.equal((await taken).state, 'warm');
  for (const child of children) child.exit(0);
  await until(() => pool.status().running === 0);
});

test('a child that does not get ready is given up', async () => {
  const { pool, clock, children, close } = makePool(1, (child, index) => index > 0 && child.ready());
  await until(() => children.length === 1);
  clock.advance(29_999);
  assert.deepEqual(children[0]!.signals, []);
  clock.advance(1);
  assert.deepEqual(children[0]!.signals, ['SIGKILL']);
  children[0]!.exit(null, 'SIGKILL');
  await until(() => clock.armed.length === 1);
  clock.advance(100);
  await until(() => pool.status().warm === 1);
  await close();
});

test('closing kills all children, rejects who waits, and refuses who comes later', async () => {
  const { pool, children } = makePool(1, (child, index) => index === 0 && child.ready());
  await until(() => pool.status().warm === 1);
  const running = await pool.take(never);
  const waiting = pool.take(never);
  await until(() => children.length >= 2);
  const closing = pool[Symbol.asyncDispose]();
  await assert.rejects(waiting, new Error('the pool is closed'));
  await assert.rejects(pool.take(never), new Error('the pool is closed'));
  for (const child of children) assert.deepEqual(child.signals, ['SIGKILL']);
  let closed = false;
  closing.then(() => closed = true);
  children[0]!.exit(null, 'SIGKILL');
  await running.exited;
  assert.equal(closed, false);
  for (const child of children.slice(1)) child.exit(null, 'SIGKILL');
  await closing;
  pool.refill();
  assert.equal(children.length, pool.status().started);
});

test('a child that gets ready after the pool was closed is ended', async () => {
  const { pool, children } = makePool(1, () => {});
  await until(() => children.length === 1);
  const closing = pool[Symbol.asyncDispose]();
  children[0]!.ready();
  children[0]!.exit(null, 'SIGKILL');
  await closing;
  assert.equal(pool.status().warm, 0);
});
