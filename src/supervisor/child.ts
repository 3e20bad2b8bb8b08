// One child process: start, handshake, frames, exit. A child that ends without a
// `finished` frame has crashed. Never decides what happens next: pool.ts and runs/ do.

import { Buffer } from 'node:buffer';
import process from 'node:process';
import {
  type AnswerHeader,
  encodeFrame,
  type FinishedHeader,
  frameKinds,
  FrameReader,
  type ProgramHeader,
  type ReadyHeader,
} from '../protocol/child_messages.ts';
import type { Log } from '../observe/log.ts';
import { processorTime } from '../runtime/process_facts.ts';
import { type ChildMessage, readChildMessage } from './child_frames.ts';
import { type ChildEvent, type ChildState, nextState } from './child_states.ts';
import type { Launch, Launched } from './launcher.ts';

/** How a child went: in words for people, and the signal if one ended it. */
export type Exit = { readonly words: string; readonly signal: string | null };

export type RunHandlers = {
  readonly printed: (bytes: Uint8Array) => void;
  readonly call: (call: Extract<ChildMessage, { kind: 'call' }>) => void;
  /** Once, at the end: how the child saw it, or why it can say nothing any more. */
  readonly ended: (end: FinishedHeader | { readonly ending: 'crashed'; readonly exit: Exit }) => void;
};

const diagnosticBytes = 4096;
/** How long a child that has finished may take to leave by itself, in milliseconds. */
const leaveMs = 250;
/** How long the pipe may stay open after the exit: someone else holds it then. */
const drainMs = 100;

export class Child {
  readonly #launched: Launched;
  readonly #reader = new FrameReader();
  readonly #log: Log;
  readonly #ready = Promise.withResolvers<ReadyHeader>();
  readonly #exited = Promise.withResolvers<Exit>();
  #state: ChildState = 'starting';
  #handlers: RunHandlers | undefined;
  #malformed: string | undefined;
  #diagnostics = '';
  #spawnError: Error | undefined;

  constructor(launch: Launch, log: Log) {
    this.#log = log;
    this.#launched = launch();
    const { process: child, pipe, diagnostics } = this.#launched;
    this.#ready.promise.catch(() => {}); // The pool waits for it; a child that dies at once may do so before.
    child.on('error', (error) => {
      this.#spawnError = error;
      if (child.pid === undefined) this.#close({ words: `it could not be started: ${error.message}`, signal: null });
    });
    child.on(
      'exit',
      (code, signal) =>
        this.#drain({ words: signal ? `it was ended by ${signal}` : `it left with code ${code}`, signal }),
    );
    pipe.on('data', (chunk: Uint8Array) => this.#receive(chunk));
    pipe.on('error', () => {}); // A write to a child that is gone; its exit tells.
    diagnostics.on('data', (chunk: Uint8Array) => {
      if (this.#diagnostics.length < diagnosticBytes) this.#diagnostics += Buffer.from(chunk).toString('utf8');
    });
    diagnostics.on('error', () => {});
  }

  get pid(): number | undefined {
    return this.#launched.process.pid;
  }

  get state(): ChildState {
    return this.#state;
  }

  /** Fulfilled when the child has locked itself up; rejected if it dies before. */
  get ready(): Promise<ReadyHeader> {
    return this.#ready.promise;
  }

  get exited(): Promise<Exit> {
    return this.#exited.promise;
  }

  /** Gives the child its one program. */
  assign(header: ProgramHeader, source: Uint8Array, handlers: RunHandlers): void {
    this.#move('assigned');
    this.#handlers = handlers;
    this.#launched.pipe.write(encodeFrame(frameKinds.program, header, source));
  }

  answer(header: AnswerHeader, ...payload: readonly Uint8Array[]): void {
    if (this.#state === 'running') this.#launched.pipe.write(encodeFrame(frameKinds.answer, header, ...payload));
  }

  /** Stops the program from inside: on Node it still says where it was. */
  interrupt(): void {
    if (this.#state !== 'dead') this.#launched.process.kill('SIGINT');
  }

  /** Ends the process and its whole group at once. */
  kill(): void {
    if (this.#state === 'dead' || this.pid === undefined) return;
    if (this.#state !== 'stopping') this.#move('retired');
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      this.#launched.process.kill('SIGKILL'); // The group is gone before its leader was waited for.
    }
  }

  /** Processor time of the program's thread so far. */
  processorTime(): ReturnType<typeof processorTime> {
    return this.pid === undefined || this.#state === 'dead' ? undefined : processorTime(this.pid);
  }

  #move(event: ChildEvent): void {
    const next = nextState(this.#state, event);
    this.#log.debug({ pid: this.pid, from: this.#state, to: next, event }, 'child');
    this.#state = next;
  }

  #receive(chunk: Uint8Array): void {
    if (this.#malformed !== undefined) return;
    try {
      for (const frame of this.#reader.feed(chunk)) this.#take(readChildMessage(frame));
    } catch (error) {
      this.#malformed = (error as Error).message;
      this.#log.warn({ pid: this.pid, problem: this.#malformed }, 'a child sent a malformed frame');
      this.kill();
    }
  }

  #take(message: ChildMessage): void {
    if (message.kind === 'ready') {
      this.#move('ready');
      this.#ready.resolve(message.header);
      return;
    }
    if (message.kind === 'fault') {
      this.#diagnostics += message.header.message;
      return;
    }
    if (this.#state !== 'running') {
      // After `finished`, or after the kill was sent, nothing that still comes is of interest.
      if (this.#state === 'stopping') return;
      throw new Error(`a frame of kind ${message.kind} came from a child that is ${this.#state}`);
    }
    if (message.kind === 'printed') this.#handlers?.printed(message.bytes);
    else if (message.kind === 'call') this.#handlers?.call(message);
    else {
      this.#move('finished');
      this.#end(message.header);
      const timer = setTimeout(() => this.kill(), leaveMs);
      this.#exited.promise.then(() => clearTimeout(timer));
    }
  }

  #end(end: Parameters<RunHandlers['ended']>[0]): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.ended(end);
  }

  /** The last frames may still be in the pipe when the exit is known; a stranger who holds its other end must not delay us. */
  #drain(exit: Exit): void {
    const { pipe } = this.#launched;
    if (pipe.readableEnded || pipe.destroyed) return this.#close(exit);
    const timer = setTimeout(() => this.#close(exit), drainMs);
    pipe.once('close', () => {
      clearTimeout(timer);
      this.#close(exit);
    });
  }

  #close(exit: Exit): void {
    if (this.#state === 'dead') return;
    this.#move('exited');
    this.#launched.pipe.destroy();
    this.#launched.diagnostics.destroy();
    const said = this.#diagnostics.trim();
    const words = this.#malformed === undefined ? exit.words : `it sent a malformed frame: ${this.#malformed}`;
    const told = { words: said ? `${words}; it said: ${said}` : words, signal: exit.signal };
    this.#ready.reject(new Error(`a child ended before it was ready: ${told.words}`, { cause: this.#spawnError }));
    this.#end({ ending: 'crashed', exit: told });
    this.#exited.resolve(told);
  }
}
