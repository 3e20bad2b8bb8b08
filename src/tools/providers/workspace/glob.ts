// Globs of programs: * ** ? [abc] [!a-z] {a,b} and \ before what is meant literally. A glob becomes an
// RE2 pattern, so that no glob takes more than linear time, and no brace is ever written out.
// A glob without a slash is matched against the name alone, one with a slash against the whole path.

import { isRefusal, quoted, type Refusal } from './arguments.ts';
import { compilePattern, tooLong } from './pattern.ts';

export type Glob = {
  /** Whether the path, relative to the folder asked for, matches; null where it is too long to be tried. */
  readonly test: (path: string) => boolean | null;
};

/** A part of a pattern and where the glob goes on. */
type Part = { readonly pattern: string; readonly next: number };

/** Compiles a glob, or says what is wrong with it. */
export function compileGlob(glob: string): Glob | Refusal {
  const asked = `Cannot match files by ${quoted(glob)}`;
  const long = tooLong(glob, asked);
  if (long !== null) return long;
  const plain = glob.replace(/^(?:\.?\/)+/, '');
  const translated = translate(plain);
  if (typeof translated !== 'string') return { refused: `${asked}: ${translated.fault}` };
  const source = `(?s)^(?:${translated})$`;
  const pattern = compilePattern({ source, literal: false, ignoreCase: false, asked, syntax: 'a glob' });
  if (isRefusal(pattern)) return pattern;
  const byName = !plain.includes('/');
  return {
    test: (path) => {
      const subject = byName ? path.slice(path.lastIndexOf('/') + 1) : path;
      return subject.length > pattern.maxChars ? null : pattern.test(subject);
    },
  };
}

function translate(glob: string): string | { readonly fault: string } {
  let pattern = '';
  let braces = 0;
  for (let at = 0; at < glob.length;) {
    const char = glob[at]!;
    if (char === '*') {
      const part = stars(glob, at);
      pattern += part.pattern;
      at = part.next;
      continue;
    }
    if (char === '[') {
      const part = characterClass(glob, at);
      if (part === null) return { fault: `the [ at character ${at + 1} has no closing ]` };
      pattern += part.pattern;
      at = part.next;
      continue;
    }
    if (char === '\\') {
      if (at + 1 >= glob.length) return { fault: 'the \\ at its end escapes nothing' };
      pattern += escapeChar(codePointAt(glob, at + 1));
      at += 1 + codePointAt(glob, at + 1).length;
      continue;
    }
    if (char === '{') braces++;
    if (char === '}' && braces === 0) return { fault: `the } at character ${at + 1} has no opening {` };
    if (char === '}') braces--;
    const whole = codePointAt(glob, at);
    pattern += char === '?'
      ? '[^/]'
      : char === '{'
      ? '(?:'
      : char === '}'
      ? ')'
      : char === ',' && braces > 0
      ? '|'
      : escapeChar(whole);
    at += whole.length;
  }
  return braces > 0 ? { fault: 'a { has no closing }' } : pattern;
}

/** `**` as a whole part of the path stands for any number of folders; other stars stay within one name. */
function stars(glob: string, at: number): Part {
  let next = at;
  while (glob[next] === '*') next++;
  const opens = at === 0 || '/{,'.includes(glob[at - 1]!);
  if (next - at < 2 || !opens) return { pattern: '[^/]*', next };
  if (glob[next] === '/') return { pattern: '(?:.*/)?', next: next + 1 };
  return next === glob.length || '},'.includes(glob[next]!) ? { pattern: '.*', next } : { pattern: '[^/]*', next };
}

/** `[abc]`, `[a-z]`, `[!a]` or `[^a]`; what is negated is no slash either. A `]` right after the opening is itself meant. */
function characterClass(glob: string, at: number): Part | null {
  let next = at + 1;
  const negated = glob[next] === '!' || glob[next] === '^';
  if (negated) next++;
  let members = '';
  for (let first = true; next < glob.length; first = false) {
    let whole = codePointAt(glob, next);
    if (whole === ']' && !first) {
      return { pattern: negated ? `[^/${members}]` : `[${members}]`, next: next + 1 };
    }
    next += whole.length;
    if (whole === '\\' && next < glob.length) {
      whole = codePointAt(glob, next);
      next += whole.length;
      members += escapeChar(whole);
      continue;
    }
    const range = whole === '-' && !first && glob[next] !== ']';
    members += range ? '-' : escapeChar(whole);
  }
  return null;
}

function codePointAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at)!);
}

function escapeChar(char: string): string {
  if (char < ' ') return `\\x{${char.codePointAt(0)!.toString(16)}}`;
  return /[A-Za-z0-9_/]/.test(char) || char > '\x7e' ? char : `\\${char}`;
}
