// What one subschema demands of a value by itself: type, values, required properties, and the measures of measures.ts.
// These replace the validator's own keywords, which round integers beyond 2^53, know no marked strings and use the
// regular expressions of JavaScript. An assertion also says in words what it wanted.

import { numberAssertions, sizeAssertions, textAssertions } from './measures.ts';
import {
  equalityKey,
  fieldOf,
  isMap,
  isOfType,
  type Projected,
  type ProjectedMap,
  type TypeName,
  typeNames,
  unmarked,
} from './projected_values.ts';
import { alternatives, literal, quoted } from './quoting.ts';
import { schemaBounds } from './schema_bounds.ts';
import {
  entriesField,
  flagField,
  listField,
  present,
  refuse,
  SchemaFault,
  type SchemaSource,
  textsOf,
} from './schema_fields.ts';
import type { Assertion, Assertions } from './schema_nodes.ts';

/** Reads the assertions of a subschema. @throws {SchemaFault} naming the keyword that is wrong */
export function readAssertions(source: SchemaSource, note: (sentence: string) => void): Assertions {
  const types = readTypes(source);
  const literals = readLiterals(source);
  const required = present(source, 'required');
  const names = required === undefined ? [] : textsOf(source, 'required', required);
  return {
    types,
    values: literals && new Set(literals.map(equalityKey)),
    required: names,
    shape: [
      ...(types === undefined ? [] : [ofTypes(types)]),
      ...(literals === undefined ? [] : [ofValues(literals)]),
      ...numberAssertions(source),
      ...textAssertions(source, note),
      ...sizeAssertions(source),
    ],
    members: [
      ...(names.length === 0 ? [] : [havingAll(names)]),
      ...dependentAssertions(source),
      ...(flagField(source, 'uniqueItems') ? [unique] : []),
    ],
  };
}

function readTypes(source: SchemaSource): readonly TypeName[] | undefined {
  const value = present(source, 'type');
  if (value === undefined) return undefined;
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0) return refuse(source, 'type', 'the name of a type', value);
  const types = list.map((name, index) => {
    const type = typeNames.find((known) => typeof name === 'string' && unmarked(name) === known);
    return type ?? refuse(source, Array.isArray(value) ? `type[${index}]` : 'type', alternatives(typeNames), name);
  });
  // OpenAPI's word, which tool definitions made from OpenAPI documents still carry.
  return present(source, 'nullable') === true && !types.includes('null') ? [...types, 'null'] : types;
}

/** The values of `const` and `enum`; both together allow what both name. */
function readLiterals(source: SchemaSource): readonly Projected[] | undefined {
  const single = fieldOf(source.fields, 'const');
  const list = listField(source, 'enum');
  if (list !== undefined && list.length === 0) {
    return refuse(source, 'enum', 'an array of at least one value', [...list]);
  }
  if (list !== undefined && list.length > schemaBounds.enumValues.most) {
    throw new SchemaFault(
      `${source.place}.enum must have at most ${schemaBounds.enumValues.most} values, got ${list.length}`,
    );
  }
  if (single === undefined) return list;
  return list === undefined || list.some((value) => equalityKey(value) === equalityKey(single)) ? [single] : [];
}

function ofTypes(types: readonly TypeName[]): Assertion {
  return { kind: 'type', holds: (value) => isOfType(value, types), wanted: () => types };
}

function ofValues(values: readonly Projected[]): Assertion {
  const keys = new Set(values.map(equalityKey));
  return { kind: 'literal', holds: (value) => keys.has(equalityKey(value)), wanted: () => values.map(literal) };
}

function havingAll(names: readonly string[]): Assertion {
  const missing = (map: ProjectedMap) => names.find((name) => fieldOf(map, name) === undefined);
  return {
    kind: 'required',
    holds: (value) => !isMap(value) || missing(value) === undefined,
    wanted: (value) => [quoted(missing(value as ProjectedMap)!)],
  };
}

/** `dependentRequired`, and the lists in `dependencies`, its name before 2019-09. */
function dependentAssertions(source: SchemaSource): Assertion[] {
  const lists = ['dependentRequired', 'dependencies'].flatMap((keyword) =>
    entriesField(source, keyword)
      .filter(({ value }) => keyword === 'dependentRequired' || Array.isArray(value))
      .map(({ name, value }) => ({ cause: name, names: textsOf(source, `${keyword}.${name}`, value) }))
  );
  return lists.map(({ cause, names }) => {
    const missing = (map: ProjectedMap) => names.find((name) => fieldOf(map, name) === undefined);
    return {
      kind: 'other',
      holds: (value) => !isMap(value) || fieldOf(value, cause) === undefined || missing(value) === undefined,
      wanted: (value) => [
        `must have property ${quoted(missing(value as ProjectedMap)!)} because it has ${quoted(cause)}`,
      ],
    };
  });
}

const unique: Assertion = {
  kind: 'other',
  holds: (value) => !Array.isArray(value) || repeated(value) === undefined,
  wanted: (value) => {
    const [first, second] = repeated(value as Projected[])!;
    return [`must have items that are all different, got the same at [${first}] and [${second}]`];
  },
};

/** The indexes of the first item that came before, and of its first appearance. */
function repeated(items: readonly Projected[]): readonly [number, number] | undefined {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const key = equalityKey(item);
    const before = seen.get(key);
    if (before !== undefined) return [before, index];
    seen.set(key, index);
  }
  return undefined;
}
