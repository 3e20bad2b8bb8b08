// MessagePack as it is written, value by value, into bytes that grow. Knows the format, not Lua.

import { isUtf8 } from 'node:buffer';

/** A value that cannot be sent; the message says which one, where, and what can be. */
export class ValueProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ValueProblem';
  }
}

/** Bytes that grow as they are written. */
export class Writer {
  bytes = new Uint8Array(256);
  length = 0;
  #view = new DataView(this.bytes.buffer);
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  reserve(count: number): number {
    const at = this.length;
    const needed = at + count;
    if (needed > this.#most) throw new ValueProblem(`the value is larger than ${this.#most} bytes; send less at once`);
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, at));
      this.bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    this.length = needed;
    return at;
  }

  byte(value: number): void {
    const at = this.reserve(1);
    this.bytes[at] = value;
  }

  /** A type byte and a big-endian number of `width` bytes. */
  sized(type: number, value: number, width: 1 | 2 | 4): void {
    const at = this.reserve(1 + width);
    this.bytes[at] = type;
    if (width === 1) this.#view.setUint8(at + 1, value);
    else if (width === 2) this.#view.setUint16(at + 1, value);
    else this.#view.setUint32(at + 1, value);
  }

  float(value: number): void {
    const at = this.reserve(9);
    this.bytes[at] = 0xcb;
    this.#view.setFloat64(at + 1, value);
  }

  integer(value: bigint): void {
    if (value >= -0x8000_0000n && value <= 0xffff_ffffn) return this.#shortInteger(Number(value));
    const at = this.reserve(9);
    this.bytes[at] = value < 0n ? 0xd3 : 0xcf;
    this.#view.setBigInt64(at + 1, value);
  }

  #shortInteger(value: number): void {
    if (value >= -32 && value < 128) this.byte(value & 255);
    else if (value < 0) {
      if (value >= -0x80) this.sized(0xd0, value, 1);
      else if (value >= -0x8000) this.sized(0xd1, value, 2);
      else this.sized(0xd2, value, 4);
    } else if (value < 0x100) this.sized(0xcc, value, 1);
    else if (value < 0x1_0000) this.sized(0xcd, value, 2);
    else this.sized(0xce, value, 4);
  }

  text(bytes: Uint8Array): void {
    const { length } = bytes;
    const text = isUtf8(bytes);
    if (text && length < 32) this.byte(0xa0 | length);
    else if (length < 0x100) this.sized(text ? 0xd9 : 0xc4, length, 1);
    else if (length < 0x1_0000) this.sized(text ? 0xda : 0xc5, length, 2);
    else this.sized(text ? 0xdb : 0xc6, length, 4);
    const at = this.reserve(length);
    this.bytes.set(bytes, at);
  }

  container(kind: 'array' | 'map', count: number): void {
    const [short, long, longer] = kind === 'array' ? [0x90, 0xdc, 0xdd] as const : [0x80, 0xde, 0xdf] as const;
    if (count < 16) this.byte(short | count);
    else if (count < 0x1_0000) this.sized(long, count, 2);
    else this.sized(longer, count, 4);
  }
}
