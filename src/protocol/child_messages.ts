// The frames between the daemon and a child, both ways on one private pipe (descriptor 3 of the child).
// A frame: uint32le length of what follows, uint8 kind, uint32le header length, header (JSON), payload (bytes).
// The first frame of a child is `ready`, the first to it is `program`. Never trusts: what comes from a child is checked.
// What a child sends is cut into numbered packets, each written by one system call: a child that was interrupted while
// it wrote cannot know whether that call was carried out, writes the packet again, and the daemon drops what it has.

import { StreamBuffer } from './stream_buffer.ts';

/** Raised when the two sides would no longer understand each other. */
export const childProtocolVersion = 1;

export const frameKinds = {
  ready: 1,
  printed: 2,
  call: 3,
  finished: 4,
  fault: 5,
  verdict: 6,
  program: 16,
  answer: 17,
  schema: 18,
  check: 19,
} as const;
export type FrameKind = typeof frameKinds[keyof typeof frameKinds];

/** `ready`: the child has locked itself up and waits for its program. Values are 'on' or why not. */
export type ReadyHeader = {
  readonly protocol: number;
  readonly runtime: string;
  readonly lockdown: Readonly<Record<string, string>>;
};

/** `program`: what to run; the payload is the source, as bytes. */
export type ProgramHeader = {
  readonly memoryBytes: number;
  readonly printedBytes: number;
  readonly cwd: string | null;
  readonly version: string;
  /** The names that a program may call, in order. */
  readonly tools: readonly string[];
};

/** `call`: the program asks for a tool; the payload is the arguments as MessagePack. `structured`: whether it can use the structured value beside the text. */
export type CallHeader = { readonly call: number; readonly tool: string; readonly structured: boolean };

/**
 * `answer`: the payload is the content as MessagePack (`contentBytes` of it), then the structured value.
 * `final` ends the program: a bound has fired, nothing that it does can carry on.
 */
export type AnswerHeader = {
  readonly call: number;
  readonly status: 'ok' | 'failed' | 'denied' | 'not_run' | 'final';
  readonly message: string;
  readonly contentBytes: number;
};

export const endings = ['ok', 'compile', 'error', 'denied', 'memory', 'final', 'interrupted'] as const;
/** `finished`: how the program ended, as the child saw it. `final` and `interrupted`: by the daemon's word, which knows why. */
export type FinishedHeader = {
  readonly ending: typeof endings[number];
  readonly message: string;
  readonly traceback: string | null;
  readonly memoryBytes: number;
  readonly droppedBytes: number;
  readonly cpuMs: number;
};

/** `fault`: a bug of the child's own, in words; the child leaves after it. */
export type FaultHeader = { readonly message: string };

/** `schema` to a checker: compile the payload (a JSON Schema as MessagePack) under this id. Answered by `verdict`. */
export type SchemaHeader = { readonly schema: number };
/** `check` to a checker: hold the payload (arguments as MessagePack) against a compiled schema. Answered by `verdict`. */
export type CheckHeader = { readonly schema: number };
/** `verdict`: `emptyArrays` are the offsets of empty maps in the arguments that the schema wants as arrays. */
export type VerdictHeader = { readonly ok: boolean; readonly message: string; readonly emptyArrays: readonly number[] };

/** The most that a frame may hold, in bytes after its length field, and its header. */
export const maxFrameBytes = 40 * 1024 * 1024;
const maxHeaderBytes = 1024 * 1024;

/** The most that the arguments of one call may take as MessagePack, in bytes. */
export const maxArgumentBytes = 8 * 1024 * 1024;

export type Frame = { readonly kind: number; readonly header: unknown; readonly payload: Uint8Array };

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const noBytes = new Uint8Array(0);

