// One checker process and the jobs that wait for it, one at a time, each with a deadline. A job that
// passes its deadline costs the process, which is started anew for the next. Decides nothing about schemas.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { encodeFrame, frameKinds, FrameReader, type VerdictHeader } from '../protocol/child_messages.ts';
import type { Log } from '../observe/log.ts';
import type { RawValue } from '../protocol/outline.ts';
import { processorTime } from '../runtime/process_facts.ts';
import { type Clock, ComputeClock } from '../supervisor/clocks.ts';
import type { Launch, Launched } from '../supervisor/launcher.ts';

const verdictHeader = z.object({
  ok: z.boolean(),
  message: z.string().max(4096),
  emptyArrays: z.array(z.int().min(0)),
});

/** `args` undefined: only compile. `owner`: jobs of different owners are taken in turn. */
export type Job = {
  readonly schema: RawValue;
  readonly args: Uint8Array | undefined;
  readonly owner: string;
  readonly deadlineMs: number;
};
export type JobEnd = VerdictHeader | 'late';

type Waiting = { readonly job: Job; readonly resolve: (end: JobEnd) => void };

/** After so many schemas the process is started anew, so that what it holds stays bounded. */
const mostSchemas = 2000;

export const schemaKey = (schema: RawValue): string => createHash('sha256').update(schema.bytes).digest('base64');

export class CheckerLane {
  readonly #launch: Launch;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waiting: Waiting[] = [];
  #checker: Checker | undefined;
  #busy = false;
  #lastOwner = '';
  #closed = false;

  constructor(options: { launch: Launch; clock: Clock; log: Log }) {
    this.#launch = options.launch;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Starts the process before its first job. */
  warm(): void {
    this.#checker ??= new Checker(this.#launch, this.#log);
  }

  run(job: Job): Promise<JobEnd> {
    const { promise, resolve } = Promise.withResolvers<JobEnd>();
    this.#waiting.push({ job, resolve });
    void this.#work();
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#checker?.end();
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let next = this.#next(); next; next = this.#next()) next.resolve(await this.#carryOut(next.job));
    this.#busy = false;
  }

  /** The oldest job of another owner than the last, if there is one. */
  #next(): Waiting | undefined {
    const place = this.#waiting.findIndex(({ job }) => job.owner !== this.#lastOwner);
    const [next] = this.#waiting.splice(Math.max(0, place), 1);
    if (next) this.#lastOwner = next.job.owner;
    return next;
  }

  async #carryOut(job: Job): Promise<JobEnd> {
    if (this.#closed) return refused('the daemon is shutting down');
    if (this.#checker && (this.#checker.ended || this.#checker.schemas >= mostSchemas)) {
      await this.#checker.end();
      this.#checker = undefined;
    }
    this.warm();
    const checker = this.#checker!;
    try {
      await checker.ready;
    } catch (error) {
      return refused(`the arguments cannot be checked: ${(error as Error).message}`);
    }
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
      return await checker.carryOut(job);
    } catch (error) {
      return late ? 'late' : refused(`the arguments cannot be checked: ${(error as Error).message}`);
    }
  }
}

const refused = (message: string): VerdictHeader => ({ ok: false, message, emptyArrays: [] });

/** The process itself: one question at a time. */
class Checker {
  readonly #launched: Launched;
  readonly #reader = new FrameReader();
  readonly #ready = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<void>();
  readonly #known = new Map<string, number>();
  #answer: PromiseWithResolvers<VerdictHeader> | undefined;
  #diagnostics = '';
  ended = false;

  constructor(launch: Launch, log: Log) {
    this.#launched = launch();
    const { process: child, pipe, diagnostics } = this.#launched;
    this.#ready.promise.catch(() => {});
    child.on('error', (error) => this.#close(error.message));
    child.on('exit', (code, signal) => this.#close(`the checker was ended by ${signal ?? `code ${code}`}`));
    pipe.on('error', () => {});
    pipe.on('data', (chunk: Uint8Array) => {
      try {
        for (const frame of this.#reader.feed(chunk)) this.#take(frame.kind, frame.header);
      } catch (error) {
        log.warn({ problem: (error as Error).message }, 'a checker sent a malformed frame');
        void this.end();
      }
    });
    diagnostics.on(
      'data',
      (chunk: Uint8Array) => this.#diagnostics = (this.#diagnostics + new TextDecoder().decode(chunk)).slice(0, 4096),
    );
    diagnostics.on('error', () => {});
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get schemas(): number {
    return this.#known.size;
  }

  processorTime() {
    return this.ended ? undefined : processorTime(this.#launched.process.pid!);
  }

  async carryOut({ schema, args }: Job): Promise<VerdictHeader> {
    const key = schemaKey(schema);
    let id = this.#known.get(key);
    if (id === undefined) {
      id = this.#known.size + 1;
      const verdict = await this.#ask(encodeFrame(frameKinds.schema, { schema: id }, schema.bytes));
      if (!verdict.ok) return verdict;
      this.#known.set(key, id);
    }
    return args
      ? this.#ask(encodeFrame(frameKinds.check, { schema: id }, args))
      : { ok: true, message: '', emptyArrays: [] };
  }

  end(): Promise<void> {
    if (!this.ended) this.#launched.process.kill('SIGKILL');
    return this.#exited.promise;
  }

  #ask(frame: Uint8Array): Promise<VerdictHeader> {
    this.#answer = Promise.withResolvers();
    if (this.ended) this.#answer.reject(new Error('the checker has ended'));
    else this.#launched.pipe.write(frame);
    return this.#answer.promise;
  }

  #take(kind: number, header: unknown): void {
    if (kind === frameKinds.ready) return this.#ready.resolve();
    if (kind !== frameKinds.verdict) {
      throw new Error(`a frame of kind ${kind} was not expected: ${JSON.stringify(header)}`);
    }
    this.#answer?.resolve(verdictHeader.parse(header));
  }

  #close(words: string): void {
    if (this.ended) return;
    this.ended = true;
    this.#launched.pipe.destroy();
    this.#launched.diagnostics.destroy();
    const error = new Error(this.#diagnostics ? `${words}; it said: ${this.#diagnostics.trim()}` : words);
    this.#ready.reject(error);
    this.#answer?.promise.catch(() => {});
    this.#answer?.reject(error);
    this.#exited.resolve();
  }
}
