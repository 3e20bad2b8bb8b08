// Files on their way to a search: opened some ahead, told from binary ones, and cut into pieces of
// whole lines, so that no file is ever held as a whole. Closes every file it opened, also when the
// search ends early. Knows nothing of patterns.

import type { FileHandle } from 'node:fs/promises';
import { isRefusal, type Refusal } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';
import { openFile } from './confined_files.ts';
import { type Omissions, omit } from './omissions.ts';
import { nextTurn, sliceSpent } from './turns.ts';

const { binaryProbeBytes, lineBytes, readChunkBytes, searchedFileBytes } = workspaceBounds;

/** A file with its beginning read. `handle` reads the rest, null where the beginning is all; whoever has it closes it. */
export type OpenedFile = {
  readonly path: string;
  readonly head: Uint8Array;
  readonly handle: FileHandle | null;
  readonly binary: boolean;
};

/** Opens a file and reads its beginning. `links` as in confined_files.ts. */
export async function openHead(
  { root, path, links, signal }: { root: string; path: string; links: boolean; signal: AbortSignal },
): Promise<OpenedFile | Refusal> {
  signal.throwIfAborted();
  const file = await openFile({ root, path, verb: 'search', links });
  if (isRefusal(file)) return file;
  let keep = false;
  try {
    // One byte more than there should be: a short read then is the end.
    const head = Buffer.allocUnsafe(Math.min(Math.max(file.size, 4095) + 1, readChunkBytes));
    const { bytesRead } = await file.handle.read(head, 0, head.length, 0);
    const binary = head.subarray(0, Math.min(bytesRead, binaryProbeBytes)).includes(0);
    keep = bytesRead === head.length && !binary;
    return { path: file.path, head: head.subarray(0, bytesRead), handle: keep ? file.handle : null, binary };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw error;
    return { refused: `Cannot search ${path}: the operating system reports ${code}`, code };
  } finally {
    if (!keep) await file.handle.close();
  }
}

/**
 * Loads up to `count` items ahead and yields them in order. What was loaded and not yielded is dropped at the end;
 * what was yielded is the caller's.
 */
export async function* loadAhead<T, R>(
  items: AsyncGenerator<T>,
  { count, load, drop }: { count: number; load: (item: T) => Promise<R>; drop: (loaded: R) => Promise<void> },
): AsyncGenerator<R> {
  const loading: Promise<R>[] = [];
  try {
    for (let ended = false;;) {
      while (!ended && loading.length < count) {
        const next = await items.next();
        if (next.done) ended = true;
        else loading.push(watched(load(next.value)));
      }
      const first = loading.shift();
      if (first === undefined) return;
      yield await first;
    }
  } finally {
    await items.return(undefined);
    for (const each of loading) await each.then(drop, () => {});
  }
}

/** Marks a promise as handled: it is awaited later, and must not end the process if it fails first. */
function watched<R>(promise: Promise<R>): Promise<R> {
  promise.catch(() => {});
  return promise;
}

/** Whole lines of a file, ending in a line break except for the last of a file and for a line that is too long. */
export type LinePiece = { readonly bytes: Uint8Array; readonly last: boolean };

/**
 * Yields a file in pieces of whole lines. Of a line longer than the bound only the beginning comes; of a file
 * larger than the bound only the first bytes. Both are counted as omissions.
 */
export async function* linePieces(
  file: OpenedFile,
  signal: AbortSignal,
  omissions: Omissions,
): AsyncGenerator<LinePiece> {
  const { handle } = file;
  let carry: Uint8Array = file.head;
  let offset = carry.length;
  let skipping = false;
  const chunk = handle === null ? null : Buffer.allocUnsafe(readChunkBytes);
  for (let ended = handle === null;;) {
    const cut = carry.lastIndexOf(10) + 1;
    const rest = carry.subarray(cut);
    if (cut > 0) yield { bytes: carry.subarray(0, cut), last: ended && rest.length === 0 };
    if (ended) {
      if (rest.length > 0) yield { bytes: rest, last: true };
      return;
    }
    carry = rest;
    if (carry.length >= lineBytes) {
      omit(omissions, 'longLines');
      yield { bytes: carry, last: false };
      carry = new Uint8Array(0);
      skipping = true;
    }
    if (offset >= searchedFileBytes) {
      omit(omissions, 'bigFiles');
      return;
    }
    const { bytesRead } = await handle!.read(chunk!, 0, chunk!.length, offset);
    signal.throwIfAborted();
    if (sliceSpent()) await nextTurn(signal);
    offset += bytesRead;
    ended = bytesRead === 0;
    let fresh = chunk!.subarray(0, bytesRead);
    if (skipping) {
      const end = fresh.indexOf(10);
      skipping = end < 0;
      fresh = end < 0 ? fresh.subarray(0, 0) : fresh.subarray(end + 1);
    }
    carry = Buffer.concat([carry, fresh]);
  }
}
