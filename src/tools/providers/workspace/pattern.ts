// Patterns of programs on re2js, whose time is linear, made small enough that one test of one line
// never holds the event loop for long: parsing, compiling and matching each have a bound.
// Says by `maxChars` how much of a line it may be given; whoever calls keeps to that.

import { RE2JS, RE2JSException, RE2Set } from 're2js';
import { quoted, type Refusal } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';

export type Pattern = {
  /** Whether the text, at most `maxChars` long, holds a match. */
  readonly test: (text: string) => boolean;
  /** UTF-16 units. */
  readonly maxChars: number;
  /** The word to search for, where the pattern is nothing but a word: the text may then be of any length. */
  readonly word: string | null;
};

export type PatternRequest = {
  /** In RE2 syntax, or a plain word where `literal`. */
  readonly source: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** The beginning of a refusal, `Cannot search for "("`. */
  readonly asked: string;
  /** What the program was to write, for the refusal of what is none; a regular expression if left out. */
  readonly syntax?: string;
};

const special = /[\\^$.|?*+()[\]{}]/;

/** The refusal of a pattern that is too long to be looked at, null where it is not. */
export function tooLong(source: string, asked: string): Refusal | null {
  const { patternChars } = workspaceBounds;
  if (source.length <= patternChars) return null;
  return { refused: `${asked}: a pattern must be at most ${patternChars} characters long, got ${source.length}` };
}

/** Compiles a pattern, or says what is wrong with it; the caller has asked `tooLong`. Holds the loop for at most about 10 ms. */
export function compilePattern({ source, literal, ignoreCase, asked, syntax }: PatternRequest): Pattern | Refusal {
  const { foldedLineChars, foldedWordChars, patternInstructions, patternLineChars, patternWork } = workspaceBounds;
  if (/[\n\0]/.test(source)) {
    return { refused: `${asked}: a pattern is matched line by line and must not contain a line break or NUL` };
  }
  if (!ignoreCase && (literal || !special.test(source))) {
    return { test: (text) => text.includes(source), maxChars: Infinity, word: source };
  }
  const foldedWord = (literal || !special.test(source)) && source.length <= foldedWordChars;
  const expression = literal ? RE2JS.quote(source) : source;
  const costly = literal ? null : costOfParsing(expression, ignoreCase);
  if (costly !== null) return { refused: `${asked}: ${costly}` };
  try {
    const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
    // Parsing comes first and shares what is repeated, so that a pattern is weighed before it is written out.
    const weight = weigh(expression, flags);
    if (weight > 4 * patternInstructions) return tooLarge(asked, weight);
    const compiled = RE2JS.compile(expression, flags);
    // Large classes such as \pL (1,360 ends of ranges) make the first match slow, by their sum, and every other one by half.
    const ends: number[] = compiled.re2().prog.inst.map((each: { runes: ArrayLike<number> | null }) =>
      each.runes?.length ?? 0
    );
    const instructions = compiled.programSize() + Math.floor(ends.reduce((sum, each) => sum + each, 0) / 1024);
    if (instructions > patternInstructions) return tooLarge(asked, instructions);
    const large = ends.some((each) => each > 64);
    const maxChars = foldedWord
      ? foldedLineChars
      : Math.min(patternLineChars, Math.floor(patternWork / instructions / (large ? 2 : 1)));
    return { test: (text) => compiled.test(text), maxChars, word: null };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const description = error.message.replace(/^error parsing regexp: /, '').replaceAll('`', '"');
    return {
      refused: `${asked}: the pattern must be ${
        syntax ?? 'a regular expression in RE2 syntax'
      }, but has ${description}`,
    };
  }
}

function tooLarge(asked: string, size: number): Refusal {
  return {
    refused: `${asked}: the pattern must compile to at most ${workspaceBounds.patternInstructions} instructions, got ${
      size > 1e6 ? 'more than 1000000' : size
    }; use smaller repeat counts`,
  };
}

/** What would make parsing itself slow, as the end of a sentence; null where nothing does. */
function costOfParsing(source: string, ignoreCase: boolean): string | null {
  // Each {n} becomes n nodes as soon as it is parsed: a{1000} 71 times over took 19 ms.
  let repeats = 0;
  for (const [, least, most] of source.matchAll(/\\x\{[0-9a-fA-F]*\}|\\.|\{(\d+)(?:,(\d*))?\}/g)) {
    repeats += Math.max(Number(least ?? 0), Number(most ?? 0));
  }
  if (repeats > 2000) return `the repeat counts of a pattern must add up to at most 2000, got ${repeats}`;
  // Folding the case of a range goes through its characters one by one: 3 ms for a large one.
  if (ignoreCase || /\(\?[A-Za-z]*i/.test(source)) {
    const ranges = source.match(/-(?:[^\x20-\x7e]|\\[x0-7])/g)?.length ?? 0;
    if (ranges > 2) {
      return `a pattern that ignores case must have at most 2 ranges of other than ASCII characters, got ${ranges}`;
    }
  }
  return null;
}

type Node = { readonly op: number; readonly runes: ArrayLike<number> | null; readonly subs: readonly Node[] | null };

/** About how many instructions a pattern compiles to, from its parsed tree, whose repeated parts are shared. */
function weigh(expression: string, flags: number): number {
  const literalOp = parse('ab', 0).op;
  const known = new Map<Node, number>();
  const weightOf = (node: Node): number => {
    const before = known.get(node);
    if (before !== undefined) return before;
    let weight = node.op === literalOp ? node.runes?.length ?? 1 : 1;
    for (const sub of node.subs ?? []) weight += weightOf(sub);
    known.set(node, weight);
    return weight;
  };
  return weightOf(parse(expression, flags));
}

function parse(expression: string, flags: number): Node {
  const set = new RE2Set(RE2Set.UNANCHORED, flags);
  set.add(expression);
  return set.regexps[0] as Node;
}

/** A pattern quoted for the beginning of a refusal. */
export function askedFor(source: string): string {
  return `Cannot search for ${quoted(source)}`;
}
