// Projected values: what the checker sees of a call's arguments and of a schema. Every string, names of properties
// included, begins with one mark, so that no name from outside is `__proto__`, `constructor` or an identifier of
// generated code. Integers beyond 2^53 are bigint, all other numbers are number: `===` compares exactly.

/** One value. Strings are marked, maps have no prototype; a bigint is never one that a number could hold safely. */
export type Projected = null | boolean | number | bigint | string | Projected[] | ProjectedMap;

/** A map of marked names to values, without a prototype. */
export interface ProjectedMap {
  [markedName: string]: Projected;
}

/** The types of JSON Schema, in the words of its `type` keyword. */
export const typeNames = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'] as const;

/** One word of `type`. */
export type TypeName = (typeof typeNames)[number];

const MARK = '.';

/** The projection of a text. */
export function marked(text: string): string {
  return MARK + text;
}

/** The text of a projected string. */
export function unmarked(text: string): string {
  return text.slice(MARK.length);
}

/** Whether a value is a map. */
export function isMap(value: Projected | undefined): value is ProjectedMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The field of a map under its unmarked name; undefined where there is none. */
export function fieldOf(map: ProjectedMap, name: string): Projected | undefined {
  return map[marked(name)];
}

/** The unmarked names of a map, in its order. */
export function namesOf(map: ProjectedMap): string[] {
  return Object.keys(map).map(unmarked);
}

/** The narrowest type of a value: an integral number is an `integer`, whether it came as an integer or as a float. */
export function typeOf(value: Projected): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'string':
      return 'string';
    case 'bigint':
      return 'integer';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    default:
      return 'object';
  }
}

/** Whether a value is of one of the types; every integer is a number too. */
export function isOfType(value: Projected, types: readonly TypeName[]): boolean {
  const type = typeOf(value);
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

/** A text that two values share exactly when JSON Schema calls them equal: 1 and 1.0 are, 1 and "1" and true are not. */
export function equalityKey(value: Projected): string {
  if (value === null) return 'n';
  if (Array.isArray(value)) return `[${value.map(equalityKey).join(',')}]`;
  switch (typeof value) {
    case 'string':
      return `s${value.length}:${value}`;
    case 'object':
      return `{${
        Object.keys(value).sort().map((name) => `${name.length}:${name}${equalityKey(value[name]!)}`).join(',')
      }}`;
    default:
      return String(value);
  }
}
