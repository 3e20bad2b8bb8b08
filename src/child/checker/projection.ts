// Reads one value of plain MessagePack into a projection (see projected_values.ts) and remembers at which byte every
// empty map stands. Bounded in depth and in elements; refuses extensions, names that are no text or come twice, and
// numbers that JSON has not. Bytes (`bin`, and `str` that is not UTF-8) become one character each.

import { Buffer } from 'node:buffer';
import { marked, type Projected, type ProjectedMap, unmarked } from './projected_values.ts';
import { pathOf, type PathStep } from './quoting.ts';

/** A value read, with what is needed to turn its empty maps into empty arrays. */
export interface Projection {
  readonly value: Projected;
  /** Byte offsets of the empty maps that are the single byte 0x80. */
  readonly emptyMaps: ReadonlyMap<ProjectedMap, number>;
  /** The maps and arrays with an empty map somewhere below them. */
  readonly holders: ReadonlySet<Projected>;
}

interface Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly depthMost: number;
  readonly path: PathStep[];
  readonly emptyMaps: Map<ProjectedMap, number>;
  readonly holders: Set<Projected>;
  offset: number;
  elementsLeft: number;
}

/** Unreadable bytes, as a sentence without its subject; never leaves this file. */
class Unreadable extends Error {}

/**
 * Reads the one value that `bytes` hold.
 * @param root what messages call the value, such as `arguments`
 * @returns the projection, or one sentence that names the place and the fault
 */
export function projectValue(
  bytes: Uint8Array,
  { root, depth, elements }: { readonly root: string; readonly depth: number; readonly elements: number },
): { readonly ok: true; readonly projection: Projection } | { readonly ok: false; readonly message: string } {
  const reader: Reader = {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    depthMost: depth,
    path: [],
    emptyMaps: new Map(),
    holders: new Set(),
    offset: 0,
    elementsLeft: elements,
  };
  try {
    const value = readValue(reader);
    if (reader.offset !== bytes.length) {
      throw new Unreadable(`must be one value, got ${bytes.length - reader.offset} bytes after it`);
    }
    return { ok: true, projection: { value, emptyMaps: reader.emptyMaps, holders: reader.holders } };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, message: `${pathOf(root, reader.path)} ${error.message}` };
    if (error instanceof RangeError) {
      return { ok: false, message: `${root} must be whole MessagePack, got ${bytes.length} bytes that end too early` };
    }
    throw error;
  }
}

function readValue(reader: Reader): Projected {
  if (reader.elementsLeft-- <= 0) throw new Unreadable('must have fewer values');
  const { view } = reader;
  const at = reader.offset;
  const head = view.getUint8(reader.offset++);
  if (head <= 0x7f) return head;
  if (head <= 0x8f) return readMap(reader, head & 0x0f, at);
  if (head <= 0x9f) return readArray(reader, head & 0x0f);
  if (head <= 0xbf) return readText(reader, head & 0x1f);
  if (head >= 0xe0) return head - 0x100;
  switch (head) {
    case 0xc0:
      return null;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return readBytes(reader, readUnsigned(reader, head - 0xc4));
    case 0xca:
      return readFloat(view.getFloat32(skip(reader, 4)));
    case 0xcb:
      return readFloat(view.getFloat64(skip(reader, 8)));
    case 0xcc:
    case 0xcd:
    case 0xce:
      return readUnsigned(reader, head - 0xcc);
    case 0xcf:
      return narrowed(view.getBigUint64(skip(reader, 8)));
    case 0xd0:
      return view.getInt8(skip(reader, 1));
    case 0xd1:
      return view.getInt16(skip(reader, 2));
    case 0xd2:
      return view.getInt32(skip(reader, 4));
    case 0xd3:
      return narrowed(view.getBigInt64(skip(reader, 8)));
    case 0xd9:
    case 0xda:
    case 0xdb:
      return readText(reader, readUnsigned(reader, head - 0xd9));
    case 0xdc:
    case 0xdd:
      return readArray(reader, readUnsigned(reader, head - 0xdb));
    case 0xde:
    case 0xdf:
      return readMap(reader, readUnsigned(reader, head - 0xdd), -1);
    default:
      throw new Unreadable(`must be plain MessagePack, got the byte 0x${head.toString(16)}`);
  }
}

/** The offset of the next `length` bytes, which are then behind the reader. */
function skip(reader: Reader, length: number): number {
  const at = reader.offset;
  if (length > reader.bytes.length - at) throw new RangeError('too short');
  reader.offset += length;
  return at;
}

/** An unsigned integer of 1, 2 or 4 bytes, by the logarithm of its width. */
function readUnsigned(reader: Reader, width: number): number {
  const at = skip(reader, 1 << width);
  if (width === 0) return reader.view.getUint8(at);
  return width === 1 ? reader.view.getUint16(at) : reader.view.getUint32(at);
}

function narrowed(value: bigint): number | bigint {
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}

function readFloat(value: number): number | bigint {
  if (!Number.isFinite(value)) throw new Unreadable(`must be a finite number, got ${value}; JSON has no ${value}`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return BigInt(value);
  return value === 0 ? 0 : value;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readText(reader: Reader, length: number): string {
  const start = skip(reader, length);
  try {
    return marked(utf8.decode(reader.bytes.subarray(start, start + length)));
  } catch {
    return marked(oneCharacterEach(reader.bytes, start, start + length));
  }
}

function readBytes(reader: Reader, length: number): string {
  const start = skip(reader, length);
  return marked(oneCharacterEach(reader.bytes, start, start + length));
}

function oneCharacterEach(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

function enter(reader: Reader, length: number): void {
  if (reader.path.length >= reader.depthMost) throw new Unreadable(`must be at most ${reader.depthMost} levels deep`);
  if (length > reader.bytes.length - reader.offset) throw new RangeError('too short');
}

function readArray(reader: Reader, length: number): Projected[] {
  enter(reader, length);
  const items: Projected[] = [];
  for (let index = 0; index < length; index++) {
    reader.path.push(index);
    const item = readValue(reader);
    reader.path.pop();
    items.push(item);
    noteHolder(reader, items, item);
  }
  return items;
}

function readMap(reader: Reader, length: number, at: number): ProjectedMap {
  enter(reader, length);
  const map: ProjectedMap = Object.create(null);
  for (let index = 0; index < length; index++) {
    const name = readValue(reader);
    if (typeof name !== 'string') throw new Unreadable('must have text as names of its properties');
    reader.path.push(unmarked(name));
    if (map[name] !== undefined) throw new Unreadable('must be given once');
    const value = readValue(reader);
    reader.path.pop();
    map[name] = value;
    noteHolder(reader, map, value);
  }
  if (length === 0 && at >= 0) reader.emptyMaps.set(map, at);
  return map;
}

function noteHolder(reader: Reader, holder: Projected, value: Projected): void {
  if (typeof value !== 'object' || value === null) return;
  if (reader.holders.has(value) || reader.emptyMaps.has(value as ProjectedMap)) reader.holders.add(holder);
}
