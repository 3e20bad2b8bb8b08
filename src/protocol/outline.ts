// The outline of MessagePack values: what a header says, where a value ends, which items it has,
// without decoding what is in them. The one place that knows the format's type bytes.

import { Buffer } from 'node:buffer';
import { ProtocolError } from './errors.ts';

/** What a peer may send at most. Bytes, levels, and values of one message (all levels together). */
export type WireBounds = {
  readonly maxMessageBytes: number;
  readonly maxDepth: number;
  readonly maxElements: number;
};

export const defaultWireBounds: WireBounds = { maxMessageBytes: 33_554_432, maxDepth: 64, maxElements: 1_000_000 };

/** One complete, well-formed MessagePack value that is passed on as the bytes it came in. */
export class RawValue {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** What one header says. `payload` bytes follow it (text, bytes, number); then `children` values (a map has two for each entry). */
export type Header = {
  size: number;
  payload: number;
  children: number;
  container: 'array' | 'map' | undefined;
  text: boolean;
};

const scalarBytes = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8]; // 0xca to 0xd3: floats, unsigned, signed

/**
 * Reads the header at `at` into `header`.
 * @returns false while the header is not complete before `end`
 * @throws {ProtocolError} `invalid_message` for an extension or the unused type byte
 */
export function readHeader(bytes: Uint8Array, at: number, end: number, header: Header): boolean {
  if (at >= end) return false;
  const type = bytes[at]!;
  header.size = 1;
  header.payload = 0;
  header.children = 0;
  header.container = undefined;
  header.text = false;
  if (type < 0x80 || type >= 0xe0 || type === 0xc0 || type === 0xc2 || type === 0xc3) return true;
  if (type < 0xc0) {
    if (type >= 0xa0) header.payload = type & 31, header.text = true;
    else if (type >= 0x90) header.children = type & 15, header.container = 'array';
    else header.children = 2 * (type & 15), header.container = 'map';
    return true;
  }
  if (type >= 0xca && type <= 0xd3) {
    header.payload = scalarBytes[type - 0xca]!;
    return true;
  }
  const width = type === 0xc4 || type === 0xd9
    ? 1
    : type === 0xc5 || type === 0xda || type === 0xdc || type === 0xde
    ? 2
    : 4;
  if (type === 0xc1 || (type >= 0xc7 && type <= 0xc9) || (type >= 0xd4 && type <= 0xd8)) {
    const name = type === 0xc1 ? 'the unused type byte' : 'an extension';
    throw new ProtocolError(
      'invalid_message',
      `Cannot read ${name} (0x${type.toString(16)}): only plain MessagePack is understood, without extensions`,
    );
  }
  if (at + 1 + width > end) return false;
  let length = 0;
  for (let i = 1; i <= width; i++) length = length * 256 + bytes[at + i]!;
  header.size = 1 + width;
  if (type <= 0xc6) header.payload = length;
  else if (type <= 0xdb) header.payload = length, header.text = true;
  else if (type <= 0xdd) header.children = length, header.container = 'array';
  else header.children = 2 * length, header.container = 'map';
  return true;
}

export const newHeader = (): Header => ({ size: 0, payload: 0, children: 0, container: undefined, text: false });

/** Where the walk through one value, or one message, stands. Kept over chunks by `MessageReader`. */
export class Walk {
  readonly #bounds: WireBounds;
  readonly #remaining: number[] = [];
  readonly #header = newHeader();
  #elements = 0;
  /** Bytes of the value that the walk has passed; may lie beyond what has arrived (the rest of a payload). */
  passed = 0;
  done = false;

  constructor(bounds: WireBounds) {
    this.#bounds = bounds;
  }

  /**
   * Goes on as far as the bytes reach. `bytes` begin where the value begins.
   * @throws {ProtocolError} as soon as a header breaks a bound
   */
  advance(bytes: Uint8Array): void {
    const header = this.#header;
    const { maxMessageBytes, maxDepth, maxElements } = this.#bounds;
    while (!this.done && this.passed <= bytes.length) {
      if (!readHeader(bytes, this.passed, bytes.length, header)) return;
      this.passed += header.size + header.payload;
      this.#elements += header.children;
      // Each child takes a byte at least, so a count beyond the bytes allowed needs no waiting.
      if (this.passed + header.children > maxMessageBytes) {
        throw new ProtocolError(
          'message_too_large',
          `Cannot read a message of more than ${maxMessageBytes} bytes: send less at once`,
        );
      }
      if (this.#elements > maxElements) {
        throw new ProtocolError(
          'message_too_large',
          `Cannot read a message of more than ${maxElements} values: send fewer at once`,
        );
      }
      if (header.children > 0) {
        this.#remaining.push(header.children);
        if (this.#remaining.length > maxDepth) {
          throw new ProtocolError('invalid_message', `Cannot read a message nested deeper than ${maxDepth} levels`);
        }
      } else this.#close();
    }
  }

