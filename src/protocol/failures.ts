// How a run can end: one row for each kind, with what it means and what the model should do about it.
// The reports, the wire and the documentation are made from the rows.

import type { Limits } from './limits.ts';

type KindRow = {
  /** Marked for circuit breakers: the call could not be made at all. */
  readonly fault: boolean;
  readonly meaning: string;
  /** Advice for the model; `undefined` where there is nothing to do. */
  readonly recovery: string | undefined;
};

const completed = 'calls that completed remain in effect';

export const kindTable = {
  ok: { fault: false, meaning: 'the program ran to its end', recovery: undefined },
  compile: {
    fault: true,
    meaning: 'the program could not be parsed; nothing of it ran',
    recovery: 'Correct the syntax at the line named and send the program again; no call was made',
  },
  error: {
    fault: false,
    meaning: 'the program raised an error that it did not catch',
    recovery: `Read the traceback and the calls below: ${completed}, so send only what is left to do`,
  },
  denied: {
    fault: false,
    meaning: 'a call was refused, and the program did not handle it',
    recovery: `Do not try this call again; the program itself is sound, and ${completed}`,
  },
  time: {
    fault: false,
    meaning: 'a clock ran out: compute or wall',
    recovery: `Do less in one program, or split the work; ${completed}`,
  },
  memory: {
    fault: false,
    meaning: 'the program held more memory than its limit',
    recovery: `Handle data piece by piece instead of holding it all; ${completed}`,
  },
  calls: {
    fault: false,
    meaning: 'the program made more calls than its limit',
    recovery: `Narrow the loop, or go on in another program with what is left; ${completed}`,
  },
  results: {
    fault: false,
    meaning: 'the results of all calls together passed their limit',
    recovery: `Ask the tools for less, or split the work; ${completed}`,
  },
  history: {
    fault: false,
    meaning: 'the durable record of the run or of the session is full',
    recovery: `Split the work into another run, or compact the session, as the message says; ${completed}`,
  },
  interrupted: {
    fault: false,
    meaning: 'the run was cancelled, or its agent or the daemon went away',
    recovery: undefined,
  },
  crashed: {
    fault: false,
    meaning: 'the process of the program ended without saying how',
    recovery: `Check what the calls below did before trying again; ${completed}`,
  },
} as const satisfies Record<string, KindRow>;

export type Kind = keyof typeof kindTable;
export type FailureKind = Exclude<Kind, 'ok'>;

/** Who ended the run: the program itself, the daemon by a stop that the child obeyed, or a kill. */
export type StoppedBy = 'itself' | 'inside' | 'kill';
export type ClockName = 'compute' | 'wall';

/** The limit that ended a run. `requested` is what the refused step would have taken in all. */
export type Exhausted = {
  readonly name: keyof Limits;
  readonly used: number;
  readonly limit: number;
  readonly requested: number;
};
