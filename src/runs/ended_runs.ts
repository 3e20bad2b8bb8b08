// What is kept of runs that have ended: their outcomes and ledgers, nothing of how they were run.
// Bounded in number and in bytes, the oldest go first, and their spill files with them.

import type { Log } from '../observe/log.ts';
import type { CallRecord, Outcome } from './outcome.ts';
import type { RunSummary } from './run_summary.ts';
import type { SpillFolder } from './spill.ts';

export type EndedRun = {
  readonly owner: string;
  readonly summary: RunSummary;
  readonly outcome: Outcome;
  readonly records: readonly CallRecord[];
};

type Kept = EndedRun & { readonly bytes: number };

const mostRuns = 1000;
const mostBytes = 64 * 1024 * 1024;

export class EndedRuns {
  readonly #spill: SpillFolder;
  readonly #log: Log;
  /** By key, oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  /** How many have ended in all. */
  count = 0;

  constructor(options: { spill: SpillFolder; log: Log }) {
    this.#spill = options.spill;
    this.#log = options.log;
  }

  get(key: string): EndedRun | undefined {
    return this.#kept.get(key);
  }

  of(owner: string): RunSummary[] {
    return [...this.#kept.values()].filter((run) => run.owner === owner).map(({ summary }) => summary);
  }

  add(key: string, run: EndedRun): void {
    const bytes = sizeOf(run);
    this.count++;
    this.#kept.set(key, { ...run, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostRuns && this.#bytes <= mostBytes) return;
      if (oldest !== key) this.#drop(oldest);
    }
  }

  /** Drops the runs of somebody who cannot come back for them. */
  forget(owner: string): void {
    for (const [key, run] of this.#kept) if (run.owner === owner) this.#drop(key);
  }

  #drop(key: string): void {
    const { bytes, outcome } = this.#kept.get(key)!;
    this.#kept.delete(key);
    this.#bytes -= bytes;
    if (!outcome.spillPath) return;
    this.#spill.remove(outcome.spillPath).catch((error: Error) => {
      this.#log.warn({ run: outcome.runId, problem: error.message }, 'a spill file could not be removed');
    });
  }
}

/** Roughly what a run holds in memory, in bytes. */
function sizeOf({ outcome, records }: EndedRun): number {
  const calls = records.reduce((sum, record) => {
    const words = [...record.context, ...record.changedPaths, record.message ?? ''].reduce(
      (chars, text) => chars + text.length,
      0,
    );
    return sum + record.arguments.bytes.length + (record.content?.bytes.length ?? 0) + 2 * words + 256;
  }, 0);
  return 2 * calls + outcome.output.bytes.length + 4 * outcome.report.length + 4096;
}
