// One child of one program: handshake, calls, ending. A child that ends without a `finished` frame has
// crashed. Never decides what happens next: pool.ts and runs/ do.

import {
  type AnswerHeader,
  encodeFrame,
  type FinishedHeader,
  frameKinds,
  type ProgramHeader,
  type ReadyHeader,
} from '../protocol/child_messages.ts';
import type { Log } from '../observe/log.ts';
import type { ProcessorTime } from '../runtime/process_facts.ts';
import { type ChildMessage, readChildMessage } from './child_frames.ts';
import { type Exit, OwnedProcess } from './child_process.ts';
import { type ChildEvent, type ChildState, nextState } from './child_states.ts';
import type { Launch } from './launcher.ts';

export type ChildCall = Extract<ChildMessage, { kind: 'call' }>;

export type RunHandlers = {
  readonly printed: (bytes: Uint8Array) => void;
  readonly call: (call: ChildCall) => void;
  /** Once, at the end: how the child saw it, or why it can say nothing any more. */
  readonly ended: (end: FinishedHeader | { readonly ending: 'crashed'; readonly exit: Exit }) => void;
};

/** How long a child that has finished may take to leave by itself, in milliseconds. */
const leaveMs = 250;

export class Child {
  readonly #process: OwnedProcess;
  readonly #log: Log;
  readonly #ready = Promise.withResolvers<ReadyHeader>();
  #state: ChildState = 'starting';
  #handlers: RunHandlers | undefined;
  /** Calls so far, and whether the last one waits for its answer: a child has one at a time, in order. */
  #calls = 0;
  #asking = false;

  constructor(launch: Launch, log: Log) {
    this.#log = log;
    this.#ready.promise.catch(() => {}); // The pool waits for it; a child that dies at once may do so before.
    this.#process = new OwnedProcess(launch, {
      frame: (frame) => this.#take(readChildMessage(frame)),
      refused: (problem) => {
        this.#log.warn({ pid: this.pid, problem }, 'a child sent a malformed frame');
        this.kill();
      },
      closed: (exit) => this.#close(exit),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get state(): ChildState {
    return this.#state;
  }

  /** Whether it can be given a program. */
  get isWarm(): boolean {
    return this.#state === 'warm' && this.#process.alive;
  }

  /** Fulfilled when the child has locked itself up; rejected if it dies before. */
  get ready(): Promise<ReadyHeader> {
    return this.#ready.promise;
  }

  get exited(): Promise<Exit> {
    return this.#process.exited;
  }

  /** Gives the child its one program. */
  assign(
    program: { readonly header: ProgramHeader; readonly source: Uint8Array; readonly handlers: RunHandlers },
  ): void {
    this.#move('assigned');
    this.#handlers = program.handlers;
    this.#process.send(encodeFrame(frameKinds.program, program.header, program.source));
  }

  answer(header: AnswerHeader, ...payload: readonly Uint8Array[]): void {
    if (this.#state !== 'running') return;
    this.#asking = false;
    this.#process.send(encodeFrame(frameKinds.answer, header, ...payload));
  }

  /** Stops the program from inside: on Node it still says where it was. */
  interrupt(): void {
    if (this.#state === 'running') this.#process.interrupt();
  }

  /** Ends the process and its whole group at once. */
  kill(): void {
    if (this.#state === 'dead') return;
    if (this.#state !== 'stopping') this.#move('retired');
    this.#process.kill();
  }

  /** Processor time of the program's thread so far. */
  processorTime(): ProcessorTime | undefined {
    return this.#process.processorTime();
  }

  #move(event: ChildEvent): void {
    const next = nextState(this.#state, event);
    this.#log.debug({ pid: this.pid, from: this.#state, to: next, event }, 'child');
    this.#state = next;
  }

  #take(message: ChildMessage): void {
    if (message.kind === 'fault') return this.#process.note(message.header.message);
    // After `finished`, or after the kill was sent, nothing that still comes is of interest.
    if (this.#state === 'stopping') return;
    if (message.kind === 'ready') {
      this.#move('ready');
      return this.#ready.resolve(message.header);
    }
    if (this.#state !== 'running') {
      throw new Error(`a frame of kind ${message.kind} came from a child that is ${this.#state}`);
    }
    if (message.kind === 'printed') return this.#handlers?.printed(message.bytes);
    if (message.kind === 'call') return this.#takeCall(message);
    this.#move('finished');
    this.#end(message.header);
    const timer = setTimeout(() => this.kill(), leaveMs);
    this.exited.then(() => clearTimeout(timer));
  }

  #takeCall(message: ChildCall): void {
    const { call } = message.header;
    if (this.#asking || call !== this.#calls + 1) {
      throw new Error(`call ${call} came where ${this.#asking ? 'none' : `call ${this.#calls + 1}`} was due`);
    }
    this.#calls = call;
    this.#asking = true;
    this.#handlers?.call(message);
  }

  #end(end: Parameters<RunHandlers['ended']>[0]): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.ended(end);
  }

  #close(exit: Exit): void {
    this.#move('exited');
    this.#log.debug({ pid: this.pid, exit: exit.words }, 'child is gone');
    this.#ready.reject(new Error(`a child ended before it was ready: ${exit.words}`));
    this.#end({ ending: 'crashed', exit });
  }
}
