// Finds the messages in a stream of bytes, chunk by chunk, in time linear in their size.
// What breaks a bound is refused as soon as its header says so; nothing is allocated for
// bytes that have only been announced. Owns no socket.

import { ProtocolError } from './errors.ts';
import { RawValue, Walk, type WireBounds } from './outline.ts';
import { StreamBuffer } from './stream_buffer.ts';
import { decode } from './wire.ts';

/**
 * The reading side of one peer. Feed it what arrives; it answers the messages that became complete.
 * After it threw, the stream has lost its frame: the connection can only be closed.
 */
export class MessageReader {
  readonly #bounds: WireBounds;
  readonly #buffer = new StreamBuffer();
  #walk: Walk;

  constructor(bounds: WireBounds) {
    this.#bounds = bounds;
    this.#walk = new Walk(bounds);
  }

  /**
   * @param chunk bytes as they came; must not be changed afterwards
   * @returns the messages completed by it, each an array of three or four values, not decoded
   * @throws {ProtocolError} `invalid_message` or `message_too_large`
   */
  *feed(chunk: Uint8Array): Generator<RawValue> {
    this.#buffer.append(chunk);
    for (;;) {
      const { bytes } = this.#buffer;
      if (bytes.length === 0) return;
      requireArray(bytes[0]!);
      this.#walk.advance(bytes);
      const { done, passed } = this.#walk;
      if (!done || passed > bytes.length) return;
      this.#buffer.consume(passed);
      this.#walk = new Walk(this.#bounds);
      yield new RawValue(bytes.subarray(0, passed));
    }
  }

  /** The id of the request under way when the reader threw, as far as it had been read; undefined if it was no request. */
  requestId(): number | undefined {
    return requestIdOf(this.#buffer.bytes);
  }
}

/** The id of the request that begins `bytes`, as far as it is there; undefined if it is no request. */
export function requestIdOf(bytes: Uint8Array): number | undefined {
  const width = { 0xcc: 1, 0xcd: 2, 0xce: 4 }[bytes[2] ?? 0xc0] ?? (bytes[2]! < 0x80 ? 0 : undefined);
  if (bytes[0] !== 0x94 || bytes[1] !== 0 || width === undefined || bytes.length < 3 + width) return undefined;
  return decode(bytes.subarray(2, 3 + width));
}

function requireArray(first: number): void {
  if ((first & 0xf0) === 0x90 || first === 0xdc || first === 0xdd) return;
  throw new ProtocolError(
    'invalid_message',
    `Cannot read a message that begins with 0x${
      first.toString(16).padStart(2, '0')
    }: it must be an array of three or four values`,
  );
}
