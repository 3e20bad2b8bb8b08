// The one way to a file or folder of a workspace. Opens first, asks the kernel where the descriptor
// really is, and only then reads: no symbolic link, `..` or swap of a folder while it is opened leads
// out of the root, and no FIFO or device is ever opened for reading. Closes what it opens.
// Without Linux's /proc: real paths before and after opening, which narrows a race but cannot close it.

import { constants } from 'node:fs';
import { access, type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { isRefusal, isWithin, named, outside, type Refusal, type Verb } from './arguments.ts';
import { folderEntries, type FolderEntry } from './folder_entries.ts';

/** Linux's O_PATH: a descriptor that names a file without opening it, so that even a device is left alone. */
const O_PATH = 0x200000;
const readFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/** An open place. `handle` only names it where there is /proc; `path` is its real place below the root, '' for the root. */
export type Place = {
  readonly handle: FileHandle;
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'other';
  /** Bytes, when it was opened. */
  readonly size: number;
};

/** What is asked for. `links`: whether symbolic links inside the root may be followed. */
export type Request = {
  readonly root: string;
  readonly path: string;
  readonly verb: Verb;
  readonly links: boolean;
  /** False takes the way without /proc; left out, the host decides. */
  readonly proc?: boolean;
};

const withheld = new Map<string, number>();

/** Keeps a folder, as the file system resolves it, out of the reach of all workspaces until it is disposed of. */
export function withhold(folder: string): Disposable {
  withheld.set(folder, (withheld.get(folder) ?? 0) + 1);
  return {
    [Symbol.dispose]() {
      const uses = withheld.get(folder)! - 1;
      if (uses > 0) withheld.set(folder, uses);
      else withheld.delete(folder);
    },
  };
}

const isWithheld = (real: string): boolean => [...withheld.keys()].some((folder) => isWithin(folder, real));

let procFound: Promise<boolean> | undefined;

/** Whether descriptors can be asked for their place here. */
export function hasProc(): Promise<boolean> {
  return procFound ??= process.platform === 'linux'
    ? access('/proc/self/fd').then(() => true, () => false)
    : Promise.resolve(false);
}

/**
 * Opens a place below the root, or says why not. The caller closes its handle.
 * @throws what tells of the daemon and not of the file (EMFILE, ENFILE, ENOMEM)
 */
export async function openPlace(request: Request): Promise<Place | Refusal> {
  try {
    return await ((request.proc ?? await hasProc()) ? openByDescriptor(request) : openByRealPath(request));
  } catch (error) {
    return await explain(error, request);
  }
}

async function openByDescriptor({ root, path, verb, links }: Request): Promise<Place | Refusal> {
  const handle = await open(posix.join(root, path), O_PATH | (links ? 0 : constants.O_NOFOLLOW));
  return await keepIf(handle, async () => {
    const real = await readlink(`/proc/self/fd/${handle.fd}`);
    const stat = await handle.stat();
    if (!isWithin(root, real) || isWithheld(real)) return outside(verb, path, root);
    const place = real.slice(root === '/' ? 1 : root.length + 1);
    // A walk found this very path without links: another place means that a folder was swapped since.
    if (!links && place !== path) return outside(verb, path, root);
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other';
    return { handle, path: place, kind, size: stat.size };
  });
}

async function openByRealPath({ root, path, verb, links }: Request): Promise<Place | Refusal> {
  const whole = posix.join(root, path);
  const before = await realpath(whole);
  if (!isWithin(root, before) || isWithheld(before) || (!links && before !== whole)) return outside(verb, path, root);
  const seen = await lstat(before);
  const kind = seen.isFile() ? 'file' : seen.isDirectory() ? 'folder' : 'other';
  // Opening a FIFO or device could do something, so what is no file is named by the root's own descriptor.
  const handle = await open(kind === 'other' ? root : before, readFlags | (constants.O_NOFOLLOW ?? 0));
  return await keepIf(handle, async () => {
    const stat = await handle.stat();
    const after = await realpath(whole);
    const same = kind === 'other' || (stat.ino === seen.ino && stat.dev === seen.dev);
    if (!same || after !== before) return outside(verb, path, root);
    return { handle, path: before.slice(root === '/' ? 1 : root.length + 1), kind, size: stat.size };
  });
}

async function keepIf(handle: FileHandle, look: () => Promise<Place | Refusal>): Promise<Place | Refusal> {
  let kept = false;
  try {
    const place = await look();
    kept = !isRefusal(place);
    return place;
  } finally {
    if (!kept) await handle.close();
  }
}

/** An open regular file below the root; the caller closes its handle. Refuses what is none, with the reason. */
export async function openFile(request: Request): Promise<Place | Refusal> {
  const place = await openPlace(request);
  if (isRefusal(place)) return place;
  try {
    if (place.kind !== 'file') {
      await place.handle.close();
      return notAFile(place.kind, request);
    }
    return await openForReading(place, request);
  } catch (error) {
    return await explain(error, request);
  }
}

/** Turns a place of kind `file` into one whose handle reads, and closes the handle that only named it. */
export async function openForReading(place: Place, request: Request): Promise<Place | Refusal> {
  if (!(request.proc ?? await hasProc())) return place;
  try {
    // Through the descriptor, not through the path: this is the file that was looked at, whatever its path is now.
    return { ...place, handle: await open(`/proc/self/fd/${place.handle.fd}`, readFlags) };
  } catch (error) {
    return await explain(error, request);
  } finally {
    await place.handle.close();
  }
}

function notAFile(kind: Place['kind'], { path, verb }: Request): Refusal {
  return kind === 'folder'
    ? {
      refused: `Cannot ${verb} ${named(path || '.')}: it must be a file, and it is a folder; list_files lists folders`,
    }
    : { refused: `Cannot ${verb} ${named(path)}: it must be a regular file, and it is a FIFO, socket or device` };
}

/** The entries of an open folder, one after the other, in no order. The caller keeps `place.handle` open meanwhile. */
export async function* entriesOf(place: Place, root: string, proc?: boolean): AsyncGenerator<FolderEntry> {
  yield* folderEntries((proc ?? await hasProc()) ? `/proc/self/fd/${place.handle.fd}` : posix.join(root, place.path));
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path before its end is no folder',
  EACCES: 'the operating system denies permission',
  EPERM: 'the operating system denies permission',
  ELOOP: 'it goes through too many symbolic links',
  ENAMETOOLONG: 'a name in it is longer than the file system allows',
};

/** The refusal for an error of the operating system about a path; rethrows what is no such error. */
export async function explain(error: unknown, { root, path, verb }: Request): Promise<Refusal> {
  const code = (error as NodeJS.ErrnoException)?.code;
  if (typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code) || ['EMFILE', 'ENFILE', 'ENOMEM'].includes(code)) {
    throw error;
  }
  // A link that leads out gets one and the same answer, so that nothing outside can be probed for existence.
  if (code in reasons && await leadsOutside(root, path)) return outside(verb, path, root);
  const reason = reasons[code] ?? `the operating system reports ${code}`;
  return { refused: `Cannot ${verb} ${named(path || '.')}: ${reason} (in the workspace ${named(root)})`, code };
}

/** Follows the symbolic links of a path by their letters, without touching what they point at. */
async function leadsOutside(root: string, path: string): Promise<boolean> {
  const parts = path.split('/').reverse();
  let at = root;
  let links = 0;
  for (let steps = 0; parts.length > 0 && links <= 40 && steps < 4096; steps++) {
    const next = posix.join(at, parts.pop()!);
    if (!isWithin(root, next)) return true;
    const target = await readlink(next).catch(() => null);
    if (target === null) {
      at = next;
      continue;
    }
    links++;
    if (!posix.isAbsolute(target)) parts.push(...target.split('/').reverse());
    else if (!isWithin(root, posix.normalize(target))) return true;
    else {
      at = root;
      parts.push(...posix.relative(root, target).split('/').reverse());
    }
  }
  return false;
}
