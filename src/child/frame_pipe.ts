// The child's end of its pipe: blocking, whole frames. A write that is interrupted is never torn:
// what has been written is counted, and the rest goes out before anything else does.

import { readSync, writeSync } from 'node:fs';
import { encodeFrame, type Frame, type FrameKind, readFrame } from '../protocol/child_messages.ts';
import { StreamBuffer } from '../protocol/stream_buffer.ts';

const readBytes = 64 * 1024;

export class FramePipe {
  readonly #descriptor: number;
  readonly #received = new StreamBuffer();
  readonly #chunk = new Uint8Array(readBytes);
  #frame: Uint8Array = new Uint8Array(0);
  #written = 0;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Blocks until the frame is written. After an interruption the rest of it goes out with the next call. */
  write(kind: FrameKind, header: object | undefined, ...payload: readonly Uint8Array[]): void {
    this.finishFrame();
    const frame = encodeFrame(kind, header, ...payload);
    this.#written = 0;
    this.#frame = frame;
    this.finishFrame();
  }

  /** Writes what an interrupted `write` left. */
  finishFrame(): void {
    while (this.#written < this.#frame.length) {
      // The sum is taken in the statement of the call: a program's interruption acts at a function's entry
      // or a loop's end, so no bytes are ever written without being counted.
      try {
        this.#written += writeSync(this.#descriptor, this.#frame, this.#written);
      } catch (error) {
        if (!isInterruption(error)) throw error;
      }
    }
  }

  /**
   * Blocks until a frame is there.
   * @returns undefined at the end of the stream: the daemon is gone
   */
  read(): Frame | undefined {
    for (;;) {
      const read = readFrame(this.#received.bytes);
      if (read) {
        this.#received.consume(read.size);
        return read.frame;
      }
      try {
        const count = readSync(this.#descriptor, this.#chunk);
        if (count === 0) return undefined;
        this.#received.append(this.#chunk.slice(0, count));
      } catch (error) {
        // The only handled signal is the daemon's stop. Reading again could block before it takes effect.
        if (isInterruption(error)) throw new Interrupted();
        throw error;
      }
    }
  }
}

/** The daemon's stop reached a blocked read. Lua lets it pass to the top, as every exception but its own jump. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
    this.name = 'Interrupted';
  }
}

/** A system call that a signal cut short, having done nothing. */
const isInterruption = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EINTR';
