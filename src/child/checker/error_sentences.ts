// Makes of the validator's errors one sentence for the model: where, what was expected, what was there. Where alternatives
// failed, helpful_errors.ts chooses the error that is told, and those that are told together with it.

import { assertionOf, type CheckError, isComposite, keepHelpful } from './helpful_errors.ts';
import { nearestName } from './nearest_name.ts';
import { marked, type Projected, type ProjectedMap, unmarked } from './projected_values.ts';
import { alternatives, cutMessage, described, literal, pathOf, type PathStep, quoted } from './quoting.ts';
import type { Assertion } from './schema_nodes.ts';

/** The sentence for arguments that do not fit; at most 500 UTF-16 units. */
export function sentenceFor(errors: readonly CheckError[], root: Projected): string {
  const last = errors.at(-1);
  if (last === undefined) return 'arguments must fit the schema';
  const tried = errors.findLast(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf') ?? last;
  const told = [...errors];
  if (isComposite(last)) keepHelpful(told, 0, tried.instancePath);
  const chosen = isComposite(last) ? told[0]! : last;
  const steps = stepsOf(chosen.instancePath);
  const place = pathOf('arguments', steps);
  const name = refusedName(told, chosen);
  if (name !== undefined) {
    const rule = assertionOf(chosen) === undefined ? 'is not allowed' : predicate(chosen, [chosen], name);
    return cutMessage(`${place} has a property ${quoted(unmarked(name))}, the name of which ${rule}`);
  }
  return cutMessage(`${place} ${predicate(chosen, told, valueAt(root, steps))}`);
}

/** The sentence's predicate; demands of the same kind on the same value are joined, as the alternatives that they are. */
function predicate(error: CheckError, errors: readonly CheckError[], value: Projected): string {
  const assertion = assertionOf(error);
  if (assertion === undefined) return structural(error, value);
  const here = errors.filter((other) => other.instancePath === error.instancePath).map(assertionOf);
  const words = (kind: Assertion['kind']) => [
    ...new Set(here.filter((other) => other?.kind === kind).flatMap((other) => other!.wanted(value))),
  ];
  switch (assertion.kind) {
    case 'type':
      return `must be ${alternatives(words('type'))}, got ${described(value)}`;
    case 'literal': {
      const wanted = [...words('literal'), ...words('type').filter((type) => type === 'null')];
      if (wanted.length === 0) return 'must not be given: the schema allows no value here';
      return `must be ${wanted.length === 1 ? wanted[0] : `one of ${list(wanted)}`}, got ${literal(value)}`;
    }
    case 'required':
      return `must have required property ${alternatives(words('required'))}`;
    case 'other':
      return assertion.wanted(value)[0]!;
  }
}

function list(words: readonly string[]): string {
  const length = words.findIndex((_, at) => words.slice(0, at + 1).join(', ').length > 240);
  return length < 0
    ? words.join(', ')
    : `${words.slice(0, Math.max(1, length)).join(', ')}, ... (${words.length} in all)`;
}

/** The predicate for errors of the validator's own keywords. */
function structural({ keyword, params }: CheckError, value: Projected): string {
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownProperty(unmarked(params['name'] as string), (params['known'] as string[]).map(unmarked));
    case 'items':
    case 'unevaluatedItems':
      return `must have at most ${params['limit'] ?? params['len']} items, got ${(value as Projected[]).length}`;
    case 'contains':
      return `must have ${
        amount(params['least'] as number, params['most'] as number)
      } of the items that the schema asks for`;
    case 'oneOf': {
      const [first, second] = params['passing'] as [number, number];
      return `must match one alternative of the schema only, but matches number ${first + 1} and number ${second + 1}`;
    }
    case 'not':
      return `must not be what the schema excludes, got ${literal(value)}`;
    default:
      return 'is not allowed';
  }
}

function unknownProperty(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  if (near !== undefined) return `has no property ${quoted(name)}; did you mean ${quoted(near)}`;
  if (known.length === 0) return `has no property ${quoted(name)}`;
  return `has no property ${quoted(name)}; it has ${list(known.map(quoted))}`;
}

function amount(least: number, most: number): string {
  if (most === Infinity) return `at least ${least}`;
  return least === 0 ? `at most ${most}` : `at least ${least} and at most ${most}`;
}

/** The marked name that an error is about, if it came from `propertyNames`. */
function refusedName(errors: readonly CheckError[], { instancePath }: CheckError): string | undefined {
  const owner = errors.find((error) => error.keyword === 'propertyNames' && error.instancePath === instancePath);
  return owner?.params['propertyName'] as string | undefined;
}

/** The steps of the validator's JSON pointer, in which names of properties are marked and indexes are not. */
function stepsOf(pointer: string): readonly PathStep[] {
  return pointer.split('/').slice(1).map((part) => {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    return /^\d+$/.test(step) ? Number(step) : unmarked(step);
  });
}

function valueAt(root: Projected, steps: readonly PathStep[]): Projected {
  let value: Projected | undefined = root;
  for (const step of steps) {
    value = typeof step === 'number' ? (value as Projected[])[step] : (value as ProjectedMap)[marked(step)];
  }
  return value ?? null;
}
