// All runs of the daemon: those under way here, the ended ones in ended_runs.ts. Each is open to its owner
// only, whose key is the daemon's own: names and sessions are claims, and never a key.

import { ProtocolError } from '../protocol/errors.ts';
import type { Admission } from './admission.ts';
import type { Cause } from './endings.ts';
import { EndedRuns } from './ended_runs.ts';
import type { CallRecord, Outcome } from './outcome.ts';
import { Run, type RunServices } from './run.ts';
import type { RunRequest } from './run_request.ts';
import type { RunSummary } from './run_summary.ts';

/** `key` is what opens the owner's runs; the rest is shown. */
export type Owner = { readonly key: string; readonly session: string; readonly agent: string };

type UnderWay = { readonly owner: Owner; readonly run: Run };

export class Runs {
  readonly #services: RunServices;
  readonly #admission: Admission;
  readonly #ended: EndedRuns;
  /** By owner and run id. */
  readonly #underWay = new Map<string, UnderWay>();
  readonly #endings = new Set<Promise<unknown>>();

  constructor(services: RunServices, admission: Admission) {
    this.#services = services;
    this.#admission = admission;
    this.#ended = new EndedRuns(services);
  }

  /**
   * Runs a program to its end.
   * @throws {ProtocolError} `invalid_params` if the id is in use, `busy` if too many wait
   */
  start(owner: Owner, request: RunRequest): Promise<Outcome> {
    if (this.has(owner, request.runId)) {
      const id = JSON.stringify(request.runId);
      throw new ProtocolError(
        'invalid_params',
        `Cannot run program: run_id ${id} is in use; choose another or leave it out`,
      );
    }
    const key = keyOf(owner, request.runId);
    const run = new Run(request, this.#services);
    const admitted = this.#admission.enter(owner.key, run.stopSignal);
    this.#underWay.set(key, { owner, run });
    const ending = this.#carryThrough({ key, owner, run, admitted }).finally(() => {
      this.#underWay.delete(key);
      this.#endings.delete(ending);
    });
    this.#endings.add(ending);
    return ending;
  }

  /**
   * @returns whether it is this that ends the run
   * @throws {ProtocolError} `no_such_run`
   */
  cancel(owner: Owner, runId: string, reason: string | undefined): boolean {
    const underWay = this.#underWay.get(keyOf(owner, runId));
    if (underWay) {
      return underWay.run.stop({ kind: 'interrupted', message: reason ? `cancelled: ${reason}` : 'cancelled' });
    }
    this.#requireEnded(owner, runId);
    return false;
  }

  has(owner: Owner, runId: string): boolean {
    const key = keyOf(owner, runId);
    return this.#underWay.has(key) || this.#ended.get(key) !== undefined;
  }

  /** Stops the runs under way that `chosen` picks. */
  stop(cause: Cause, chosen: (run: Run) => boolean): void {
    for (const { run } of this.#underWay.values()) if (chosen(run)) run.stop(cause);
  }

  /** Fulfilled when no run is under way. */
  async settled(): Promise<void> {
    while (this.#endings.size > 0) await Promise.allSettled(this.#endings);
  }

  /** @throws {ProtocolError} `no_such_run` */
  find(owner: Owner, runId: string): { outcome: Outcome | undefined; records: readonly CallRecord[] } {
    const underWay = this.#underWay.get(keyOf(owner, runId));
    return underWay ? { outcome: undefined, records: underWay.run.ledger.records } : this.#requireEnded(owner, runId);
  }

  summaries(owner: Owner): RunSummary[] {
    const going = [...this.#underWay.values()].filter((entry) => entry.owner.key === owner.key);
    return [...this.#ended.of(owner.key), ...going.map((entry) => summarise(entry, undefined))];
  }

  forget(ownerKey: string): void {
    this.#ended.forget(ownerKey);
  }

  status(): { running: number; queued: number; ended: number } {
    return { ...this.#admission.status(), ended: this.#ended.count };
  }

  async #carryThrough(started: UnderWay & { key: string; admitted: Promise<() => void> }): Promise<Outcome> {
    const { key, owner, run } = started;
    let leave: (() => void) | undefined;
    try {
      leave = await started.admitted;
    } catch (error) {
      // A run that was stopped in the queue ends as any other; anything else is a refusal.
      if (!run.stopSignal.aborted) throw error;
    }
    try {
      const outcome = await run.execute();
      this.#log(outcome, owner);
      this.#ended.add(key, {
        owner: owner.key,
        summary: summarise(started, outcome),
        outcome,
        // Copies: what comes later is for nobody, and would not be counted.
        records: outcome.calls,
      });
      return outcome;
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

  #requireEnded(owner: Owner, runId: string): { outcome: Outcome; records: readonly CallRecord[] } {
    const ended = this.#ended.get(keyOf(owner, runId));
    if (ended) return ended;
    const id = JSON.stringify(runId);
    throw new ProtocolError(
      'no_such_run',
      `Cannot find run ${id}: this session has no run of that id, or it is no longer kept`,
    );
  }
}

const keyOf = (owner: Owner, runId: string): string => `${owner.key}\0${runId}`;

function summarise({ owner, run }: UnderWay, outcome: Outcome | undefined): RunSummary {
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
