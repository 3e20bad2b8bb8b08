// Chooses, of the errors of alternatives none of which fitted, those that help most: of the alternative whose type or
// tag fitted, and of these the deepest. Used for the one sentence in the end, and while a value is checked wherever
// alternatives have left many errors; not after every group of them, which would cost more than the checks.

import { argumentBounds } from './schema_bounds.ts';
import type { Assertion } from './schema_nodes.ts';

/** One error as the validator reports it; `params.assertion` is there for the keywords `shape` and `members`. */
export interface CheckError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
}

/** The assertion that failed, if the error is about one. */
export function assertionOf({ params }: CheckError): Assertion | undefined {
  return params['assertion'] as Assertion | undefined;
}

/** Whether an error only says that something inside it failed, which another error tells. */
export function isComposite({ keyword, params }: CheckError): boolean {
  if (keyword === 'oneOf') return params['passing'] === null;
  return keyword === 'anyOf' || keyword === 'if' || keyword === 'propertyNames';
}

/**
 * Keeps, of the errors from index `from` on, the most helpful one, and those that say the same kind of thing about the
 * same value, up to a bound: they are told together. Changes the array.
 * @param at the validator's path of the value that had the alternatives
 * @returns the new length of the array
 */
export function keepHelpful(errors: CheckError[], from: number, at: string): number {
  const candidates = deepestOfEach(errors.slice(from));
  let best: CheckError | undefined;
  let bestScore = -1;
  for (const error of candidates) {
    const score = helpfulness(error, at);
    if (score > bestScore) [best, bestScore] = [error, score];
  }
  if (best === undefined) return errors.length;
  const told = candidates.filter((error) => error !== best && toldWith(error, best));
  errors.splice(from, errors.length, best, ...told.slice(0, argumentBounds.keptErrors.most - 1));
  return errors.length;
}

/**
 * Of the errors of one assertion, which alternatives that double repeat by the thousand, the one with the longest path;
 * without looking into the paths, which the validator leaves as unjoined pieces.
 */
function deepestOfEach(errors: readonly CheckError[]): readonly CheckError[] {
  const deepest = new Map<unknown, CheckError>();
  for (const error of errors) {
    const key = assertionOf(error) ?? error;
    const known = deepest.get(key);
    if (known === undefined || known.instancePath.length < error.instancePath.length) deepest.set(key, error);
  }
  return [...deepest.values()];
}

/** Higher is better: a wrong type right where the alternatives are tells least, a value or tag of another one next. */
function helpfulness(error: CheckError, at: string): number {
  if (isComposite(error)) return 0;
  const kind = assertionOf(error)?.kind;
  const rank = kind === 'type' && error.instancePath === at ? 1 : kind === 'literal' ? 2 : 3;
  const depth = error.instancePath.split('/').length + (namesProperty(error, kind) ? 1 : 0);
  return rank * 1_000 + depth;
}

/** Whether an error is about a property of its value, and so one level deeper than it seems. */
function namesProperty({ keyword }: CheckError, kind: Assertion['kind'] | undefined): boolean {
  return kind === 'required' || keyword === 'additionalProperties' || keyword === 'unevaluatedProperties';
}

/** Errors that make one sentence with `best`; the errors of a refused name go with what the name should have been. */
function toldWith(error: CheckError, best: CheckError): boolean {
  if (error.instancePath !== best.instancePath) return false;
  const [kind, bestKind] = [assertionOf(error)?.kind, assertionOf(best)?.kind];
  if (kind === undefined || bestKind === undefined) return error.keyword === 'propertyNames';
  return kind === bestKind ? kind !== 'other' : kind === 'type' && bestKind === 'literal';
}
