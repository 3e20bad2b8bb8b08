// Who may start a program when: bounded running and queued runs, overall and per agent,
// and places given in turn between agents. Refusals say what is full. An agent is known by its session here:
// its name is a claim, by which anybody could take somebody else's places.

import { ProtocolError } from '../protocol/errors.ts';
import type { AdmissionLimits } from '../protocol/limits.ts';
import { counted } from '../protocol/wording.ts';

type Waiting = { readonly enter: (leave: () => void) => void; readonly refuse: (error: Error) => void };
type Line = { running: number; readonly waiting: Waiting[] };

const retryAfterMs = 1000;
const isOrAre = (count: number): string => count === 1 ? 'is' : 'are';

export class Admission {
  readonly #limits: AdmissionLimits;
  /** By agent, in the order in which they are served next. */
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #queued = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  status(): { running: number; queued: number } {
    return { running: this.#running, queued: this.#queued };
  }

  /**
   * Waits for a place.
   * @param signal gives the wait up; its reason is thrown
   * @returns what gives the place back, to be called once
   * @throws {ProtocolError} `busy` at once, if the queue is full
   */
  enter(agent: string, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const line = this.#lines.get(agent) ?? { running: 0, waiting: [] };
    if (this.#hasRoom(line) && line.waiting.length === 0) return Promise.resolve(this.#take(agent, line));
    this.#requireQueue(line);
    this.#lines.set(agent, line);
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiting: Waiting = { enter: resolve, refuse: reject };
    line.waiting.push(waiting);
    this.#queued++;
    signal.addEventListener('abort', () => {
      const place = line.waiting.indexOf(waiting);
      if (place < 0) return;
      line.waiting.splice(place, 1);
      this.#queued--;
      this.#forget(agent, line);
      waiting.refuse(signal.reason);
    }, { once: true });
    return promise;
  }

  #hasRoom(line: Line): boolean {
    return this.#running < this.#limits.maxRunning && line.running < this.#limits.maxRunningPerAgent;
  }

  #requireQueue(line: Line): void {
    const { maxQueued, maxQueuedPerAgent } = this.#limits;
    const full = this.#queued >= maxQueued
      ? `${counted(maxQueued, 'run')} ${isOrAre(maxQueued)} waiting, which is the most`
      : line.waiting.length >= maxQueuedPerAgent
      ? `${counted(maxQueuedPerAgent, 'run')} of this agent ${isOrAre(maxQueuedPerAgent)} waiting, which is the most`
      : undefined;
    if (full) {
      throw new ProtocolError('busy', `Cannot run program: ${full}; try again later`, {
        what: 'queue',
        retry_after_ms: retryAfterMs,
      });
    }
  }

  #take(agent: string, line: Line): () => void {
    this.#lines.set(agent, line);
    this.#running++;
    line.running++;
    return () => {
      this.#running--;
      line.running--;
      this.#forget(agent, line);
      this.#serve();
    };
  }

  /** Gives free places away, one to each agent in turn. */
  #serve(): void {
    for (let served = true; served && this.#running < this.#limits.maxRunning;) {
      served = false;
      for (const [agent, line] of [...this.#lines]) {
        const waiting = this.#hasRoom(line) ? line.waiting.shift() : undefined;
        if (!waiting) continue;
        this.#queued--;
        // Behind all others: the next place is somebody else's.
        this.#lines.delete(agent);
        this.#lines.set(agent, line);
        waiting.enter(this.#take(agent, line));
        served = true;
      }
    }
  }

  #forget(agent: string, line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(agent);
  }
}
