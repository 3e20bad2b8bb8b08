// Forgives what models put around a Lua program: a byte order mark, a `#!` line, a Markdown fence.
// Line numbers stay those of the text inside the fence. Never changes the program itself.

import { Buffer } from 'node:buffer';

/** The program as Lua takes it. Lines that are dropped from its front stay as empty ones only where the author counts them. */
export function strippedSource(source: Uint8Array): Uint8Array {
  // latin1 keeps every byte as one character, so that the program's own bytes go through.
  let text = Buffer.from(source).toString('latin1');
  if (text.startsWith('\xef\xbb\xbf')) text = text.slice(3);
  const fence = /^\s*```[\w+-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```\s*$/.exec(text);
  if (fence) text = fence[1]!;
  if (text.startsWith('#')) text = '--' + text;
  return Buffer.from(text, 'latin1');
}
