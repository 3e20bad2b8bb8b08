// The clocks of a run under a clock that the test turns: what counts as compute, and when a limit is spent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ComputeClock, systemClock } from '../../../src/supervisor/clocks.ts';
import { FakeClock } from '../../helpers/fake_clock.ts';
import { until } from '../../helpers/until.ts';

function setUp(limitMs: number, options: { told?: boolean } = {}) {
  const clock = new FakeClock();
  const state = { expired: 0, waitMs: 0, cpuMs: 0, told: options.told ?? true };
  const compute = new ComputeClock({
    clock,
    limitMs,
    expired: () => void state.expired++,
    processorTime: () => state.told ? { cpuMs: state.cpuMs, waitMs: state.waitMs } : undefined,
  });
  return { clock, compute, state };
}

test('compute runs from the start, and expires once when it is spent', () => {
  const { clock, compute, state } = setUp(1000);
  clock.advance(999);
  assert.equal(compute.spentMs(), 999);
  assert.equal(state.expired, 0);
  clock.advance(1);
  assert.equal(state.expired, 1);
  clock.advance(100_000);
  assert.equal(state.expired, 1);
  assert.deepEqual(clock.armed, []);
});

test('compute stands still while a call is open', () => {
  const { clock, compute, state } = setUp(1000);
  clock.advance(400);
  compute.pause();
  assert.deepEqual(clock.armed, []);
  clock.advance(100_000);
  assert.equal(compute.spentMs(), 400);
  compute.resume();
  assert.deepEqual(clock.armed, [600]);
  clock.advance(599);
  assert.equal(state.expired, 0);
  clock.advance(1);
  assert.equal(state.expired, 1);
});

test('pausing and resuming twice is the same as once', () => {
  const { clock, compute } = setUp(1000);
  clock.advance(100);
  compute.pause();
  compute.pause();
  clock.advance(50);
  compute.resume();
  compute.resume();
  clock.advance(100);
  assert.equal(compute.spentMs(), 200);
  assert.equal(clock.armed.length, 1);
});

test('time in line for a processor is forgiven, and the timer is armed again for it', () => {
  const { clock, state } = setUp(1000);
  state.waitMs = 300;
  clock.advance(1000);
  assert.equal(state.expired, 0);
  assert.deepEqual(clock.armed, [300]);
  state.waitMs = 350;
  clock.advance(300);
  assert.deepEqual(clock.armed, [50]);
  clock.advance(49);
  assert.equal(state.expired, 0);
  clock.advance(1);
  assert.equal(state.expired, 1);
});

test('waiting before the start, or during a call, is not forgiven to the program', () => {
  const clock = new FakeClock();
  let waitMs = 5000;
  let expired = 0;
  const compute = new ComputeClock({
    clock,
    limitMs: 1000,
    expired: () => void expired++,
    processorTime: () => ({ cpuMs: 0, waitMs }),
  });
  clock.advance(500);
  assert.equal(compute.spentMs(), 500);
  compute.pause();
  waitMs += 9000;
  clock.advance(10_000);
  compute.resume();
  clock.advance(499);
  assert.equal(compute.spentMs(), 999);
  assert.equal(expired, 0);
  clock.advance(1);
  assert.equal(expired, 1);
});

test('more waiting than time has passed counts as no compute, never as less than none', () => {
  const { clock, compute, state } = setUp(1000);
  clock.advance(10);
  state.waitMs = 500;
  assert.equal(compute.spentMs(), 0);
  compute.pause();
  assert.equal(compute.spentMs(), 0);
});

test('where the host does not tell, all time with no call open counts', () => {
  const { clock, compute, state } = setUp(1000, { told: false });
  clock.advance(600);
  compute.pause();
  compute.resume();
  clock.advance(400);
  assert.equal(state.expired, 1);
  assert.equal(compute.spentMs(), 1000);
});

test('a host that stops telling, as when the child is gone, takes nothing back', () => {
  const { clock, compute, state } = setUp(1000);
  clock.advance(100);
  state.told = false;
  clock.advance(100);
  assert.equal(compute.spentMs(), 200);
});

test('fractions of a millisecond do not make the timer spin', () => {
  const clock = new FakeClock();
  let timers = 0;
  let expired = 0;
  const counting = { now: clock.now, after: (ms: number, call: () => void) => (timers++, clock.after(ms, call)) };
  let waitMs = 0;
  new ComputeClock({
    clock: counting,
    limitMs: 10,
    expired: () => void expired++,
    processorTime: () => ({ cpuMs: 0, waitMs }),
  });
  waitMs = 0.1;
  clock.advance(10);
  clock.advance(1);
  assert.equal(expired, 1);
  assert.equal(timers, 2);
});

test('disposing disarms', () => {
  const { clock, compute, state } = setUp(1000);
  compute[Symbol.dispose]();
  clock.advance(5000);
  assert.equal(state.expired, 0);
  assert.equal(compute.spentMs(), 0);
});

test('the system clock does not go back, and fires and cancels', async () => {
  const before = systemClock.now();
  assert.ok(systemClock.now() >= before);
  let fired = 0;
  const cancelled = systemClock.after(1, () => void fired++);
  cancelled.cancel();
  systemClock.after(2, () => void (fired += 10));
  systemClock.after(-5, () => void (fired += 100));
  await until(() => fired >= 110);
  assert.equal(fired, 110);
});

test('a delay beyond 2^31 ms does not fire at once', async () => {
  let fired = false;
  const timers = [2 ** 31, 2 ** 32, 86_400_000 * 365, Infinity].map((ms) =>
    systemClock.after(ms, () => void (fired = true))
  );
  let later = false;
  systemClock.after(20, () => void (later = true));
  await until(() => later);
  for (const timer of timers) timer.cancel();
  assert.equal(fired, false);
});
