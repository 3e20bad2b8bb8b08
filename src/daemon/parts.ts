// What all connections of a daemon share, handed to each.

import type { Config } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { Runs } from '../runs/runs.ts';
import type { SpillFolder } from '../runs/spill.ts';
import type { Clock } from '../supervisor/clocks.ts';
import type { ArgumentChecker } from '../tools/arguments.ts';
import type { Tool } from '../tools/catalogue.ts';
import type { Sessions } from './identity.ts';

export type DaemonParts = {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly runs: Runs;
  readonly spill: SpillFolder;
  readonly sessions: Sessions;
  readonly checker: ArgumentChecker;
  /** Where an agent may work, and which folders are the daemon's own; absolute, the latter resolved. */
  readonly places: { readonly roots: readonly string[]; readonly withheld: readonly string[] };
  /** Tools that every catalogue has. */
  readonly builtIn: readonly Tool[];
  readonly version: string;
  readonly runtime: string;
  readonly status: () => object;
  /** Whether the daemon takes no more programs. */
  readonly draining: () => boolean;
};
