// Reads a schema into nodes: every subschema checked in form, held to the bounds, every reference resolved. Older drafts
// are brought into the shape of 2020-12 here. Nothing of the schema's identifiers, and no keyword that is not read here,
// goes any further.

import { readAssertions } from './assertions.ts';
import { compiledPattern } from './measures.ts';
import { fieldOf, isMap, marked, type Projected, type ProjectedMap } from './projected_values.ts';
import { cut, described, pathOf, quoted } from './quoting.ts';
import { findReference, indexReferences, type ReferenceIndex } from './references.ts';
import { schemaBounds } from './schema_bounds.ts';
import {
  countField,
  entriesField,
  listField,
  present,
  refuse,
  SchemaFault,
  type SchemaSource,
  textField,
} from './schema_fields.ts';
import { nodesAtOnePlace, nodesBelow, type SchemaNode, type SchemaTree } from './schema_nodes.ts';

interface Building {
  readonly index: ReferenceIndex;
  readonly nodes: Map<ProjectedMap, SchemaNode>;
  readonly targets: Set<SchemaNode>;
  readonly notes: string[];
  readonly pending: PendingReference[];
  subschemas: number;
  properties: number;
  patterns: number;
  usesUnevaluated: boolean;
}

interface PendingReference {
  readonly node: SchemaNode;
  readonly from: ProjectedMap;
  readonly source: SchemaSource;
  readonly keyword: string;
}

/** Reads a schema. @throws {SchemaFault} naming the place and what is wrong there */
export function buildSchemaTree(schema: Projected): SchemaTree {
  const dialect = isMap(schema) ? textField({ fields: schema, place: 'schema' }, '$schema') ?? '' : '';
  if (/draft-0?[123]\b/.test(dialect)) {
    throw new SchemaFault(`schema.$schema must be draft-04 or later, got ${quoted(dialect)}`);
  }
  const legacy = /draft-0?[467]\b/.test(dialect);
  const building: Building = {
    index: indexReferences(isMap(schema) ? schema : Object.create(null), legacy),
    nodes: new Map(),
    targets: new Set(),
    notes: [],
    pending: [],
    subschemas: 0,
    properties: 0,
    patterns: 0,
    usesUnevaluated: false,
  };
  const root = buildNode(building, schema, 'schema', 0);
  // Not by recursion: a chain of references may be as long as the schema has subschemas.
  for (let next = building.pending.pop(); next !== undefined; next = building.pending.pop()) {
    const target = buildNode(building, referred(building, next), placeOfTarget(next), 0);
    next.node.references.push(target);
    building.targets.add(target);
  }
  refuseEndlessChecks(root);
  return { root, targets: building.targets, usesUnevaluated: building.usesUnevaluated, notes: building.notes };
}

function referred({ index }: Building, { from, source, keyword }: PendingReference): Projected {
  const reference = textField(source, keyword)!;
  if (keyword === '$dynamicRef' && index.ambiguous.has(reference.slice(reference.indexOf('#') + 1))) {
    const anchor = reference.slice(reference.indexOf('#') + 1);
    throw new SchemaFault(
      `${source.place}.$dynamicRef must name an anchor that the schema has once, got ${quoted(anchor)}`,
    );
  }
  const found = findReference(index, from, reference);
  if (found !== undefined && (isMap(found) || typeof found === 'boolean')) return found;
  throw new SchemaFault(
    `${source.place}.${keyword} must name a part of this schema, got ${quoted(reference)}; nothing else is ever loaded`,
  );
}

/** Where the target of a pointer stands; of other references, where they stand themselves. */
function placeOfTarget({ source, keyword }: PendingReference): string {
  const reference = textField(source, keyword)!;
  if (reference !== '#' && !reference.startsWith('#/')) return `${source.place}.${keyword}`;
  return pathOf('schema', reference.split('/').slice(1));
}

