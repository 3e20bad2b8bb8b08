// The clocks of a run. Compute stands still while a call is open, and forgives the time in which the
// child stood in line for a processor; the wall clock never stands still. Marks nothing, kills nothing:
// what follows when a clock runs out is the run's to decide.

import type { ProcessorTime } from '../runtime/process_facts.ts';

/** Time and timers, as a parameter so that tests can turn the hands. Milliseconds, monotonic. */
export type Clock = {
  readonly now: () => number;
  readonly after: (ms: number, call: () => void) => { readonly cancel: () => void };
};

/** Longest delay of one timer: beyond 2^31 ms it would fire at once. */
const longestTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(Math.max(0, ms), longestTimerMs));
    return { cancel: () => clearTimeout(timer) };
  },
};

export class ComputeClock {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #expired: () => void;
  readonly #processorTime: () => ProcessorTime | undefined;
  #spentMs = 0;
  #runningSince: number | undefined;
  #waitedAtStart = 0;
  #timer: { cancel: () => void } | undefined;

  /**
   * Starts at once.
   * @param options.limitMs > 0
   * @param options.expired called once, when the limit has been spent
   * @param options.processorTime of the child; undefined where the host does not tell
   */
  constructor(
    options: { clock: Clock; limitMs: number; expired: () => void; processorTime: () => ProcessorTime | undefined },
  ) {
    this.#clock = options.clock;
    this.#limitMs = options.limitMs;
    this.#expired = options.expired;
    this.#processorTime = options.processorTime;
    this.resume();
  }

  /** A call was opened. */
  pause(): void {
    if (this.#runningSince === undefined) return;
    this.#spentMs = this.spentMs();
    this.#runningSince = undefined;
    this.#timer?.cancel();
  }

  /** The last open call has been answered. */
  resume(): void {
    if (this.#runningSince !== undefined) return;
    this.#runningSince = this.#clock.now();
    this.#waitedAtStart = this.#processorTime()?.waitMs ?? 0;
    this.#arm();
  }

  spentMs(): number {
    if (this.#runningSince === undefined) return this.#spentMs;
    const elapsed = this.#clock.now() - this.#runningSince;
    const waited = Math.max(0, (this.#processorTime()?.waitMs ?? this.#waitedAtStart) - this.#waitedAtStart);
    return this.#spentMs + Math.max(0, elapsed - waited);
  }

  [Symbol.dispose](): void {
    this.pause();
  }

  #arm(): void {
    this.#timer = this.#clock.after(Math.ceil(this.#limitMs - this.spentMs()), () => {
      if (this.spentMs() >= this.#limitMs) this.#expired();
      else this.#arm();
    });
  }
}
