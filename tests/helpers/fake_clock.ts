// A clock whose hands a test turns: timers fire in the order of their times, and only when time is moved.

import type { Clock } from '../../src/supervisor/clocks.ts';

type Timer = { readonly at: number; readonly order: number; readonly call: () => void };

export class FakeClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now: number;
  #order = 0;

  constructor(now = 1000) {
    this.#now = now;
  }

  now = (): number => this.#now;

  after = (ms: number, call: () => void): { cancel: () => void } => {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, call };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  };

  /** Milliseconds until each timer that is armed, soonest first. */
  get armed(): number[] {
    return this.#sorted().map(({ at }) => at - this.#now);
  }

  /** Moves time on and fires what falls due, timers armed on the way included. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = this.#sorted()[0];
      if (!due || due.at > until) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.call();
    }
    this.#now = until;
  }

  #sorted(): Timer[] {
    return [...this.#timers].sort((a, b) => a.at - b.at || a.order - b.order);
  }
}
