// What is asked for when a program is to be run: everything about one run that is known before it starts.

import type { LanguageName, Limits } from '../protocol/limits.ts';
import type { Catalogue } from '../tools/catalogue.ts';
import type { Ledger } from './ledger.ts';
import type { Printed } from './printed.ts';
import type { RunState } from './run_states.ts';

export type RunRequest = {
  readonly runId: string;
  readonly language: LanguageName;
  readonly source: Uint8Array;
  readonly intent: string | undefined;
  readonly turn: string;
  readonly cwd: string | undefined;
  readonly limits: Limits;
  readonly catalogue: Catalogue;
  /** The connection that asked: its runs end with it. */
  readonly origin: string;
  /** Hears of each change of state and of each call that begins or ends. */
  readonly progressed: (run: RunView) => void;
};

/** A run as others see it while it goes on. */
export type RunView = {
  readonly request: RunRequest;
  readonly state: RunState;
  readonly ledger: Ledger;
  readonly printed: Printed;
  readonly computeMs: () => number;
};
