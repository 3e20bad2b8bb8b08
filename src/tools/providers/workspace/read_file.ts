// read_file: the bytes of one file of the workspace, whole or a range of its lines, undecorated.
// What is not UTF-8 comes as bytes. An answer that leaves out a beginning or an end says so
// (`complete`), and where to go on (`next_line`). Never reads outside the root: confined_files.ts.

import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { integerOf, isRefusal, named, type Refusal, relativePath } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';
import { openFile } from './confined_files.ts';
import { nextTurn, sliceSpent } from './turns.ts';
import { wholeCharacters } from './utf8.ts';
import type { WorkspaceTool } from './workspace_tool.ts';

const { readChunkBytes, seekBytes, envelopeBytes } = workspaceBounds;

/** What was read: `bytes` from the beginning of `start_line`, and whether the file ends with them. */
type Piece = {
  readonly bytes: Uint8Array;
  readonly lines: number;
  readonly atEnd: boolean;
  readonly cutInLine: boolean;
};

export const readFileTool: WorkspaceTool = {
  name: 'read_file',
  description: 'Reads a file of the workspace and returns its text exactly, or bytes where it is not UTF-8. ' +
    'start_line (from 1) and line_count select lines. ' +
    'complete is false where a selector or the size limit left something out; next_line tells where to go on.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'Relative to the workspace' },
      start_line: { type: 'integer', minimum: 1, maximum: 2 ** 40, description: 'First line to return, from 1' },
      line_count: { type: 'integer', minimum: 1, maximum: 2 ** 40, description: 'How many lines to return at most' },
    },
    required: ['path'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      files: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            path: { type: 'string' },
            text: { type: 'string', description: 'Bytes instead of a string where encoding is bytes' },
            encoding: { enum: ['utf-8', 'bytes'] },
            complete: { type: 'boolean' },
            size: { type: 'integer', description: 'Bytes of the whole file' },
            start_line: { type: 'integer' },
            line_count: { type: 'integer', description: 'Lines in text' },
            total_lines: { type: ['integer', 'null'], description: 'null where the end of the file was not reached' },
          },
        },
      },
      complete: { type: 'boolean' },
      next_line: { type: ['integer', 'null'] },
    },
  },
  class: 'read',
  paths: ['path'],
  call: async (args, { root, signal, maxBytes }) => {
    const path = relativePath(args['path'], 'read', root);
    if (isRefusal(path)) return { ok: false, message: path.refused };
    const startLine = integerOf(args['start_line'], 1);
    const lineCount = integerOf(args['line_count'], Infinity);
    const file = await openFile({ root, path, verb: 'read', links: true });
    if (isRefusal(file)) return { ok: false, message: file.refused };
    try {
      const start = await seekLine(file.handle, { startLine, asked: path, signal });
      if (isRefusal(start)) return { ok: false, message: start.refused };
      const room = Math.max(0, maxBytes - envelopeBytes - Buffer.byteLength(path));
      // Asked for whole, a file comes whole or not at all: text alone could not tell that something is missing.
      if (args['start_line'] === undefined && args['line_count'] === undefined && file.size > room) {
        const message = `Cannot read ${
          named(path)
        } whole: it has ${file.size} bytes, and one result may have ${room}; read parts of it by start_line and line_count`;
        return { ok: false, message };
      }
      const piece = await readLines(file.handle, { start, lineCount, room, size: file.size, signal });
      const text = await decode(piece.bytes, signal);
      const complete = startLine === 1 && piece.atEnd;
      const entry = {
        path,
        text,
        encoding: typeof text === 'string' ? 'utf-8' : 'bytes',
        complete,
        size: file.size,
        start_line: startLine,
        line_count: piece.lines,
        total_lines: piece.atEnd ? startLine - 1 + piece.lines : null,
      };
      const nextLine = piece.atEnd || piece.cutInLine ? null : startLine + piece.lines;
      return { ok: true, content: text, structured: { files: [entry], complete, next_line: nextLine }, complete };
    } finally {
      await file.handle.close();
    }
  },
};

