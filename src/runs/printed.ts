// What a program printed, as it comes in: held up to the run's bound, counted beyond it.

import { Buffer } from 'node:buffer';

export class Printed {
  readonly #most: number;
  readonly #chunks: Uint8Array[] = [];
  heldBytes = 0;
  droppedBytes = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  add(bytes: Uint8Array): void {
    const room = Math.max(0, this.#most - this.heldBytes);
    const held = bytes.subarray(0, room);
    // Copied: the frame that it came in may be a small part of a large chunk.
    if (held.length > 0) this.#chunks.push(held.slice());
    this.heldBytes += held.length;
    this.droppedBytes += bytes.length - held.length;
  }

  /** All that is held. */
  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }

  /** The last bytes, at most `most`. */
  tail(most: number): Uint8Array {
    const parts: Uint8Array[] = [];
    let size = 0;
    for (let i = this.#chunks.length - 1; i >= 0 && size < most; i--) {
      parts.unshift(this.#chunks[i]!);
      size += this.#chunks[i]!.length;
    }
    const joined = Buffer.concat(parts);
    return joined.subarray(Math.max(0, joined.length - most));
  }
}
