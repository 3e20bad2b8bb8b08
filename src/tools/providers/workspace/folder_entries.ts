// The entries of a folder, one by one, on Node and on Deno: whatever its size, no array of them all is
// made, the event loop is not held, and ending early closes the folder. Names that are not UTF-8 come
// with U+FFFD in them on both.

import { opendir } from 'node:fs/promises';

/** An entry of a folder, as far as the tools know them; others (FIFOs, sockets, devices) are left out. */
export type FolderEntry = { readonly name: string; readonly kind: 'file' | 'folder' | 'link' };

type DenoEntry = {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly isSymlink: boolean;
};
const { Deno: deno } = globalThis as { Deno?: { readDir(path: string): AsyncIterable<DenoEntry> } };

/** Yields what the folder holds, in no order. @throws the operating system's error where it cannot be read */
export function folderEntries(path: string): AsyncGenerator<FolderEntry> {
  return deno === undefined ? entriesOnNode(path) : entriesOnDeno(deno.readDir(path));
}

async function* entriesOnNode(path: string): AsyncGenerator<FolderEntry> {
  for await (const entry of await opendir(path, { bufferSize: 512 })) {
    const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : null;
    if (kind !== null) yield { name: entry.name, kind };
  }
}

/** Not through Deno's node:fs: its Dir.close leaves the descriptor open, and 100,000 entries held the loop for 130 ms. */
async function* entriesOnDeno(entries: AsyncIterable<DenoEntry>): AsyncGenerator<FolderEntry> {
  for await (const { name, isFile, isDirectory, isSymlink } of entries) {
    const kind = isFile ? 'file' : isDirectory ? 'folder' : isSymlink ? 'link' : null;
    if (kind !== null) yield { name, kind };
  }
}