/** One frame as bytes. `header` is JSON data, left out for `printed`. */
export function encodeFrame(
  kind: FrameKind,
  header: object | undefined,
  ...payload: readonly Uint8Array[]
): Uint8Array {
  const head = header === undefined ? noBytes : encoder.encode(JSON.stringify(header));
  const size = payload.reduce((sum, part) => sum + part.length, 9 + head.length);
  const frame = new Uint8Array(size);
  const view = new DataView(frame.buffer);
  view.setUint32(0, size - 4, true);
  frame[4] = kind;
  view.setUint32(5, head.length, true);
  frame.set(head, 9);
  let at = 9 + head.length;
  for (const part of payload) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/**
 * Reads the frame that begins `bytes`.
 * @returns undefined while it is not complete; else the frame and its size, the payload a view of `bytes`
 * @throws {Error} naming what is wrong with a malformed frame
 */
export function readFrame(bytes: Uint8Array): { frame: Frame; size: number } | undefined {
  if (bytes.length < 4) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = view.getUint32(0, true);
  if (length < 5 || length > maxFrameBytes) {
    throw new Error(`a frame must hold 5 to ${maxFrameBytes} bytes, got ${length}`);
  }
  if (bytes.length < 4 + length) return undefined;
  const headerBytes = view.getUint32(5, true);
  if (headerBytes > length - 5) throw new Error(`a frame of ${length} bytes cannot have a header of ${headerBytes}`);
  if (headerBytes > maxHeaderBytes) {
    throw new Error(`a header must have at most ${maxHeaderBytes} bytes, got ${headerBytes}`);
  }
  const text = decoder.decode(bytes.subarray(9, 9 + headerBytes));
  const frame = {
    kind: bytes[4]!,
    header: headerBytes === 0 ? undefined : JSON.parse(text),
    payload: bytes.subarray(9 + headerBytes, 4 + length),
  };
  return { frame, size: 4 + length };
}

/** Reads frames from a stream that arrives in chunks. `feed` throws as `readFrame` does. */
export class FrameReader {
  readonly #buffer = new StreamBuffer();

  *feed(chunk: Uint8Array): Generator<Frame> {
    this.#buffer.append(chunk);
    for (;;) {
      const read = readFrame(this.#buffer.bytes);
      if (!read) return;
      this.#buffer.consume(read.size);
      yield read.frame;
    }
  }
}

/** The most that a packet may hold. One write of so much to a socket is carried out whole or not at all. */
const packetBytes = 16 * 1024;
const packetHeaderBytes = 8;

/** Cuts bytes into packets: uint32le number, uint32le length, then so many bytes. */
export function* makePackets(bytes: Uint8Array, firstNumber: number): Generator<Uint8Array> {
  for (let at = 0, number = firstNumber; at < bytes.length; at += packetBytes, number++) {
    const part = bytes.subarray(at, at + packetBytes);
    const packet = new Uint8Array(packetHeaderBytes + part.length);
    const view = new DataView(packet.buffer);
    view.setUint32(0, number >>> 0, true);
    view.setUint32(4, part.length, true);
    packet.set(part, packetHeaderBytes);
    yield packet;
  }
}

/** Puts packets together again; one that has come before is dropped. `feed` throws as a malformed frame does. */
export class PacketReader {
  readonly #buffer = new StreamBuffer();
  #due = 0;

  *feed(chunk: Uint8Array): Generator<Uint8Array> {
    this.#buffer.append(chunk);
    for (;;) {
      const { bytes } = this.#buffer;
      if (bytes.length < packetHeaderBytes) return;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const number = view.getUint32(0, true);
      const length = view.getUint32(4, true);
      if (length < 1 || length > packetBytes) {
        throw new Error(`a packet must hold 1 to ${packetBytes} bytes, got ${length}`);
      }
      const again = number === (this.#due + 0xffff_ffff) % 0x1_0000_0000;
      if (number !== this.#due && !again) throw new Error(`packet ${number} came where ${this.#due} was due`);
      if (bytes.length < packetHeaderBytes + length) return;
      this.#buffer.consume(packetHeaderBytes + length);
      if (again) continue;
      this.#due = (this.#due + 1) % 0x1_0000_0000;
      yield bytes.subarray(packetHeaderBytes, packetHeaderBytes + length);
    }
  }
}