  #close(): void {
    const remaining = this.#remaining;
    while (remaining.length > 0) {
      const left = --remaining[remaining.length - 1]!;
      if (left > 0) return;
      remaining.pop();
    }
    this.done = true;
  }
}

/**
 * Checks that `bytes` are exactly one well-formed value within the bounds.
 * @throws {ProtocolError} `invalid_message` or `message_too_large`
 */
export function checkValue(bytes: Uint8Array, bounds: WireBounds): void {
  const walk = new Walk(bounds);
  walk.advance(bytes);
  if (!walk.done || walk.passed !== bytes.length) {
    throw new ProtocolError(
      'invalid_message',
      `Cannot read a value of ${bytes.length} bytes: it must be exactly one MessagePack value`,
    );
  }
}

const unbounded: WireBounds = { maxMessageBytes: Infinity, maxDepth: Infinity, maxElements: Infinity };

/** The children of a checked array or map, in order (a map: key, value, key, value); empty for anything else. */
function children(bytes: Uint8Array): Uint8Array[] {
  const header = newHeader();
  readHeader(bytes, 0, bytes.length, header);
  const found: Uint8Array[] = [];
  let at = header.size;
  for (let i = 0; i < header.children; i++) {
    const walk = new Walk(unbounded);
    const rest = bytes.subarray(at);
    walk.advance(rest);
    found.push(rest.subarray(0, walk.passed));
    at += walk.passed;
  }
  return found;
}

function containerOf(bytes: Uint8Array): 'array' | 'map' | undefined {
  const header = newHeader();
  readHeader(bytes, 0, bytes.length, header);
  return header.container;
}

/** The items of a checked array as the bytes they came in; undefined for a value of another kind. */
export function arrayItems(value: RawValue): RawValue[] | undefined {
  return containerOf(value.bytes) === 'array' ? children(value.bytes).map((bytes) => new RawValue(bytes)) : undefined;
}

/** The entries of a checked map by their text keys, values as the bytes they came in; undefined for a value of another kind. */
export function mapEntries(value: RawValue): Map<string, RawValue> | undefined {
  if (containerOf(value.bytes) !== 'map') return undefined;
  const parts = children(value.bytes);
  const entries = new Map<string, RawValue>();
  for (let i = 0; i < parts.length; i += 2) {
    const key = textBytes(new RawValue(parts[i]!));
    if (key !== undefined) entries.set(Buffer.from(key).toString('utf8'), new RawValue(parts[i + 1]!));
  }
  return entries;
}

/** The bytes of a `str` or `bin`; undefined for a value of another kind. */
export function textBytes(value: RawValue): Uint8Array | undefined {
  const header = newHeader();
  const { bytes } = value;
  readHeader(bytes, 0, bytes.length, header);
  const type = bytes[0]!;
  return header.text || (type >= 0xc4 && type <= 0xc6) ? bytes.subarray(header.size) : undefined;
}

/** The number, boolean or null that begins at `at`; 64-bit integers as BigInt. Undefined for text, bytes and containers. */
export function readScalar(bytes: Uint8Array, at: number): number | bigint | boolean | null | undefined {
  const type = bytes[at]!;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at + 1, bytes.length - at - 1);
  switch (type) {
    case 0xc0:
      return null;
    case 0xc2:
    case 0xc3:
      return type === 0xc3;
    case 0xca:
      return view.getFloat32(0);
    case 0xcb:
      return view.getFloat64(0);
    case 0xcc:
      return view.getUint8(0);
    case 0xcd:
      return view.getUint16(0);
    case 0xce:
      return view.getUint32(0);
    case 0xcf:
      return view.getBigUint64(0);
    case 0xd0:
      return view.getInt8(0);
    case 0xd1:
      return view.getInt16(0);
    case 0xd2:
      return view.getInt32(0);
    case 0xd3:
      return view.getBigInt64(0);
    default:
      return type < 0x80 ? type : type >= 0xe0 ? type - 256 : undefined;
  }
}

export const isNil = (value: RawValue): boolean => value.bytes[0] === 0xc0;
