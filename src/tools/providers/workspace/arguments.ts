// Arguments of the workspace tools as a program sends them: text may come as bytes, integers as
// bigint. Also how values are quoted in messages and shown in listings, one line each.
// A fault is a value (`Refusal`), the sentence that the program gets; nothing here touches a file.

import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { workspaceBounds } from './bounds.ts';

/** A call that ran and reported failure: the sentence for the program, and the operating system's code where it gave one. */
export type Refusal = { readonly refused: string; readonly code?: string };

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

/** What a call does with a place, as its messages say it: `Cannot read x`, `Cannot list x`, `Cannot search x`. */
export type Verb = 'read' | 'list' | 'search';

/** The text of an argument that is a string or UTF-8 bytes; null for bytes that are not UTF-8. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!(value instanceof Uint8Array) || !isUtf8(value)) return null;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
}

/** The number of an integer argument that may be a bigint; `otherwise` where it was left out. */
export function integerOf<T>(value: unknown, otherwise: T): number | T {
  return value === undefined || value === null ? otherwise : Number(value);
}

// deno-lint-ignore no-control-regex -- names of files may hold control characters
const unsafeInLine = /^"|[\u0000-\u001f\u007f\u2028\u2029]/;

/** A path as one line of text: in JSON's quotes where it holds control characters or begins with a quote. */
export function pathLine(path: string): string {
  return unsafeInLine.test(path) ? JSON.stringify(path).replaceAll('\u007f', '\\u007f') : path;
}

/** A value in quotes for a message, cut to a bounded length. */
export function quoted(text: string): string {
  return JSON.stringify(cutText(text, workspaceBounds.quotedChars)).replaceAll('\u007f', '\\u007f');
}

/** A path for a message: as `pathLine`, cut to a bounded length. */
export function named(path: string): string {
  return pathLine(cutText(path, workspaceBounds.quotedChars));
}

/** At most `chars` UTF-16 units of a text, never half of a surrogate pair. */
export function cutText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const last = text.charCodeAt(chars - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? chars - 1 : chars);
}

/** The refusal of a path that leads out of the workspace, by its letters or by a symbolic link: the same sentence. */
export function outside(verb: Verb, asked: string, root: string): Refusal {
  return {
    refused: `Cannot ${verb} ${named(asked)}: it lies outside the workspace ${
      named(root)
    }; paths are relative to the workspace`,
  };
}

/**
 * A path argument as a path relative to the root, normalised by its letters, '' for the root itself.
 * An absolute path is taken where it begins with the root.
 */
export function relativePath(value: unknown, verb: Verb, root: string): string | Refusal {
  const asked = textOf(value);
  if (asked === null) {
    const lossy = Buffer.from(value as Uint8Array).toString('utf8');
    return { refused: `Cannot ${verb} ${named(lossy)}: a path must be valid UTF-8, and these bytes are not` };
  }
  if (asked.includes('\0')) {
    return { refused: `Cannot ${verb} ${named(asked)}: a path must not contain a NUL character` };
  }
  const bytes = Buffer.byteLength(asked);
  if (bytes > workspaceBounds.pathBytes) {
    return {
      refused: `Cannot ${verb} ${
        named(asked)
      }: a path must be at most ${workspaceBounds.pathBytes} bytes long, got ${bytes}`,
    };
  }
  const whole = posix.resolve(root, asked);
  if (!isWithin(root, whole)) return outside(verb, asked, root);
  return whole.slice(root === '/' ? 1 : root.length + 1);
}

/** Whether an absolute, normalised path is the root or lies below it. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root === '/' ? '/' : `${root}/`);
}
