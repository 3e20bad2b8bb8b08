// Why a run ended, in one value: from the run's own cause where it has one, else from how the child saw it.
// The sentences of the failure kinds are made here.

import type { ClockName, Exhausted, Kind, StoppedBy } from '../protocol/failures.ts';
import type { Limits } from '../protocol/limits.ts';
import type { RunHandlers } from '../supervisor/child.ts';

export type Cause = {
  readonly kind: Kind;
  readonly message: string;
  readonly clock?: ClockName;
  readonly exhausted?: Exhausted;
};

export type ChildEnd = Parameters<RunHandlers['ended']>[0];

export type Ending = Cause & { readonly traceback: string | undefined; readonly stoppedBy: StoppedBy };

/** Joins what the daemon noted with what the child said. `end` is undefined if no child ever had the program. */
export function describeEnding(
  options: { cause: Cause | undefined; end: ChildEnd | undefined; killed: boolean; limits: Limits },
): Ending {
  const { cause, end, killed, limits } = options;
  if (end === undefined) {
    return { ...cause!, traceback: undefined, stoppedBy: cause!.kind === 'crashed' ? 'itself' : 'inside' };
  }
  if (end.ending === 'crashed') {
    const crash: Cause = {
      kind: 'crashed',
      message: `the process of the program ended without an outcome: ${end.exit.words}`,
    };
    const bySignal = killed || end.exit.signal !== null;
    return { ...(cause ?? crash), traceback: undefined, stoppedBy: bySignal ? 'kill' : 'itself' };
  }
  const traceback = end.traceback ?? undefined;
  if (cause) {
    // Beside a cause of ours the child's message can only tell where the program was.
    return { ...cause, message: cause.message + whereItWas(end), traceback, stoppedBy: 'inside' };
  }
  switch (end.ending) {
    case 'memory':
      return { ...memoryCause(end.memoryBytes, end.message, limits), traceback, stoppedBy: 'inside' };
    case 'final':
    case 'interrupted':
      return {
        kind: 'crashed',
        message: 'the process of the program said that it was stopped, but nobody had stopped it',
        traceback,
        stoppedBy: 'itself',
      };
    default:
      return { kind: end.ending, message: end.message, traceback, stoppedBy: 'itself' };
  }
}

function memoryCause(used: number, where: string, limits: Limits): Cause {
  const limit = limits.memory_bytes;
  const message = `the program held more than ${limit / (1024 * 1024)} MiB${where && `, at ${where}`}`;
  return {
    kind: 'memory',
    message,
    exhausted: { name: 'memory_bytes', used, limit, requested: Math.max(used, limit + 1) },
  };
}

/** A signal may meet a loop that makes no calls between two places where the interpreter notes its line: then the line is the last one noted. */
function whereItWas(end: Exclude<ChildEnd, { ending: 'crashed' }>): string {
  if (end.message === '' || (end.ending !== 'interrupted' && end.ending !== 'final')) return '';
  return `, ${end.ending === 'interrupted' ? 'last seen ' : ''}at ${end.message}`;
}

/** @param openTools the tools that had a call open when the clock ran out */
export function timeCause(
  options: { clock: ClockName; limitMs: number; spentMs: number; openTools: readonly string[] },
): Cause {
  const { clock, limitMs, spentMs, openTools } = options;
  const seconds = `${limitMs / 1000} s`;
  const waiting = openTools.length > 0
    ? `, in a call of ${openTools.map((tool) => JSON.stringify(tool)).join(', ')}`
    : '';
  const message = clock === 'compute'
    ? `the compute budget of ${seconds} is used up`
    : `the wall clock of ${seconds} has run out${waiting}`;
  const used = Math.round(spentMs);
  return {
    kind: 'time',
    clock,
    message,
    exhausted: { name: `${clock}_ms`, used, limit: limitMs, requested: Math.max(used, limitMs) },
  };
}
