// One page of a search: which matches are on it, within its limit and its room in bytes, and how it
// reads as text. Matches that cannot be shown are counted, never dropped in silence. No file is
// touched here.

import { cutText, pathLine } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';
import { type Omissions, omit } from './omissions.ts';
import { nextTurn, sliceSpent } from './turns.ts';
import { wholeCharacters } from './utf8.ts';

/** A line as it is in the file, without its line break: bytes where it is not UTF-8. */
export type Line = string | Uint8Array;

export type Match = {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: Line;
  /** Set where `text` is only the beginning of the line. */
  readonly cut?: true;
  /** Set where context was asked for: the lines before and after, as many as there are. */
  readonly before?: readonly Line[];
  readonly after?: Line[];
};

export type Page = {
  readonly offset: number;
  readonly limit: number;
  /** Bytes of UTF-8 for text and for structured value, each. */
  readonly room: number;
  readonly omissions: Omissions;
  readonly matches: Match[];
  /** Lengths of the lines that were cut, in characters or bytes. */
  readonly lengths: Map<Match, number>;
  /** Matches seen so far, those before the page included. */
  passed: number;
  used: number;
  hasMore: boolean;
};

export function newPage(given: Pick<Page, 'offset' | 'limit' | 'room' | 'omissions'>): Page {
  return { ...given, matches: [], lengths: new Map(), passed: 0, used: 0, hasMore: false };
}

/** Keys and flags of one match, heads of its strings, and the words that say it was cut. */
const matchOverhead = 96;

/** Takes a match onto the page; its lines before are already cut. Null where it is before the page, does not fit on any page, or after it (`hasMore`). */
export function takeMatch(
  page: Page,
  found: { path: string; line: number; text: Line; before?: readonly Line[] },
): Match | null {
  if (page.passed < page.offset) {
    page.passed++;
    return null;
  }
  const { path, line, text, before } = found;
  const shown = cutLine(text);
  const pathBytes = Buffer.byteLength(pathLine(path));
  // Once for the match, and once for the list of files when this is the first one of its file.
  const named = page.matches.at(-1)?.path === path ? 1 : 2;
  let bytes = named * pathBytes + lineBytes(shown) + matchOverhead;
  for (const each of before ?? []) bytes += lineBytes(each) + pathBytes + 16;
  if (page.matches.length >= page.limit || (page.used + bytes > page.room && page.used > 0)) {
    page.hasMore = true;
    return null;
  }
  page.passed++;
  if (bytes > page.room) {
    omit(page.omissions, 'large');
    return null;
  }
  page.used += bytes;
  const cut = shown.length < text.length;
  const match: Match = {
    path,
    line,
    text: ownCopy(shown),
    ...(cut ? { cut: true as const } : {}),
    ...(before === undefined ? {} : { before, after: [] }),
  };
  if (cut) {
    omit(page.omissions, 'cutLines');
    page.lengths.set(match, text.length);
  }
  page.matches.push(match);
  return match;
}

/** Adds a line after a match, already cut, as far as there is room. */
export function takeContext(page: Page, match: Match, shown: Line): void {
  const bytes = lineBytes(shown) + Buffer.byteLength(pathLine(match.path)) + 16;
  if (page.used + bytes > page.room) return omit(page.omissions, 'context');
  page.used += bytes;
  match.after!.push(shown);
}

/** The part of a line that an answer shows. */
export function cutLine(line: Line): Line {
  const { shownLineChars } = workspaceBounds;
  if (typeof line === 'string') return cutText(line, shownLineChars);
  return line.length <= shownLineChars ? line : wholeCharacters(line.subarray(0, shownLineChars));
}

/** A copy that stands alone: a slice of a string keeps all of the 256 KiB piece that it was cut from. */
export function ownCopy(line: Line): Line {
  return typeof line === 'string' ? Buffer.from(line).toString('utf8') : new Uint8Array(line);
}

function lineBytes(line: Line): number {
  return typeof line === 'string' ? Buffer.byteLength(line) : line.length;
}

/** The page as text: `path:line: text` a match, `path-line- text` a line of context, `--` between what is apart. */
export async function renderPage(page: Page, signal: AbortSignal): Promise<string | Uint8Array> {
  const pieces: Line[] = [];
  const parts: Line[] = [];
  let first = true;
  let at = 0;
  while (at < page.matches.length) {
    const { path } = page.matches[at]!;
    const name = pathLine(path);
    const lines = new Map<number, { readonly mark: ':' | '-'; readonly text: Line; readonly note: string }>();
    const addContext = (line: number, text: Line) => {
      if (!lines.has(line)) lines.set(line, { mark: '-', text, note: '' });
    };
    for (; at < page.matches.length && page.matches[at]!.path === path; at++) {
      const match = page.matches[at]!;
      const { line, text, before = [], after = [] } = match;
      before.forEach((each, index) => addContext(line - before.length + index, each));
      const length = page.lengths.get(match);
      const note = length === undefined
        ? ''
        : ` [cut: ${text.length} of ${length} ${typeof text === 'string' ? 'characters' : 'bytes'}]`;
      lines.set(line, { mark: ':', text, note });
      after.forEach((each, index) => addContext(line + 1 + index, each));
      if (sliceSpent()) await nextTurn(signal);
    }
    let previous: number | null = null;
    for (const line of [...lines.keys()].sort((a, b) => a - b)) {
      const { mark, text, note } = lines.get(line)!;
      const apart = page.matches[0]!.before !== undefined && !first && line - 1 !== previous;
      parts.push(`${first ? '' : '\n'}${apart ? '--\n' : ''}${name}${mark}${line}${mark} `, text, note);
      first = false;
      previous = line;
      if (parts.length >= 1024) pieces.push(joined(parts.splice(0)));
      if (sliceSpent()) await nextTurn(signal);
    }
  }
  pieces.push(joined(parts));
  return joined(pieces);
}

/** Text where all parts are, else bytes. */
function joined(parts: readonly Line[]): Line {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  return Buffer.concat(parts.map((part) => typeof part === 'string' ? Buffer.from(part) : part));
}
