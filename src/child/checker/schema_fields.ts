// Reads the keywords of one subschema as what they must be: counts, numbers, texts, lists, maps. Null stands for absent,
// as serializers of some languages write it. Everything wrong is a SchemaFault; only compile_schema.ts catches it.

import { described, quoted } from './quoting.ts';
import { fieldOf, isMap, namesOf, type Projected, type ProjectedMap, unmarked } from './projected_values.ts';

/** What is wrong with a schema, as a sentence that names the place. */
export class SchemaFault extends Error {}

/** One subschema as it was given, and where: `schema.properties.path`. */
export interface SchemaSource {
  readonly fields: ProjectedMap;
  readonly place: string;
}

/** @throws {SchemaFault} always: what must be at a keyword, and what is */
export function refuse({ place }: SchemaSource, keyword: string, wanted: string, got: Projected): never {
  throw new SchemaFault(`${place}.${keyword} must be ${wanted}, got ${described(got)}`);
}

/** The value of a keyword; undefined when it is absent or null. */
export function present({ fields }: SchemaSource, keyword: string): Projected | undefined {
  return fieldOf(fields, keyword) ?? undefined;
}

/** A text. */
export function textField(source: SchemaSource, keyword: string): string | undefined {
  const value = present(source, keyword);
  if (value === undefined) return undefined;
  return typeof value === 'string' ? unmarked(value) : refuse(source, keyword, 'a string', value);
}

/** A number; a boolean is left to the caller, because draft-04 has them in `exclusiveMinimum`. */
export function numberField(source: SchemaSource, keyword: string): number | bigint | undefined {
  const value = present(source, keyword);
  if (value === undefined || typeof value === 'number' || typeof value === 'bigint') return value;
  return refuse(source, keyword, 'a number', value);
}

/** A whole number that is not negative. */
export function countField(source: SchemaSource, keyword: string): number | undefined {
  const value = numberField(source, keyword);
  if (value === undefined) return undefined;
  if (value < 0 || (typeof value === 'number' && !Number.isInteger(value))) {
    return refuse(source, keyword, 'a whole number of at least 0', value);
  }
  return Number(value);
}

/** A boolean. */
export function flagField(source: SchemaSource, keyword: string): boolean | undefined {
  const value = present(source, keyword);
  if (value === undefined || typeof value === 'boolean') return value;
  return refuse(source, keyword, 'a boolean', value);
}

/** A list of anything. */
export function listField(source: SchemaSource, keyword: string): readonly Projected[] | undefined {
  const value = present(source, keyword);
  if (value === undefined || Array.isArray(value)) return value;
  return refuse(source, keyword, 'an array', value);
}

/** A list of texts; one that is not a text is named by its index. */
export function textsOf(source: SchemaSource, keyword: string, list: Projected): readonly string[] {
  if (!Array.isArray(list)) return refuse(source, keyword, 'an array of strings', list);
  return list.map((item, index) => {
    return typeof item === 'string' ? unmarked(item) : refuse(source, `${keyword}[${index}]`, 'a string', item);
  });
}

/** The entries of a map, names unmarked, each with its place below `source`. */
export function entriesField(
  source: SchemaSource,
  keyword: string,
): readonly { readonly name: string; readonly value: Projected; readonly place: string }[] {
  const value = present(source, keyword);
  if (value === undefined) return [];
  if (!isMap(value)) return refuse(source, keyword, 'an object', value);
  return namesOf(value).map((name) => ({
    name,
    value: fieldOf(value, name)!,
    place: /^[\w$-]{1,80}$/.test(name)
      ? `${source.place}.${keyword}.${name}`
      : `${source.place}.${keyword}[${quoted(name)}]`,
  }));
}
