// What a program printed, as it comes in: held up to the run's bound, counted beyond it.
// Kept in blocks, so that many small prints cost no more than a few large ones.

import { Buffer } from 'node:buffer';

const blockBytes = 64 * 1024;

export class Printed {
  readonly #most: number;
  readonly #blocks: Uint8Array[] = [];
  heldBytes = 0;
  droppedBytes = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  add(bytes: Uint8Array): void {
    const held = bytes.subarray(0, Math.max(0, this.#most - this.heldBytes));
    this.droppedBytes += bytes.length - held.length;
    for (let at = 0; at < held.length;) {
      const inBlock = this.heldBytes % blockBytes;
      if (inBlock === 0) this.#blocks.push(new Uint8Array(blockBytes));
      const part = held.subarray(at, at + blockBytes - inBlock);
      this.#blocks.at(-1)!.set(part, inBlock);
      this.heldBytes += part.length;
      at += part.length;
    }
  }

  /** All that is held. */
  bytes(): Uint8Array {
    return Buffer.concat(this.#blocks, this.heldBytes);
  }

  /** The last bytes, at most `most`, which must be no more than a block. */
  tail(most: number): Uint8Array {
    const inBlock = this.heldBytes % blockBytes || Math.min(this.heldBytes, blockBytes);
    const last = Buffer.concat(this.#blocks.slice(-2));
    const end = last.length - blockBytes + inBlock;
    return last.subarray(Math.max(0, end - most), Math.max(0, end));
  }
}