/** The offset in bytes at which a line begins. */
async function seekLine(
  handle: FileHandle,
  { startLine, asked, signal }: { startLine: number; asked: string; signal: AbortSignal },
): Promise<number | Refusal> {
  let passed = 0;
  if (startLine === 1) return 0;
  const chunk = Buffer.allocUnsafe(readChunkBytes);
  const cannot = `Cannot read ${named(asked)} from line ${startLine}`;
  let endsInLine = false;
  for (let offset = 0; offset < seekBytes;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, offset);
    signal.throwIfAborted();
    if (bytesRead === 0) {
      const lines = passed + (endsInLine ? 1 : 0);
      return { refused: `${cannot}: start_line must be at most ${Math.max(1, lines)}, the number of its lines` };
    }
    for (let at = 0; at < bytesRead; at++) {
      // A line must have a beginning: what follows the last line break is one only if something is there.
      if (passed === startLine - 1) return offset + at;
      if (chunk[at] === 10) passed++;
    }
    endsInLine = chunk[bytesRead - 1] !== 10;
    offset += bytesRead;
    if (sliceSpent()) await nextTurn(signal);
  }
  return { refused: `${cannot}: the line must begin within the first ${seekBytes} bytes of the file` };
}

/** Reads whole lines that fit into `room` bytes; of a line that alone does not, as much as fits. */
async function readLines(
  handle: FileHandle,
  { start, lineCount, room, size, signal }: {
    start: number;
    lineCount: number;
    room: number;
    size: number;
    signal: AbortSignal;
  },
): Promise<Piece> {
  // One byte more than there should be shows the end, and one more than there is room for shows that it is cut.
  // A file that grows meanwhile is read as far as it went when it was opened.
  const bytes = Buffer.allocUnsafeSlow(Math.min(Math.max(size - start, readChunkBytes) + 1, room + 1));
  let filled = 0;
  let lines = 0;
  let afterLine = 0;
  let ended = false;
  while (filled < bytes.length && lines < lineCount) {
    const { bytesRead } = await handle.read(
      bytes,
      filled,
      Math.min(readChunkBytes, bytes.length - filled),
      start + filled,
    );
    signal.throwIfAborted();
    if (bytesRead === 0) {
      ended = true;
      break;
    }
    const upTo = filled + bytesRead;
    for (let at = filled; at < upTo && at < room && lines < lineCount; at++) {
      if (bytes[at] !== 10) continue;
      lines++;
      afterLine = at + 1;
    }
    filled = upTo;
    if (sliceSpent()) await nextTurn(signal);
  }
  if (lines === lineCount) {
    const more = afterLine < filled || (await handle.read(Buffer.alloc(1), 0, 1, start + afterLine)).bytesRead > 0;
    return { bytes: bytes.subarray(0, afterLine), lines, atEnd: !more, cutInLine: false };
  }
  if (ended && filled <= room) {
    return {
      bytes: bytes.subarray(0, filled),
      lines: lines + (filled > afterLine ? 1 : 0),
      atEnd: true,
      cutInLine: false,
    };
  }
  if (afterLine > 0) return { bytes: bytes.subarray(0, afterLine), lines, atEnd: false, cutInLine: false };
  const cut = wholeCharacters(bytes.subarray(0, Math.min(filled, room)));
  return { bytes: cut, lines: cut.length > 0 ? 1 : 0, atEnd: false, cutInLine: true };
}

/** The text of the bytes, a byte order mark included; the bytes themselves where they are not UTF-8. */
async function decode(bytes: Uint8Array, signal: AbortSignal): Promise<string | Uint8Array> {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const part = at + readChunkBytes >= bytes.length
      ? bytes.subarray(at)
      : wholeCharacters(bytes.subarray(at, at + readChunkBytes));
    // Few bytes of a large buffer are copied, so that they do not keep it.
    if (!isUtf8(part)) return bytes.length * 2 < bytes.buffer.byteLength ? bytes.slice() : bytes;
    text += Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('utf8');
    at += part.length;
    if (sliceSpent()) await nextTurn(signal);
  }
  return text;
}
