// The assertions that measure: bounds of numbers, lengths of texts (characters; of bytes, bytes) and their patterns,
// numbers of items and properties. Each says nothing about values of another type.

import { isMultipleOf } from './exact_numbers.ts';
import { compilePattern, type Pattern } from './patterns.ts';
import { isMap, type Projected, unmarked } from './projected_values.ts';
import { literal, quoted } from './quoting.ts';
import {
  countField,
  numberField,
  present,
  refuse,
  SchemaFault,
  type SchemaSource,
  textField,
} from './schema_fields.ts';
import type { Assertion } from './schema_nodes.ts';

/** `minimum`, `maximum`, their exclusive forms and `multipleOf`, decided exactly. @throws {SchemaFault} */
export function numberAssertions(source: SchemaSource): Assertion[] {
  const assertions: Assertion[] = [];
  const add = (words: string, limit: number | bigint, holds: (value: number | bigint) => boolean) =>
    assertions.push({
      kind: 'other',
      holds: (value) => (typeof value !== 'number' && typeof value !== 'bigint') || holds(value),
      wanted: (value) => [`must be ${words} ${literal(limit)}, got ${literal(value)}`],
    });
  const minimum = numberField(source, 'minimum');
  const maximum = numberField(source, 'maximum');
  const above = exclusiveLimit(source, 'exclusiveMinimum', minimum);
  const below = exclusiveLimit(source, 'exclusiveMaximum', maximum);
  const step = numberField(source, 'multipleOf');
  if (step !== undefined && step <= 0) return refuse(source, 'multipleOf', 'a number above 0', step);
  if (minimum !== undefined) add('at least', minimum, (value) => value >= minimum);
  if (maximum !== undefined) add('at most', maximum, (value) => value <= maximum);
  if (above !== undefined) add('more than', above, (value) => value > above);
  if (below !== undefined) add('less than', below, (value) => value < below);
  if (step !== undefined) add('a multiple of', step, (value) => isMultipleOf(value, step));
  return assertions;
}

/** An exclusive bound; in draft-04 a boolean beside the inclusive one. */
function exclusiveLimit(source: SchemaSource, keyword: string, inclusive: number | bigint | undefined) {
  const value = present(source, keyword);
  return typeof value === 'boolean' ? (value ? inclusive : undefined) : numberField(source, keyword);
}

/** `minLength`, `maxLength` and `pattern`; a pattern that is not checked is noted. @throws {SchemaFault} */
export function textAssertions(source: SchemaSource, note: (sentence: string) => void): Assertion[] {
  const assertions = countAssertions(source, 'Length', 'character', (value) => {
    return typeof value === 'string' ? characters(unmarked(value)) : undefined;
  });
  const text = textField(source, 'pattern');
  const pattern = text === undefined ? undefined : compiledPattern(`${source.place}.pattern`, text, note);
  if (pattern !== undefined) {
    assertions.push({
      kind: 'other',
      holds: (value) => typeof value !== 'string' || pattern.matches(unmarked(value)),
      wanted: (value) => [`must match the pattern ${quoted(pattern.source)}, got ${literal(value)}`],
    });
  }
  return assertions;
}

/**
 * Compiles the pattern at a place of a schema.
 * @returns undefined for one that cannot be checked, which is noted
 * @throws {SchemaFault} if it is no regular expression, or past the bounds
 */
export function compiledPattern(
  place: string,
  pattern: string,
  note: (sentence: string) => void,
): Pattern | undefined {
  const result = compilePattern(pattern);
  if (result.outcome === 'compiled') return result.pattern;
  if (result.outcome === 'refused') throw new SchemaFault(`${place} ${result.message}`);
  note(`${place} ${result.message}`);
  return undefined;
}

function characters(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.codePointAt(at)! > 0xffff) {
      pairs++;
      at++;
    }
  }
  return text.length - pairs;
}

/** Numbers of items and of properties. @throws {SchemaFault} */
export function sizeAssertions(source: SchemaSource): Assertion[] {
  return [
    ...countAssertions(source, 'Items', 'item', (value) => Array.isArray(value) ? value.length : undefined),
    ...countAssertions(source, 'Properties', 'property', (value) => {
      return isMap(value) ? Object.keys(value).length : undefined;
    }),
  ];
}

/** `minX` and `maxX`; `sizeOf` answers undefined for values that X says nothing about. */
function countAssertions(
  source: SchemaSource,
  suffix: string,
  unit: string,
  sizeOf: (value: Projected) => number | undefined,
): Assertion[] {
  const assertions: Assertion[] = [];
  const counted = (count: number) =>
    `${count} ${count === 1 ? unit : unit.replace(/y?$/, unit.endsWith('y') ? 'ies' : 's')}`;
  const add = (words: string, limit: number, holds: (size: number) => boolean) =>
    assertions.push({
      kind: 'other',
      holds: (value) => {
        const size = sizeOf(value);
        return size === undefined || holds(size);
      },
      wanted: (value) => [`must have ${words} ${counted(limit)}, got ${sizeOf(value)}`],
    });
  const least = countField(source, `min${suffix}`);
  const most = countField(source, `max${suffix}`);
  if (least !== undefined) add('at least', least, (size) => size >= least);
  if (most !== undefined) add('at most', most, (size) => size <= most);
  return assertions;
}
