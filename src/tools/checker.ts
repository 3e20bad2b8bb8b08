// One checker process, one question at a time: learns schemas, holds arguments against them.
// Its verdicts are checked like every word of a child; it decides nothing about deadlines.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { encodeFrame, type Frame, frameKinds, type VerdictHeader } from '../protocol/child_messages.ts';
import type { RawValue } from '../protocol/outline.ts';
import type { ProcessorTime } from '../runtime/process_facts.ts';
import { OwnedProcess } from '../supervisor/child_process.ts';
import type { Launch } from '../supervisor/launcher.ts';

const verdictHeader = z.object({
  ok: z.boolean(),
  message: z.string().max(4096),
  emptyArrays: z.array(z.int().min(0)).max(1_000_000),
});

const keys = new WeakMap<RawValue, string>();

/** What stands for a schema where its bytes would be compared. */
export function schemaKey(schema: RawValue): string {
  let key = keys.get(schema);
  if (key === undefined) keys.set(schema, key = createHash('sha256').update(schema.bytes).digest('base64'));
  return key;
}

export class Checker {
  readonly #process: OwnedProcess;
  readonly #ready = Promise.withResolvers<void>();
  readonly #known = new Map<string, number>();
  #question: PromiseWithResolvers<VerdictHeader> | undefined;
  #gone: Error | undefined;

  constructor(launch: Launch) {
    this.#ready.promise.catch(() => {}); // Whoever asks hears of it; nobody may have asked yet.
    this.#process = new OwnedProcess(launch, {
      frame: (frame) => this.#take(frame),
      refused: () => {}, // Told by `closed`, with the reason.
      closed: ({ words }) => {
        this.#gone = new Error(`the checker has ended: ${words}`);
        this.#ready.reject(this.#gone);
        this.#question?.reject(this.#gone);
      },
    });
  }

  /** Fulfilled when it can be asked; rejected if it ends before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get gone(): boolean {
    return this.#gone !== undefined;
  }

  get schemas(): number {
    return this.#known.size;
  }

  processorTime(): ProcessorTime | undefined {
    return this.#process.processorTime();
  }

  /** The verdict on a schema, and on arguments if there are some. @throws {Error} if the process ends first */
  async judge(schema: RawValue, args: Uint8Array | undefined): Promise<VerdictHeader> {
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

  async end(): Promise<void> {
    this.#process.kill();
    await this.#process.exited;
  }

  #ask(frame: Uint8Array): Promise<VerdictHeader> {
    if (this.#gone) return Promise.reject(this.#gone);
    this.#question = Promise.withResolvers();
    this.#process.send(frame);
    return this.#question.promise;
  }

  #take({ kind, header }: Frame): void {
    if (kind === frameKinds.ready) return this.#ready.resolve();
    if (kind === frameKinds.fault) return this.#process.note(JSON.stringify(header));
    const question = this.#question;
    if (kind !== frameKinds.verdict || !question) throw new Error(`a frame of kind ${kind} was not expected`);
    this.#question = undefined;
    question.resolve(verdictHeader.parse(header));
  }
}
