// All runs of the daemon: those under way, and the last ones that have ended, each open to its own session only.
// What is kept of ended runs is bounded; their spill files go with them.

import { ProtocolError } from '../protocol/errors.ts';
import type { Admission } from './admission.ts';
import type { Cause } from './endings.ts';
import type { CallRecord, Outcome } from './outcome.ts';
import { Run, type RunServices } from './run.ts';
import type { RunRequest } from './run_request.ts';

export type Owner = { readonly session: string; readonly agent: string };

export type RunSummary = {
  readonly run_id: string;
  readonly agent: string;
  readonly session: string;
  readonly language: string;
  readonly kind: string;
  readonly intent: string | null;
  readonly started_at: number;
  readonly wall_ms: number;
  readonly calls: number;
  readonly changed_paths: readonly string[];
};

type Entry = { readonly owner: Owner; readonly run: Run; outcome: Outcome | undefined };

const mostEndedRuns = 1000;
const mostEndedBytes = 64 * 1024 * 1024;

export class Runs {
  readonly #services: RunServices;
  readonly #admission: Admission;
  /** By session and run id, oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #underWay = new Set<Promise<unknown>>();
  #endedBytes = 0;
  #ended = 0;

  constructor(services: RunServices, admission: Admission) {
    this.#services = services;
    this.#admission = admission;
  }

  /**
   * Runs a program to its end.
   * @throws {ProtocolError} `invalid_params` if the id is in use, `busy` if too many wait
   */
  start(owner: Owner, request: RunRequest): Promise<Outcome> {
    const key = keyOf(owner.session, request.runId);
    if (this.#entries.has(key)) {
      throw new ProtocolError(
        'invalid_params',
        `Cannot run program: run_id ${JSON.stringify(request.runId)} is in use; choose another or leave it out`,
      );
    }
    const run = new Run(request, this.#services);
    const admitted = this.#admission.enter(owner.session, run.stopSignal);
    const entry: Entry = { owner, run, outcome: undefined };
    this.#entries.set(key, entry);
    const ending = this.#carryThrough(entry, admitted).finally(() => this.#underWay.delete(ending));
    this.#underWay.add(ending);
    return ending;
  }

  /** @returns whether the run was under way */
  cancel(session: string, runId: string, reason: string | undefined): boolean {
    const entry = this.#require(session, runId);
    if (entry.outcome) return false;
    entry.run.stop({ kind: 'interrupted', message: reason ? `cancelled: ${reason}` : 'cancelled' });
    return true;
  }

  has(session: string, runId: string): boolean {
    return this.#entries.has(keyOf(session, runId));
  }

  /** Stops the runs under way that `chosen` picks. */
  stop(cause: Cause, chosen: (owner: Owner, run: Run) => boolean): void {
    for (const { owner, run, outcome } of this.#entries.values()) if (!outcome && chosen(owner, run)) run.stop(cause);
  }

  /** Fulfilled when no run is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** @throws {ProtocolError} `no_such_run` */
  find(session: string, runId: string): { outcome: Outcome | undefined; records: readonly CallRecord[] } {
    const { run, outcome } = this.#require(session, runId);
    return { outcome, records: run.ledger.records };
  }

  summaries(session: string): RunSummary[] {
    return [...this.#entries.values()].filter(({ owner }) => owner.session === session).map(summarise);
  }

  status(): { running: number; queued: number; ended: number } {
    return { ...this.#admission.status(), ended: this.#ended };
  }

  async #carryThrough(entry: Entry, admitted: Promise<() => void>): Promise<Outcome> {
    const { run, owner } = entry;
    let leave: (() => void) | undefined;
    try {
      leave = await admitted;
    } catch (error) {
      // A run that was stopped in the queue ends as any other; anything else is a refusal.
      if (!run.stopSignal.aborted) {
        this.#entries.delete(keyOf(owner.session, run.request.runId));
        throw error;
      }
    }
    try {
      entry.outcome = await run.execute();
      this.#log(entry.outcome, owner);
      this.#ended++;
      this.#retain(entry);
      return entry.outcome;
    } finally {
      leave?.();
      // Behind the answer: starting a child holds up the loop.
      setImmediate(() => this.#services.pool.refill());
    }
  }

  #log(outcome: Outcome, { agent, session }: Owner): void {
    const { runId, kind, stoppedBy, usage } = outcome;
    const { calls, computeMs, wallMs } = usage;
    this.#services.log.info({ run: runId, agent, session, kind, stoppedBy, calls, computeMs, wallMs }, 'run ended');
  }

  #retain(entry: Entry): void {
    this.#endedBytes += sizeOf(entry);
    let ended = [...this.#entries.values()].filter(({ outcome }) => outcome).length;
    for (const [key, old] of this.#entries) {
      if (ended <= mostEndedRuns && this.#endedBytes <= mostEndedBytes) return;
      if (!old.outcome || old === entry) continue;
      this.#entries.delete(key);
      this.#endedBytes -= sizeOf(old);
      ended--;
      if (old.outcome.spillPath) {
        this.#services.spill.remove(old.outcome.spillPath).catch((error: Error) => {
          this.#services.log.warn(
            { run: old.run.request.runId, problem: error.message },
            'a spill file could not be removed',
          );
        });
      }
    }
  }

  #require(session: string, runId: string): Entry {
    const entry = this.#entries.get(keyOf(session, runId));
    if (entry) return entry;
    throw new ProtocolError(
      'no_such_run',
      `Cannot find run ${JSON.stringify(runId)}: this session has no run of that id, or it is no longer kept`,
    );
  }
}

const keyOf = (session: string, runId: string): string => `${session}\0${runId}`;

/** Roughly what an ended run holds in memory, in bytes. */
function sizeOf({ run, outcome }: Entry): number {
  const records = run.ledger.records.reduce(
    (sum, { arguments: args, content }) => sum + args.bytes.length + (content?.bytes.length ?? 0),
    0,
  );
  return records + run.printed.heldBytes + (outcome?.report.length ?? 0) + 4096;
}

function summarise({ owner, run, outcome }: Entry): RunSummary {
  const { request, ledger, state, startedAt } = run;
  return {
    run_id: request.runId,
    agent: owner.agent,
    session: owner.session,
    language: request.language,
    kind: outcome?.kind ?? (state === 'queued' ? 'queued' : 'running'),
    intent: request.intent ?? null,
    started_at: startedAt,
    wall_ms: outcome?.usage.wallMs ?? run.wallMs(),
    calls: ledger.dispatched,
    changed_paths: outcome?.evidence.changedPaths ?? [],
  };
}
