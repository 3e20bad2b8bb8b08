// The tables of states, whole: each legal move leads where it must, and each other is a bug that throws.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextRunState, type RunEvent, type RunState } from '../../../src/runs/run_states.ts';
import { type ChildEvent, type ChildState, nextState } from '../../../src/supervisor/child_states.ts';

const childMoves: Record<ChildState, Partial<Record<ChildEvent, ChildState>>> = {
  starting: { ready: 'warm', retired: 'stopping', exited: 'dead' },
  warm: { assigned: 'running', retired: 'stopping', exited: 'dead' },
  running: { finished: 'stopping', retired: 'stopping', exited: 'dead' },
  stopping: { retired: 'stopping', exited: 'dead' },
  dead: {},
};
const childEvents: ChildEvent[] = ['ready', 'assigned', 'finished', 'retired', 'exited'];

const runMoves: Record<RunState, Partial<Record<RunEvent, RunState>>> = {
  queued: { admitted: 'starting', stopped: 'ending' },
  starting: { assigned: 'running', stopped: 'ending' },
  running: { stopped: 'ending' },
  ending: { settled: 'ended' },
  ended: {},
};
const runEvents: RunEvent[] = ['admitted', 'assigned', 'stopped', 'settled'];

test('every move of a child is legal and leads where it must, or throws', () => {
  for (const state of Object.keys(childMoves) as ChildState[]) {
    for (const event of childEvents) {
      const next = childMoves[state][event];
      if (next) assert.equal(nextState(state, event), next);
      else {
        assert.throws(
          () => nextState(state, event),
          new Error(`Cannot move a child that is ${state} by ${event}: no such move`),
        );
      }
    }
  }
});

test('every move of a run is legal and leads where it must, or throws', () => {
  for (const state of Object.keys(runMoves) as RunState[]) {
    for (const event of runEvents) {
      const next = runMoves[state][event];
      if (next) assert.equal(nextRunState(state, event), next);
      else {
        assert.throws(
          () => nextRunState(state, event),
          new Error(`Cannot move a run that is ${state} by ${event}: no such move`),
        );
      }
    }
  }
});
