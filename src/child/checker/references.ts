// Finds what a `$ref` of a schema names: `#`, a JSON pointer, an anchor, or an `$id` of the same schema. Nothing outside
// the schema is ever looked up, and no identifier of a schema outlives its index.

import { fieldOf, isMap, type Projected, type ProjectedMap, unmarked } from './projected_values.ts';

/** The keywords that hold subschemas, by how they hold them; `items` and `dependencies` may also hold something else. */
export const subschemaKeywords = {
  one: [
    'additionalItems',
    'additionalProperties',
    'contains',
    'else',
    'if',
    'items',
    'not',
    'propertyNames',
    'then',
    'unevaluatedItems',
    'unevaluatedProperties',
  ],
  list: ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'],
  map: [
    '$defs',
    'definitions',
    'dependencies',
    'dependentSchemas',
    'patternProperties',
    'properties',
  ],
} as const;

/** Where the subschemas of one schema stand under which names. */
export interface ReferenceIndex {
  /** Drafts 04 to 07: `$id` beside `$ref` means nothing, `"$id": "#name"` is an anchor, draft-04 writes `id`. */
  readonly legacy: boolean;
  readonly bases: Map<ProjectedMap, string>;
  readonly named: Map<string, ProjectedMap>;
  /** The names of dynamic anchors, and of those that more than one part of the schema has. */
  readonly dynamic: Set<string>;
  readonly ambiguous: Set<string>;
}

const ROOT_BASE = 'schema:/';

/** Indexes every identifier of a schema. */
export function indexReferences(root: ProjectedMap, legacy: boolean): ReferenceIndex {
  const index: ReferenceIndex = {
    legacy,
    bases: new Map(),
    named: new Map([[`${ROOT_BASE}#`, root]]),
    dynamic: new Set(),
    ambiguous: new Set(),
  };
  addToIndex(index, root, ROOT_BASE);
  return index;
}

function addToIndex(index: ReferenceIndex, schema: Projected | undefined, outerBase: string): void {
  if (!isMap(schema) || index.bases.has(schema)) return;
  const base = addNames(index, schema, outerBase);
  index.bases.set(schema, base);
  for (const keyword of subschemaKeywords.one) addToIndex(index, fieldOf(schema, keyword), base);
  for (const keyword of subschemaKeywords.list) {
    const list = fieldOf(schema, keyword);
    if (Array.isArray(list)) { for (const item of list) addToIndex(index, item, base); }
  }
  for (const keyword of subschemaKeywords.map) {
    const map = fieldOf(schema, keyword);
    if (isMap(map)) { for (const value of Object.values(map)) addToIndex(index, value, base); }
  }
}

/** Notes the identifiers of one subschema and returns the base of the references inside it. */
function addNames(index: ReferenceIndex, schema: ProjectedMap, outerBase: string): string {
  const silent = index.legacy && fieldOf(schema, '$ref') !== undefined;
  const id = silent ? undefined : textAt(schema, '$id') ?? (index.legacy ? textAt(schema, 'id') : undefined);
  const [uri = '', fragment = ''] = (id ?? '').split('#', 2);
  const base = uri === '' ? outerBase : resolveUri(uri, outerBase);
  if (uri !== '') index.named.set(`${base}#`, schema);
  if (fragment !== '') index.named.set(`${base}#${fragment}`, schema);
  for (const keyword of ['$anchor', '$dynamicAnchor']) {
    const anchor = textAt(schema, keyword);
    if (anchor === undefined || anchor === '') continue;
    index.named.set(`${base}#${anchor}`, schema);
    if (keyword === '$dynamicAnchor') (index.dynamic.has(anchor) ? index.ambiguous : index.dynamic).add(anchor);
  }
  return base;
}

function textAt(schema: ProjectedMap, keyword: string): string | undefined {
  const value = fieldOf(schema, keyword);
  return typeof value === 'string' ? unmarked(value) : undefined;
}

function resolveUri(uri: string, base: string): string {
  return URL.parse(uri, base)?.href ?? uri;
}

/**
 * The subschema that a reference inside `from` names.
 * @returns undefined when this schema has no such part
 */
export function findReference(index: ReferenceIndex, from: ProjectedMap, reference: string): Projected | undefined {
  const [uri = '', encoded = ''] = reference.split('#', 2);
  const outerBase = index.bases.get(from) ?? ROOT_BASE;
  const base = uri === '' ? outerBase : resolveUri(uri, outerBase);
  const fragment = decoded(encoded);
  if (fragment === undefined) return undefined;
  if (!fragment.startsWith('/')) return index.named.get(`${base}#${fragment}`);
  let found: Projected | undefined = index.named.get(`${base}#`);
  for (const part of fragment.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = /^\d+$/.test(name) ? found[Number(name)] : undefined;
    else found = isMap(found) ? fieldOf(found, name) : undefined;
  }
  // A pointer may lead to a place that no keyword holds; what is there may refer on.
  addToIndex(index, found, base);
  return found;
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
