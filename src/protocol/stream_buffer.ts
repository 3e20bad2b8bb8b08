// Bytes of a stream that have arrived and are not yet consumed, as one contiguous view.
// Each byte is copied a bounded number of times, however small the chunks are.

export class StreamBuffer {
  #buffer: Uint8Array = new Uint8Array(0);
  #start = 0;
  #end = 0;
  // Whether #buffer is ours to write behind #end, or a chunk whose memory has other owners.
  #own = false;

  /** What has arrived and is not consumed. Valid until the next `append`; what was taken of it stays as it is. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** @param chunk must not be changed afterwards: views of it are handed on without a copy */
  append(chunk: Uint8Array): void {
    const held = this.#end - this.#start;
    if (held === 0) {
      this.#buffer = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      this.#own = false;
      return;
    }
    if (!this.#own || this.#end + chunk.length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(2 * held, held + chunk.length, 1024));
      grown.set(this.bytes);
      this.#buffer = grown;
      this.#start = 0;
      this.#end = held;
      this.#own = true;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  consume(count: number): void {
    this.#start += count;
  }
}