function buildNode(building: Building, schema: Projected, place: string, nesting: number): SchemaNode {
  if (typeof schema !== 'boolean' && !isMap(schema)) {
    throw new SchemaFault(`${cut(place, 300)} must be a schema (an object or a boolean), got ${described(schema)}`);
  }
  const known = isMap(schema) ? building.nodes.get(schema) : undefined;
  if (known !== undefined) return known;
  within('subschemas', ++building.subschemas);
  within('nesting', nesting);
  const fields: ProjectedMap = isMap(schema) ? readable(building, schema) : Object.create(null);
  const source: SchemaSource = { fields, place: cut(place, 300) };
  const one = (keyword: string) => {
    const value = present(source, keyword);
    return value === undefined ? undefined : buildNode(building, value, `${place}.${keyword}`, nesting + 1);
  };
  const many = (keyword: string) =>
    listOfSchemas(source, keyword).map((value, at) =>
      buildNode(building, value, `${place}.${keyword}[${at}]`, nesting + 1)
    );
  const mapped = (keyword: string) =>
    entriesField(source, keyword)
      .filter(({ value }) => keyword !== 'dependencies' || !Array.isArray(value))
      .map((entry) => [entry.name, buildNode(building, entry.value, entry.place, nesting + 1)] as const);
  const note = (sentence: string) => building.notes.push(sentence);
  const entries = entriesField(source, 'patternProperties');
  const patternProperties = entries.flatMap((entry) => {
    const pattern = compiledPattern(entry.place, entry.name, note);
    const inner = buildNode(building, entry.value, entry.place, nesting + 1);
    return pattern === undefined ? [] : [{ pattern, node: inner }];
  });
  const skipped = patternProperties.length < entries.length;
  const tuple = Array.isArray(present(source, 'items')) ? 'items' : 'prefixItems';
  within('properties', building.properties += entriesField(source, 'properties').length);
  within('patterns', building.patterns += entries.length + (present(source, 'pattern') === undefined ? 0 : 1));
  const node: SchemaNode = {
    place: source.place,
    never: schema === false,
    assertions: readAssertions(source, note),
    references: [],
    allOf: many('allOf'),
    anyOf: many('anyOf'),
    oneOf: many('oneOf'),
    not: one('not'),
    if: one('if'),
    then: one('then'),
    else: one('else'),
    properties: new Map(mapped('properties')),
    patternProperties,
    // A pattern that is not checked may have allowed any name.
    additionalProperties: skipped ? undefined : one('additionalProperties'),
    unevaluatedProperties: skipped ? undefined : one('unevaluatedProperties'),
    propertyNames: one('propertyNames'),
    dependentSchemas: new Map([...mapped('dependentSchemas'), ...mapped('dependencies')]),
    prefixItems: many(tuple),
    items: one(tuple === 'items' ? 'additionalItems' : 'items'),
    unevaluatedItems: one('unevaluatedItems'),
    contains: one('contains'),
    minContains: countField(source, 'minContains'),
    maxContains: countField(source, 'maxContains'),
  };
  if (isMap(schema)) building.nodes.set(schema, node);
  building.usesUnevaluated ||= node.unevaluatedItems !== undefined || node.unevaluatedProperties !== undefined;
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    if (isMap(schema) && textField(source, keyword) !== undefined) {
      building.pending.push({ node, from: schema, source, keyword });
    }
  }
  return node;
}

/** What of a subschema counts: in drafts 04 to 07 nothing beside a `$ref` does. */
function readable({ index }: Building, schema: ProjectedMap): ProjectedMap {
  const reference = fieldOf(schema, '$ref');
  if (!index.legacy || reference === undefined || reference === null) return schema;
  return Object.assign(Object.create(null), { [marked('$ref')]: reference });
}

function listOfSchemas(source: SchemaSource, keyword: string): readonly Projected[] {
  const list = listField(source, keyword) ?? [];
  const { most } = schemaBounds.alternatives;
  if (list.length > most) {
    throw new SchemaFault(`${source.place}.${keyword} must have at most ${most} schemas, got ${list.length}`);
  }
  // An empty list of alternatives would allow nothing, which no author means.
  if (list.length === 0 && present(source, keyword) !== undefined && /Of$/.test(keyword)) {
    return refuse(source, keyword, 'an array of at least one schema', []);
  }
  return list;
}

/** @throws {SchemaFault} if a count of the whole schema is past its bound */
function within(bound: keyof typeof schemaBounds, count: number): void {
  const { most, unit } = schemaBounds[bound];
  if (count > most) throw new SchemaFault(`schema must have at most ${most} ${unit}, got at least ${count}`);
}

/**
 * Refuses a schema that, without going on to a part of the value, comes back to itself, or multiplies by references.
 * @throws {SchemaFault} naming the node
 */
function refuseEndlessChecks(root: SchemaNode): void {
  const costs = new Map<SchemaNode, number>();
  const open = new Set<SchemaNode>();
  const costOf = (node: SchemaNode): number => {
    const known = costs.get(node);
    if (known !== undefined) return known;
    if (open.has(node)) {
      throw new SchemaFault(
        `${node.place} must not come back to itself by $ref before it comes to a part of the value`,
      );
    }
    open.add(node);
    const cost = nodesAtOnePlace(node).reduce((sum, part) => sum + costOf(part), 1);
    open.delete(node);
    costs.set(node, cost);
    within('checksAtOnePlace', cost);
    return cost;
  };
  const waiting = [root];
  const seen = new Set(waiting);
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    costOf(node);
    for (const part of [...nodesAtOnePlace(node), ...nodesBelow(node)]) {
      if (!seen.has(part)) waiting.push(part);
      seen.add(part);
    }
  }
}
