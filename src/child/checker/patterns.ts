// Regular expressions of schemas on a linear-time engine. Those that no such engine can run (lookaround, back
// references) are told apart from those that are wrong: schema generators write the former for e-mail addresses and
// the like, and a tool must not be lost for it. Never runs a pattern on the engine of JavaScript.

import { RE2JS, RE2JSSyntaxException } from 're2js';
import { schemaBounds } from './schema_bounds.ts';

/** A pattern that can be matched anywhere in a text, in time linear in its length. */
export interface Pattern {
  readonly source: string;
  readonly matches: (text: string) => boolean;
}

/** What became of a pattern; the message of `refused` and `skipped` says what about it, without naming its place. */
export type PatternOutcome =
  | { readonly outcome: 'compiled'; readonly pattern: Pattern }
  | { readonly outcome: 'skipped' | 'refused'; readonly message: string };

const lookaround = /^\(\?(?:=|!|<=|<!)/;
const backReference = /^\\(?:[1-9]|k<)/;

/** Compiles a pattern of JSON Schema (the syntax of ECMA-262, in the part that a linear engine has). */
export function compilePattern(source: string): PatternOutcome {
  const { patternLength, patternSize } = schemaBounds;
  if (source.length > patternLength.most) {
    return refused(`must have at most ${patternLength.most} characters, got ${source.length}`);
  }
  const unsupported = unsupportedPart(source);
  if (unsupported !== undefined) {
    return { outcome: 'skipped', message: `is not checked, because "${unsupported}" cannot be matched in linear time` };
  }
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(source));
    const size = expression.programSize();
    if (size > patternSize.most) return refused(`must be at most ${patternSize.most} instructions, got ${size}`);
    return { outcome: 'compiled', pattern: { source, matches: (text) => expression.test(text) } };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return refused(`must be a regular expression, got ${error.error}`);
    throw error;
  }
}

function refused(message: string): PatternOutcome {
  return { outcome: 'refused', message };
}

/** The first lookaround or back reference outside a character class, if there is one. */
function unsupportedPart(source: string): string | undefined {
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const rest = source.slice(at, at + 4);
    if (!inClass) {
      const found = lookaround.exec(rest) ?? backReference.exec(rest);
      if (found !== null) return found[0];
    }
    if (rest[0] === '\\') at++;
    else if (rest[0] === '[') inClass = true;
    else if (rest[0] === ']') inClass = false;
  }
  return undefined;
}
