// Who may start when: places in turn between agents, bounded lines, refusals that say what is full.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import { Admission } from '../../../src/runs/admission.ts';
import { until } from '../../helpers/until.ts';

const never = new AbortController().signal;
const limits = { maxRunning: 2, maxRunningPerAgent: 2, maxQueued: 100, maxQueuedPerAgent: 50 };

/** Asks for a place and notes under `name` when it is given. */
function watch(admission: Admission, agent: string, entered: string[], name = agent): { leave: () => void } {
  const held = { leave: () => {} };
  admission.enter(agent, never).then((leave) => {
    held.leave = leave;
    entered.push(name);
  });
  return held;
}

test('places that are free are given at once, and given back', async () => {
  const admission = new Admission(limits);
  const first = await admission.enter('a', never);
  const second = await admission.enter('b', never);
  assert.deepEqual(admission.status(), { running: 2, queued: 0 });
  first();
  second();
  assert.deepEqual(admission.status(), { running: 0, queued: 0 });
});

test('places are given in turn between agents, not in the order of asking', async () => {
  const admission = new Admission({ ...limits, maxRunning: 1 });
  const leave = await admission.enter('a', never);
  const entered: string[] = [];
  const places = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => watch(admission, name[0]!, entered, name));
  assert.deepEqual(admission.status(), { running: 1, queued: 6 });
  leave();
  const names = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'];
  for (let i = 1; i <= 6; i++) {
    await until(() => entered.length === i);
    assert.deepEqual(admission.status(), { running: 1, queued: 6 - i });
    places[names.indexOf(entered.at(-1)!)]!.leave();
  }
  assert.deepEqual(entered, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('one agent cannot take all places, and its own wait does not hold up others', async () => {
  const admission = new Admission({ ...limits, maxRunning: 3, maxRunningPerAgent: 2 });
  const entered: string[] = [];
  const greedy = ['g1', 'g2', 'g3', 'g4'].map((name) => watch(admission, 'g', entered, name));
  await until(() => entered.length === 2);
  watch(admission, 'b', entered);
  await until(() => entered.length === 3);
  assert.deepEqual(entered, ['g1', 'g2', 'b']);
  assert.deepEqual(admission.status(), { running: 3, queued: 2 });
  greedy[0]!.leave();
  await until(() => entered.length === 4);
  assert.deepEqual(entered, ['g1', 'g2', 'b', 'g3']);
});

test('a newcomer does not overtake those of its own agent who wait', async () => {
  const admission = new Admission({ ...limits, maxRunning: 1 });
  const leave = await admission.enter('x', never);
  const entered: string[] = [];
  watch(admission, 'a', entered, 'a1');
  leave();
  watch(admission, 'a', entered, 'a2');
  await until(() => entered.length === 1);
  assert.deepEqual(entered, ['a1']);
});

test('a full queue refuses, saying what is full and when to come again', async () => {
  const busy = (message: string) => new ProtocolError('busy', message, { what: 'queue', retry_after_ms: 1000 });
  const all = new Admission({ maxRunning: 1, maxRunningPerAgent: 1, maxQueued: 2, maxQueuedPerAgent: 2 });
  await all.enter('a', never);
  all.enter('a', never);
  all.enter('b', never);
  await assert.rejects(
    async () => await all.enter('c', never),
    busy('Cannot run program: 2 runs are waiting, which is the most; try again later'),
  );
  assert.deepEqual(all.status(), { running: 1, queued: 2 });

  const one = new Admission({ maxRunning: 1, maxRunningPerAgent: 1, maxQueued: 9, maxQueuedPerAgent: 1 });
  const leave = await one.enter('a', never);
  one.enter('a', never).then((next) => next());
  await assert.rejects(
    async () => await one.enter('a', never),
    busy('Cannot run program: 1 run of this agent is waiting, which is the most; try again later'),
  );
  one.enter('b', never).then((next) => next());
  leave();
  await until(() => one.status().running === 0);
  (await one.enter('a', never))();
});

test('with no queue at all a refusal says so', async () => {
  const admission = new Admission({ maxRunning: 1, maxRunningPerAgent: 1, maxQueued: 0, maxQueuedPerAgent: 0 });
  await admission.enter('a', never);
  await assert.rejects(async () => await admission.enter('b', never), ProtocolError);
  assert.deepEqual(admission.status(), { running: 1, queued: 0 });
});

test('a wait that is given up rejects with its reason and frees its place in the line', async () => {
  const admission = new Admission({ ...limits, maxRunning: 1, maxQueued: 2 });
  const leave = await admission.enter('a', never);
  const stop = new AbortController();
  const given = admission.enter('b', stop.signal);
  const entered: string[] = [];
  watch(admission, 'c', entered);
  stop.abort(new Error('cancelled'));
  await assert.rejects(given, new Error('cancelled'));
  assert.deepEqual(admission.status(), { running: 1, queued: 1 });
  leave();
  await until(() => entered.length === 1);
  assert.deepEqual(entered, ['c']);
});

test('an abort after the place was given changes nothing', async () => {
  const admission = new Admission({ ...limits, maxRunning: 1 });
  const leave = await admission.enter('a', never);
  const stop = new AbortController();
  const second = admission.enter('b', stop.signal);
  leave();
  const leaveSecond = await second;
  stop.abort(new Error('later'));
  assert.deepEqual(admission.status(), { running: 1, queued: 0 });
  leaveSecond();
  assert.deepEqual(admission.status(), { running: 0, queued: 0 });
});

test('a wait that was given up before it began is refused and takes no place', async () => {
  const admission = new Admission({ ...limits, maxRunning: 1 });
  const leave = await admission.enter('a', never);
  let settled = false;
  const given = admission.enter('b', AbortSignal.abort(new Error('too late'))).finally(() => settled = true);
  given.catch(() => {});
  await Promise.resolve().then(() => {});
  if (!settled) leave();
  await assert.rejects(given, new Error('too late'));
});

test('agents that came and went leave nothing behind', async () => {
  const admission = new Admission({ ...limits, maxRunning: 1, maxQueued: 0 });
  const leave = await admission.enter('a', never);
  // Lines cannot be seen from outside: look at the map that they are put in.
  const original = Map.prototype.set;
  const lines = new Set<unknown>();
  Map.prototype.set = function (key, value) {
    lines.add(this);
    return original.call(this, key, value);
  };
  try {
    for (let i = 0; i < 50; i++) await assert.rejects(async () => await admission.enter(`refused ${i}`, never));
  } finally {
    Map.prototype.set = original;
  }
  leave();
  const left = [...lines].map((map) => (map as Map<unknown, unknown>).size);
  assert.ok(left.every((size) => size < 50), `${left} lines are kept`);
});
