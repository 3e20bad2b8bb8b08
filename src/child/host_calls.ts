// What the interpreter asks of the daemon, as frames on the pipe: printed output, and calls that block
// until their answer is there. Keeps the child's own count of what it prints; decides nothing else.

import process from 'node:process';
import { type AnswerHeader, frameKinds } from '../protocol/child_messages.ts';
import type { HostAnswer, ProgramHost } from '../languages/language.ts';
import type { FramePipe } from './frame_pipe.ts';

/** The most that goes into one frame of printed output, in bytes. */
const printedFrameBytes = 1024 * 1024;

export class DaemonHost implements ProgramHost {
  readonly #pipe: FramePipe;
  #printedLeft = 0;
  #calls = 0;
  #cpuAtStart = 0;
  /** Printed bytes that were beyond the bound and went nowhere. */
  droppedBytes = 0;

  constructor(pipe: FramePipe) {
    this.#pipe = pipe;
  }

  begin(printedBytes: number): void {
    this.#printedLeft = printedBytes;
    this.#cpuAtStart = totalCpuMicros();
  }

  cpuMicros = (): number => totalCpuMicros() - this.#cpuAtStart;

  print = (bytes: Uint8Array): void => {
    const held = Math.min(bytes.length, this.#printedLeft);
    this.#printedLeft -= held;
    this.droppedBytes += bytes.length - held;
    for (let at = 0; at < held; at += printedFrameBytes) {
      this.#pipe.write(frameKinds.printed, undefined, bytes.subarray(at, Math.min(held, at + printedFrameBytes)));
    }
  };

  call = (request: { tool: string; structured: boolean; arguments: Uint8Array }): HostAnswer => {
    const call = ++this.#calls;
    this.#pipe.write(frameKinds.call, { call, tool: request.tool, structured: request.structured }, request.arguments);
    const frame = this.#pipe.read();
    // The daemon is gone, and with it everyone who could want an outcome.
    if (!frame) throw new Error('the daemon is gone');
    const header = frame.header as AnswerHeader;
    if (frame.kind !== frameKinds.answer || header.call !== call) {
      throw new Error(`Cannot go on: the answer to call ${call} was expected`);
    }
    const { status, message, contentBytes } = header;
    const part = (from: number, to: number) => to > from ? frame.payload.subarray(from, to) : undefined;
    return { status, message, content: part(0, contentBytes), structured: part(contentBytes, frame.payload.length) };
  };
}

function totalCpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
