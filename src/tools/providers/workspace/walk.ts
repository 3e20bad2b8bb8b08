// Walks a folder of the workspace: files and symbolic links below it, in the order of their paths.
// Folders are entered by their real place and links never, so a walk neither leaves the root nor
// goes in circles. What is left out is counted as an omission; a folder that vanishes is just gone.

import { isRefusal, type Refusal } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';
import { entriesOf, explain, openPlace, type Place } from './confined_files.ts';
import { type Omissions, omit } from './omissions.ts';
import { nextTurn, sliceSpent, sortInTurns } from './turns.ts';

/** A file or symbolic link; `path` is relative to the workspace. */
export type Found = { readonly path: string; readonly link: boolean };

export type Walk = {
  readonly root: string;
  /** Entered by its handle, which the walk closes. */
  readonly start: Place;
  /** Whether names that begin with a dot are shown, except `.git`. */
  readonly hidden: boolean;
  readonly signal: AbortSignal;
  readonly omissions: Omissions;
  /** Entries looked at by one walk; the table's bound unless a test lowers it. */
  readonly entries?: number;
};

/** One folder on the way: names still to visit, the next one last; a folder's ends in a slash. */
type Frame = { readonly prefix: string; readonly names: string[]; readonly links: ReadonlySet<string> };

/**
 * Yields what lies below `start`, ordered by path (UTF-16 units), one folder read whole at a time.
 * @throws the operating system's error where `start` cannot be read; the signal's reason, once it is aborted
 */
export async function* walk(walk: Walk): AsyncGenerator<Found> {
  const budget = { entries: walk.entries ?? workspaceBounds.entries };
  const stack = [await readFolder(walk, walk.start, budget)];
  while (stack.length > 0) {
    if (sliceSpent()) await nextTurn(walk.signal);
    const { prefix, names, links } = stack.at(-1)!;
    const name = names.pop();
    if (name === undefined) {
      stack.pop();
    } else if (!name.endsWith('/')) {
      yield { path: prefix + name, link: links.has(name) };
    } else if (stack.length > workspaceBounds.depth) {
      omit(walk.omissions, 'deep');
    } else if (budget.entries > 0) {
      const frame = await enterFolder(walk, prefix + name.slice(0, -1), budget);
      if (frame !== null) stack.push(frame);
    } else {
      walk.omissions.set('entries', 1);
    }
  }
}

async function enterFolder(walk: Walk, path: string, budget: { entries: number }): Promise<Frame | null> {
  const request = { root: walk.root, path, verb: 'list', links: false } as const;
  const place = await openPlace(request);
  if (isRefusal(place)) return skip(walk, place);
  if (place.kind !== 'folder') {
    await place.handle.close();
    return null;
  }
  try {
    return await readFolder(walk, place, budget);
  } catch (error) {
    walk.signal.throwIfAborted();
    return skip(walk, await explain(error, request));
  }
}

/** What vanished since its folder was read was never there; all else that cannot be entered is told. */
function skip({ omissions }: Walk, { code }: Refusal): null {
  if (code !== 'ENOENT') omit(omissions, 'unreadableFolders');
  return null;
}

async function readFolder(walk: Walk, place: Place, budget: { entries: number }): Promise<Frame> {
  const { root, hidden, signal, omissions } = walk;
  const names: string[] = [];
  const links = new Set<string>();
  try {
    for await (const { name, kind } of entriesOf(place, root)) {
      if (sliceSpent()) await nextTurn(signal);
      if (budget.entries <= 0) {
        omissions.set('entries', 1);
        break;
      }
      budget.entries--;
      if (name.startsWith('.') && (!hidden || name === '.git')) continue;
      // Both runtimes put U+FFFD for what is not UTF-8, and Deno can open no such name.
      if (name.includes('\ufffd')) {
        omit(omissions, 'names');
        continue;
      }
      if (kind === 'link') links.add(name);
      // With the slash, whole paths come out in order: `a.b` before `a/b`.
      names.push(kind === 'folder' ? `${name}/` : name);
    }
  } finally {
    await place.handle.close();
  }
  const sorted = await sortInTurns(names, signal);
  return { prefix: place.path === '' ? '' : `${place.path}/`, names: sorted.reverse(), links };
}
