// The life of one run as a full table of states and moves.

export type RunState = 'queued' | 'starting' | 'running' | 'ending' | 'ended';
export type RunEvent = 'admitted' | 'assigned' | 'stopped' | 'settled';

/** Legal moves of one run. A missing entry is a bug, never ignored. */
const moves: Record<RunState, Partial<Record<RunEvent, RunState>>> = {
  queued: { admitted: 'starting', stopped: 'ending' },
  starting: { assigned: 'running', stopped: 'ending' },
  running: { stopped: 'ending' },
  ending: { settled: 'ended' },
  ended: {},
};

/** @throws {Error} if a run in this state cannot meet the event: a bug of ours */
export function nextRunState(state: RunState, event: RunEvent): RunState {
  const next = moves[state][event];
  if (next === undefined) throw new Error(`Cannot move a run that is ${state} by ${event}: no such move`);
  return next;
}
