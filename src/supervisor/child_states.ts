// The life of one child as a full table of states and moves. Knows nothing of processes.

export type ChildState = 'starting' | 'warm' | 'running' | 'stopping' | 'dead';
export type ChildEvent = 'ready' | 'assigned' | 'finished' | 'retired' | 'exited';

/** Legal moves of one child. A missing entry is a bug, never ignored. */
const moves: Record<ChildState, Partial<Record<ChildEvent, ChildState>>> = {
  starting: { ready: 'warm', retired: 'stopping', exited: 'dead' },
  warm: { assigned: 'running', retired: 'stopping', exited: 'dead' },
  running: { finished: 'stopping', retired: 'stopping', exited: 'dead' },
  stopping: { retired: 'stopping', exited: 'dead' },
  dead: {},
};

/** @throws {Error} if a child in this state cannot meet the event: a bug of ours */
export function nextState(state: ChildState, event: ChildEvent): ChildState {
  const next = moves[state][event];
  if (next === undefined) throw new Error(`Cannot move a child that is ${state} by ${event}: no such move`);
  return next;
}
