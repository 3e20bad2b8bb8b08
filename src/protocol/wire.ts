// Plain JavaScript data to MessagePack and back, as it goes over a connection. What is decoded
// has been checked by outline.ts before. Values that only pass through stay bytes (`RawValue`).
// Plain MessagePack only: extensions, and with them records, are refused. Owns no socket.

import { addExtension, Packr, Unpackr } from 'msgpackr';
import { Buffer, isUtf8 } from 'node:buffer';
import { ProtocolError } from './errors.ts';
import { RawValue } from './outline.ts';

// The one way that msgpackr offers to place ready bytes: an extension whose `pack` writes into the
// target itself and returns nothing, so that no extension header is written.
type Allocate = (size: number) => { target: Uint8Array; position: number };
addExtension(
  {
    Class: RawValue,
    type: 1,
    pack(value: RawValue, allocate: Allocate) {
      const { target, position } = allocate(value.bytes.length);
      target.set(value.bytes, position);
    },
    unpack() {
      throw new ProtocolError(
        'invalid_message',
        'Cannot decode a message with an extension: only plain MessagePack is understood',
      );
    },
  } as unknown as Parameters<typeof addExtension>[0],
);

const settings = { useRecords: false, encodeUndefinedAsNil: true, variableMapSize: true, int64AsType: 'auto' } as const;
const packr = new Packr(settings as object);
const objectReader = new Unpackr({ ...settings, mapsAsObjects: true } as object);
const mapReader = new Unpackr({ ...settings, mapsAsObjects: false } as object);

/**
 * Encodes a value of plain JavaScript data, `RawValue`s at any depth included. Integers that a double holds
 * exactly go out as integers (beyond 32 bits too), -0 as a float, BigInt as a 64-bit integer, bytes as `bin`.
 * @throws {RangeError} for a BigInt beyond 64 bits
 */
export function encode(value: unknown): Uint8Array {
  return packr.pack(exactNumbers(value));
}

const negativeZero = new RawValue(Uint8Array.of(0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0));

/** Replaces the numbers that msgpackr would change; copies only what holds one. */
function exactNumbers(value: unknown): unknown {
  if (typeof value === 'number') {
    if (value === 0) return Object.is(value, -0) ? negativeZero : value;
    return Number.isSafeInteger(value) && (value > 0xffff_ffff || value < -0x8000_0000) ? BigInt(value) : value;
  }
  if (typeof value === 'bigint' && (value >= 1n << 64n || value < -(1n << 63n))) {
    throw new RangeError(`Cannot encode ${value}: an integer must fit in 64 bits`);
  }
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`Cannot encode a ${typeof value}: plain data is required`);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const exact = exactNumbers(value[i]);
      if (exact !== value[i] || (exact === undefined && !(i in value))) (copy ??= value.slice())[i] = exact;
    }
    return copy ?? value;
  }
  if (value instanceof RawValue || ArrayBuffer.isView(value)) return value;
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, exactNumbers(item)]));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`Cannot encode a ${value.constructor?.name ?? 'value of a class'}: plain data is required`);
  }
  const entries = Object.entries(value);
  let changed = Object.hasOwn(value, '__proto__');
  for (const entry of entries) {
    const exact = exactNumbers(entry[1]);
    if (exact !== entry[1]) changed = true;
    entry[1] = exact;
  }
  // A Map, since assigning `__proto__` to an object would not make a key of it.
  return changed ? new Map(entries) : value;
}

/** How integers beyond 2^53 are decoded: as BigInt (`auto`), or rounded to a number. */
export type IntegerReading = 'auto' | 'number' | 'bigint';

const protoKey = Buffer.from('__proto__');

/**
 * Decodes one complete value into plain data: maps become objects, `bin` a Uint8Array, integers beyond 2^53 BigInt.
 * The bytes must have passed a `MessageReader` or `checkValue`.
 * @throws {ProtocolError} `invalid_message` if a map has a key that is no text and no number
 */
export function decode(bytes: Uint8Array): any {
  try {
    // msgpackr renames this key to keep prototypes safe; the slow path keeps both the name and the prototypes.
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return view.includes(protoKey) ? fromMaps(mapReader.unpack(view)) : objectReader.unpack(view);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('invalid_message', `Cannot decode a value: ${(error as Error).message}`);
  }
}

function fromMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromMaps);
  if (!(value instanceof Map)) return value;
  const object = {};
  for (const [key, item] of value) {
    Object.defineProperty(object, String(key), {
      value: fromMaps(item),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

/** Decodes as `decode`, with every integer read as asked for. */
export function decodeIntegers(bytes: Uint8Array, integers: IntegerReading): any {
  const value = decode(bytes);
  if (integers === 'auto') return value;
  return mapNumbers(value, (number) => {
    if (integers === 'number') return Number(number);
    return typeof number === 'number' && Number.isSafeInteger(number) && !Object.is(number, -0)
      ? BigInt(number)
      : number;
  });
}

function mapNumbers(value: unknown, change: (number: number | bigint) => number | bigint): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return change(value);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map((item) => mapNumbers(item, change));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapNumbers(item, change)]));
}

/** Bytes as they go on the wire: `str` where they are valid UTF-8, else `bin`. */
export function encodeText(bytes: Uint8Array): RawValue {
  const length = bytes.length;
  const text = isUtf8(bytes);
  let header: number[];
  if (text && length < 32) header = [0xa0 | length];
  else if (length < 0x100) header = [text ? 0xd9 : 0xc4, length];
  else if (length < 0x1_0000) header = [text ? 0xda : 0xc5, length >> 8, length & 255];
  else header = [text ? 0xdb : 0xc6, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255];
  const value = new Uint8Array(header.length + length);
  value.set(header);
  value.set(bytes, header.length);
  return new RawValue(value);
}
