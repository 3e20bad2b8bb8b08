// What an attack is: it names the guards that stop it and must succeed once these, and only these, are gone.
// `run` runs in the child; `seen` runs in the test and looks at the world for the effect.

import fs from 'node:fs';
import type { LockdownPart } from '../../src/child/lockdown.ts';
import type { Native } from '../../src/runtime/native.ts';

export type Guard = LockdownPart | 'flags';

/** What the attacker knows: everything. Paths, ports and processes of a daemon and of another child. */
export type Target = {
  readonly state: string;
  readonly journal: string;
  readonly socket: string;
  readonly port: number;
  readonly parent: number;
  readonly sibling: number;
  readonly siblingStack: number;
  readonly library: string;
};

/** What the test sees of the world afterwards. */
export type Seen = {
  readonly received: () => string;
  readonly signals: () => number;
  readonly siblingState: () => string;
};

export type Attack = {
  readonly name: string;
  readonly without: readonly Guard[];
  /** Ends, replaces or may abort its process: it gets one for itself. */
  readonly alone?: boolean;
  /** The call succeeds all the same, and what it writes goes nowhere. */
  readonly swallowed?: boolean;
  readonly run: (target: Target, native: Native) => unknown;
  /** False until the attack has had its effect. */
  readonly seen?: (target: Target, seen: Seen) => boolean;
};

export const secret = 'the secret of the journal';

export function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(`${what} did not happen`);
}

/** Effects: a file in the state folder, bytes at the daemon, a signal at the parent. */
export const wrote = (name: string) => (target: Target) => fs.existsSync(`${target.state}/${name}`);
export const received = (_: Target, seen: Seen) => seen.received().includes('attack');
export const signalled = (_: Target, seen: Seen) => seen.signals() > 0;
