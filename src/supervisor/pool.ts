// Warm children of one language, ready before they are needed, each used once. Replacements are started
// off the path of a run. Children that die before they are ready are tried again with growing pauses,
// and whoever waits is told why.

import type { Log } from '../observe/log.ts';
import type { ReadyHeader } from '../protocol/child_messages.ts';
import { Child } from './child.ts';
import type { Clock } from './clocks.ts';
import type { Launch } from './launcher.ts';

export type PoolStatus = {
  readonly warm: number;
  readonly starting: number;
  readonly running: number;
  readonly wanted: number;
  readonly started: number;
  /** Why children cannot be started, while they cannot. */
  readonly problem: string | undefined;
  readonly runtime: string | undefined;
  readonly lockdown: ReadyHeader['lockdown'] | undefined;
};

type Waiter = { readonly resolve: (child: Child) => void; readonly reject: (error: Error) => void };

/** How many children may be starting at once: more only slow one another down. */
const mostStarting = 4;
/** A replacement is started when its predecessor's run has ended, or after this time: starting one holds up the daemon for some ms. */
const replaceAfterMs = 50;
/** A child that is not ready after this time is given up. */
const longestStartMs = 30_000;
const firstPauseMs = 100;
const longestPauseMs = 30_000;
/** After so many failures in a row, those who wait are told instead of kept. */
const failuresToTell = 3;

export class Pool {
  readonly #launch: Launch;
  readonly #wanted: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #warm: Child[] = [];
  readonly #starting = new Set<Child>();
  readonly #running = new Set<Child>();
  readonly #waiters: Waiter[] = [];
  #failures = 0;
  #problem: string | undefined;
  #pause: { cancel: () => void } | undefined;
  #replacement: { cancel: () => void } | undefined;
  #started = 0;
  #lastReady: ReadyHeader | undefined;
  #closed = false;

  constructor(options: { launch: Launch; warm: number; clock: Clock; log: Log }) {
    this.#launch = options.launch;
    this.#wanted = options.warm;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#fill();
  }

  status(): PoolStatus {
    return {
      warm: this.#warm.length,
      starting: this.#starting.size,
      running: this.#running.size,
      wanted: this.#wanted,
      started: this.#started,
      problem: this.#problem,
      runtime: this.#lastReady?.runtime,
      lockdown: this.#lastReady?.lockdown,
    };
  }

  /**
   * A child that has locked itself up and waits for its program.
   * @param signal gives the wait up; its reason is thrown
   * @throws {Error} saying why none can be started, or that the pool is closed
   */
  take(signal: AbortSignal): Promise<Child> {
    if (this.#closed) return Promise.reject(new Error('the pool is closed'));
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    let child = this.#warm.shift();
    // One that is being ended for a bad frame still stands here until it is gone.
    while (child && !child.isWarm) child = this.#warm.shift();
    if (child) {
      this.#give(child);
      this.#replacement ??= this.#clock.after(replaceAfterMs, () => this.refill());
      return Promise.resolve(child);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Child>();
    const waiter: Waiter = { resolve, reject };
    this.#waiters.push(waiter);
    signal.addEventListener('abort', () => {
      const place = this.#waiters.indexOf(waiter);
      if (place >= 0) this.#waiters.splice(place, 1);
      reject(signal.reason as Error);
    }, { once: true });
    this.#fill();
    return promise;
  }

  /** Starts what is missing; called when a run has been answered. */
  refill(): void {
    this.#replacement?.cancel();
    this.#replacement = undefined;
    this.#fill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#pause?.cancel();
    this.#replacement?.cancel();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error('the pool is closed'));
    const children = [...this.#warm, ...this.#starting, ...this.#running];
    for (const child of children) child.kill();
    await Promise.all(children.map((child) => child.exited));
  }

  #give(child: Child): void {
    this.#running.add(child);
    child.exited.then(() => this.#running.delete(child));
  }

  #fill(): void {
    if (this.#closed || this.#pause) return;
    const missing = this.#wanted + this.#waiters.length - this.#warm.length - this.#starting.size;
    const room = mostStarting - this.#starting.size;
    for (let i = 0; i < Math.min(missing, room); i++) this.#start();
  }

  #start(): void {
    const child = new Child(this.#launch, this.#log);
    this.#started++;
    this.#starting.add(child);
    const late = this.#clock.after(longestStartMs, () => child.kill());
    child.ready.finally(() => late.cancel()).then(
      (ready) => {
        this.#starting.delete(child);
        this.#lastReady = ready;
        this.#failures = 0;
        this.#problem = undefined;
        this.#arrive(child);
      },
      (error: Error) => {
        this.#starting.delete(child);
        this.#fail(error);
      },
    );
  }

  #arrive(child: Child): void {
    if (this.#closed) return child.kill();
    const waiter = this.#waiters.shift();
    if (waiter) {
      this.#give(child);
      waiter.resolve(child);
    } else {
      this.#warm.push(child);
      child.exited.then((exit) => this.#lose(child, exit.words));
    }
    this.#fill();
  }

  /** A child that died while it was warm is replaced; one that was taken is its run's affair. */
  #lose(child: Child, words: string): void {
    const place = this.#warm.indexOf(child);
    if (place < 0 || this.#closed) return;
    this.#warm.splice(place, 1);
    this.#log.warn({ pid: child.pid, exit: words }, 'a warm child died');
    this.#fill();
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.#problem = error.message;
    // Those that were started together fail together: that is one failure.
    if (this.#pause) return;
    this.#failures++;
    this.#log.error({ failures: this.#failures, problem: error.message }, 'a child could not be started');
    if (this.#failures >= failuresToTell) {
      for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error(error.message));
    }
    const ms = Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failures - 1));
    this.#pause = this.#clock.after(ms, () => {
      this.#pause = undefined;
      this.#fill();
    });
  }
}
