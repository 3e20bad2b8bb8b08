// The process under a child of any kind: its pipe of frames, what it says on standard error, its exit.
// A frame that is malformed, or that whoever owns the child refuses, ends it. Decides nothing about programs.

import { Buffer } from 'node:buffer';
import process from 'node:process';
import type { Duplex } from 'node:stream';
import { type Frame, FrameReader, maxFrameBytes, PacketReader } from '../protocol/child_messages.ts';
import { processorTime } from '../runtime/process_facts.ts';
import type { Launch, Launched } from './launcher.ts';

/** How a child went: in words for people, and the signal if one ended it. */
export type Exit = { readonly words: string; readonly signal: string | null };

export type ProcessHandlers = {
  /** Takes a frame; what it throws is told as the reason why the process was ended. */
  readonly frame: (frame: Frame) => void;
  /** A frame was malformed, or `frame` threw: the process is being ended. */
  readonly refused: (problem: string) => void;
  /** Once, when the process is gone and its last frames have been taken. */
  readonly closed: (exit: Exit) => void;
};

const diagnosticChars = 4096;
/** How long the pipe may stay open after the exit: someone else holds it then. Milliseconds. */
const drainMs = 100;

export class OwnedProcess {
  readonly #launched: Launched;
  readonly #handlers: ProcessHandlers;
  readonly #packets = new PacketReader();
  readonly #reader = new FrameReader();
  readonly #exited = Promise.withResolvers<Exit>();
  #state: 'alive' | 'exited' | 'closed' = 'alive';
  #refused: string | undefined;
  #diagnostics = '';

  constructor(launch: Launch, handlers: ProcessHandlers) {
    this.#handlers = handlers;
    this.#launched = launch();
    if ('failed' in this.#launched) {
      const { failed } = this.#launched;
      // Told later, as every end is: the owner is still being made.
      queueMicrotask(() => this.#close({ words: `it could not be started: ${failed}`, signal: null }));
      return;
    }
    const { process: child, pipe, diagnostics } = this.#launched;
    child.on('error', (error) => {
      if (child.pid === undefined) this.#close({ words: `it could not be started: ${error.message}`, signal: null });
    });
    child.on('exit', (code, signal) => {
      if (this.#state !== 'alive') return;
      this.#state = 'exited';
      this.#drain(pipe, { words: signal ? `it was ended by ${signal}` : `it left with code ${code}`, signal });
    });
    pipe.on('data', (chunk: Uint8Array) => this.#receive(chunk));
    pipe.on('error', () => {}); // A write to a child that is gone; its exit tells.
    diagnostics.on('data', (chunk: Uint8Array) => this.note(Buffer.from(chunk).toString('utf8')));
    diagnostics.on('error', () => {});
  }

  get pid(): number | undefined {
    return 'failed' in this.#launched ? undefined : this.#launched.process.pid;
  }

  /** False as soon as its exit is known. */
  get alive(): boolean {
    return this.#state === 'alive';
  }

  get exited(): Promise<Exit> {
    return this.#exited.promise;
  }

  /** Keeps words of the child for the description of its exit. */
  note(words: string): void {
    this.#diagnostics = (this.#diagnostics + words).slice(0, diagnosticChars);
  }

  send(frame: Uint8Array): void {
    if (this.#state !== 'alive' || 'failed' in this.#launched) return;
    const { pipe } = this.#launched;
    pipe.write(frame);
    // Nobody has to be sent more than two frames at once: it does not read.
    if (pipe.writableLength > 2 * maxFrameBytes) this.kill();
  }

  interrupt(): void {
    if (this.#state === 'alive' && !('failed' in this.#launched)) this.#launched.process.kill('SIGINT');
  }

  /** Ends the process and its whole group. Not after its exit: its number may be somebody else's by then. */
  kill(): void {
    if (this.#state !== 'alive' || this.pid === undefined || 'failed' in this.#launched) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      this.#launched.process.kill('SIGKILL'); // It has no group of its own yet.
    }
  }

  /** Processor time of its main thread so far; undefined when it is gone. */
  processorTime(): ReturnType<typeof processorTime> {
    return this.pid === undefined || this.#state !== 'alive' ? undefined : processorTime(this.pid);
  }

  #receive(chunk: Uint8Array): void {
    if (this.#refused !== undefined) return;
    try {
      for (const bytes of this.#packets.feed(chunk)) {
        for (const frame of this.#reader.feed(bytes)) this.#handlers.frame(frame);
      }
    } catch (error) {
      this.#refused = (error as Error).message;
      this.#handlers.refused(this.#refused);
      this.kill();
    }
  }

  /** The last frames may still be in the pipe when the exit is known; a stranger who holds its other end must not delay us. */
  #drain(pipe: Duplex, exit: Exit): void {
    if (pipe.readableEnded || pipe.destroyed) return this.#close(exit);
    const timer = setTimeout(() => this.#close(exit), drainMs);
    pipe.once('close', () => {
      clearTimeout(timer);
      this.#close(exit);
    });
  }

  #close(exit: Exit): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    if (!('failed' in this.#launched)) {
      this.#launched.pipe.destroy();
      this.#launched.diagnostics.destroy();
    }
    const said = this.#diagnostics.trim();
    const words = this.#refused === undefined ? exit.words : `it sent a malformed frame: ${this.#refused}`;
    const told = { words: said ? `${words}; it said: ${said}` : words, signal: exit.signal };
    this.#handlers.closed(told);
    this.#exited.resolve(told);
  }
}
