// Searches the lines of one file for a pattern and puts what it finds on a page. A plain word is found
// by the engine's own search over whole pieces of the file; everything else line by line, and of a
// line only as much as the pattern's cost allows. Gives the event loop back between slices.

import { isUtf8 } from 'node:buffer';
import { type LinePiece, linePieces, type OpenedFile } from './file_lines.ts';
import { omit } from './omissions.ts';
import type { Pattern } from './pattern.ts';
import { cutLine, type Line, type Match, ownCopy, type Page, takeContext, takeMatch } from './search_page.ts';
import { nextTurn, sliceSpent } from './turns.ts';

export type Search = {
  readonly pattern: Pattern;
  /** Lines shown before and after each match. */
  readonly context: number;
  readonly page: Page;
  readonly signal: AbortSignal;
  /** Bytes that the whole search may still look at; counted down. */
  readonly left: { bytes: number };
};

/** What goes on from line to line of one file. */
type Progress = {
  readonly path: string;
  line: number;
  /** The last lines, as many as the context wants. */
  readonly before: Line[];
  /** Matches that still want lines after them. */
  pending: { readonly match: Match; wanted: number }[];
};

/** Searches one file; ends early when the page is full (`page.hasMore`) or no bytes are left. */
export async function searchFile(search: Search, file: OpenedFile): Promise<void> {
  const { page, signal, left } = search;
  const progress: Progress = { path: file.path, line: 0, before: [], pending: [] };
  for await (const piece of linePieces(file, signal, page.omissions)) {
    if (left.bytes <= 0) return;
    left.bytes -= piece.bytes.length;
    if (search.pattern.word !== null && search.context === 0 && isUtf8(piece.bytes)) {
      await searchWord(search, search.pattern.word, progress, piece);
    } else {
      await searchLines(search, progress, piece);
    }
    if (page.hasMore && progress.pending.length === 0) return;
    if (sliceSpent()) await nextTurn(signal);
  }
}

async function searchWord({ page, signal }: Search, word: string, progress: Progress, piece: LinePiece): Promise<void> {
  const text = asBuffer(piece.bytes).toString('utf8');
  let counted = 0;
  for (let hit = text.indexOf(word); hit >= 0;) {
    const start = hit === 0 ? 0 : text.lastIndexOf('\n', hit - 1) + 1;
    const end = text.indexOf('\n', hit);
    progress.line += lineBreaks(text, counted, start);
    counted = start;
    takeMatch(page, {
      path: progress.path,
      line: progress.line + 1,
      text: withoutReturn(text.slice(start, end < 0 ? undefined : end)),
    });
    if (page.hasMore || end < 0) break;
    hit = text.indexOf(word, end + 1);
    if (sliceSpent()) await nextTurn(signal);
  }
  if (piece.last || page.hasMore) return;
  progress.line += lineBreaks(text, counted, text.length) + (text.endsWith('\n') ? 0 : 1);
}

/** Line breaks between two places of a text. By characters: searching for each costs 20 ns where every character is one. */
function lineBreaks(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === 10) count++;
  return count;
}

async function searchLines(search: Search, progress: Progress, piece: LinePiece): Promise<void> {
  const whole = isUtf8(piece.bytes);
  // One character a byte where it is not UTF-8, so that each line can be judged for itself.
  const text = asBuffer(piece.bytes).toString(whole ? 'utf8' : 'latin1');
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start);
    const line = withoutReturn(text.slice(start, end < 0 ? undefined : end));
    searchLine(search, progress, whole ? line : lineOfBytes(line));
    if (search.page.hasMore && progress.pending.length === 0) return;
    if (end < 0) return;
    start = end + 1;
    if (sliceSpent()) await nextTurn(search.signal);
  }
}

function searchLine({ pattern, context, page }: Search, progress: Progress, line: Line): void {
  progress.line++;
  // One copy of a line serves all matches whose context it is.
  const shown = context > 0 ? ownCopy(cutLine(line)) : '';
  for (const each of progress.pending) {
    takeContext(page, each.match, shown);
    each.wanted--;
  }
  if (progress.pending.length > 0) progress.pending = progress.pending.filter((each) => each.wanted > 0);
  if (!page.hasMore && matches(pattern, page, line)) {
    const found = { path: progress.path, line: progress.line, text: line };
    const match = takeMatch(page, context > 0 ? { ...found, before: [...progress.before] } : found);
    if (match !== null && context > 0) progress.pending.push({ match, wanted: context });
  }
  if (context === 0) return;
  progress.before.push(shown);
  if (progress.before.length > context) progress.before.shift();
}

function matches(pattern: Pattern, page: Page, line: Line): boolean {
  const text = typeof line === 'string' ? line : asBuffer(line).toString('utf8');
  if (text.length <= pattern.maxChars) return pattern.test(text);
  omit(page.omissions, 'longLines');
  return pattern.test(text.slice(0, pattern.maxChars));
}

/** A line given as one character a byte: its text where it is UTF-8, else its bytes. */
function lineOfBytes(line: string): Line {
  const bytes = Buffer.from(line, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : bytes;
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
