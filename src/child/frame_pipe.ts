// The child's end of its pipe: blocking, whole frames. A write that is interrupted is never torn: what may have
// been written is written again, under the same number, before anything else is sent.

import { readSync, writeSync } from 'node:fs';
import { encodeFrame, type Frame, type FrameKind, makePackets, readFrame } from '../protocol/child_messages.ts';
import { StreamBuffer } from '../protocol/stream_buffer.ts';

const readBytes = 64 * 1024;

/** A frame on its way: the packet at `next` may have been written, those before it have been. */
type Sending = { readonly packets: readonly Uint8Array[]; next: number };

export class FramePipe {
  readonly #descriptor: number;
  readonly #received = new StreamBuffer();
  readonly #chunk = new Uint8Array(readBytes);
  #sending: Sending = { packets: [], next: 0 };
  #packets = 0;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Blocks until the frame is written. After an interruption the rest of it goes out with the next call. */
  write(kind: FrameKind, header: object | undefined, ...payload: readonly Uint8Array[]): void {
    this.#finishFrame();
    const packets = [...makePackets(encodeFrame(kind, header, ...payload), this.#packets)];
    // One assignment each, and this order: an interruption between them loses a frame that nobody has seen begin.
    this.#packets += packets.length;
    this.#sending = { packets, next: 0 };
    this.#finishFrame();
  }

  /** Writes what an interrupted `write` left; a packet that may have gone out goes out again. */
  #finishFrame(): void {
    const sending = this.#sending;
    while (sending.next < sending.packets.length) {
      try {
        writeSync(this.#descriptor, sending.packets[sending.next]!);
        sending.next++;
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
