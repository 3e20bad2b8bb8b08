// The jobs for one checker process, one at a time, each with a deadline, owners in turn. A job that passes
// its deadline costs the process, which is started anew for the next. Decides nothing about schemas.

import type { VerdictHeader } from '../protocol/child_messages.ts';
import type { Log } from '../observe/log.ts';
import type { RawValue } from '../protocol/outline.ts';
import { type Clock, ComputeClock } from '../supervisor/clocks.ts';
import type { Launch } from '../supervisor/launcher.ts';
import { Checker } from './checker.ts';

/** `args` undefined: only compile. `owner`: jobs of different owners are taken in turn. */
export type Job = {
  readonly schema: RawValue;
  readonly args: Uint8Array | undefined;
  readonly owner: string;
  readonly deadlineMs: number;
};

/** `late`: the deadline passed. `fault`: no verdict could be had, for a reason that is not the schema's. */
export type JobEnd = VerdictHeader | 'late' | { readonly fault: string };

type Waiting = { readonly job: Job; readonly resolve: (end: JobEnd) => void };

/** After so many schemas the process is started anew, so that what it holds stays bounded. */
const mostSchemas = 2000;
/** A process that is not ready after this time is given up. Milliseconds. */
const longestStartMs = 30_000;

export class CheckerLane {
  readonly #launch: Launch;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By owner, in the order in which they are served next. */
  readonly #waiting = new Map<string, Waiting[]>();
  #checker: Checker | undefined;
  #working = false;
  #closed = false;

  constructor(options: { launch: Launch; clock: Clock; log: Log }) {
    this.#launch = options.launch;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Starts the process before its first job. */
  warm(): void {
    if (!this.#closed) this.#checker ??= new Checker(this.#launch);
  }

  run(job: Job): Promise<JobEnd> {
    const { promise, resolve } = Promise.withResolvers<JobEnd>();
    const line = this.#waiting.get(job.owner) ?? [];
    line.push({ job, resolve });
    this.#waiting.set(job.owner, line);
    void this.#work();
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#checker?.end();
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let next = this.#next(); next; next = this.#next()) {
      const { job, resolve } = next;
      resolve(await this.#carryOut(job).catch((error: Error) => ({ fault: error.message })));
    }
    this.#working = false;
  }

  /** The oldest job of the owner whose turn it is; that owner comes last then. */
  #next(): Waiting | undefined {
    for (const [owner, line] of this.#waiting) {
      const next = line.shift();
      this.#waiting.delete(owner);
      if (line.length > 0) this.#waiting.set(owner, line);
      return next;
    }
    return undefined;
  }

  async #carryOut(job: Job): Promise<JobEnd> {
    const first = await this.#try(job);
    // A process that died while it was idle is found out only when it is asked: that is not the job's fault.
    return first === 'gone'
      ? await this.#try(job).then((end) => end === 'gone' ? { fault: 'the checker dies again and again' } : end)
      : first;
  }

  async #try(job: Job): Promise<JobEnd | 'gone'> {
    if (this.#closed) return { fault: 'the daemon is shutting down' };
    if (this.#checker && (this.#checker.gone || this.#checker.schemas >= mostSchemas)) {
      await this.#checker.end();
      this.#checker = undefined;
    }
    this.warm();
    const checker = this.#checker!;
    const giveUp = this.#clock.after(longestStartMs, () => void checker.end());
    await checker.ready.finally(() => giveUp.cancel());
    let late = false;
    const expired = () => {
      late = true;
      this.#log.warn({ owner: job.owner, deadlineMs: job.deadlineMs }, 'a schema took too long: its checker is ended');
      void checker.end();
    };
    using _deadline = new ComputeClock({
      clock: this.#clock,
      limitMs: job.deadlineMs,
      expired,
      processorTime: () => checker.processorTime(),
    });
    try {
      return await checker.judge(job.schema, job.args);
    } catch (error) {
      if (late) return 'late';
      this.#log.warn({ problem: (error as Error).message }, 'a checker is gone');
      return 'gone';
    }
  }
}
