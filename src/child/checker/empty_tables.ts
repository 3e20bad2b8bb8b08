// Tells which empty tables of a program are to be empty arrays. Lua has one empty table; the child sends it as an empty
// map. Where the schema of its place wants an array and no object, it becomes one; everywhere else it stays a map.
// Follows every keyword that leads to a place, with alternatives left out that the value plainly does not meet.

import type { Projection } from './projection.ts';
import {
  equalityKey,
  fieldOf,
  isMap,
  isOfType,
  type Projected,
  type ProjectedMap,
  unmarked,
} from './projected_values.ts';
import type { SchemaNode } from './schema_nodes.ts';

/**
 * Replaces, in the projection, the empty maps that the schema wants as arrays.
 * @returns their byte offsets, ascending
 */
export function shapeEmptyTables(root: SchemaNode, { value, emptyMaps, holders }: Projection): readonly number[] {
  const offsets: number[] = [];
  const known: KnownTables = new Map();
  const visit = (holder: Projected[] | ProjectedMap, nodes: ReadonlySet<SchemaNode>) => {
    for (const key of Object.keys(holder)) {
      const part = (holder as ProjectedMap)[key]!;
      if (typeof part !== 'object' || part === null) continue;
      const offset = emptyMaps.get(part as ProjectedMap);
      if (offset === undefined && !holders.has(part)) continue;
      const inner = nodesForPart(nodes, holder, key);
      if (offset === undefined) {
        visit(part, nodesAt(inner, part));
      } else if (wantsArray(known, inner, part)) {
        (holder as ProjectedMap)[key] = [];
        offsets.push(offset);
      }
    }
  };
  if (typeof value === 'object' && value !== null && holders.has(value)) visit(value, nodesAt([root], value));
  return offsets.sort((left, right) => left - right);
}

/** The nodes that speak of a part of `holder`, which is an item or a property. */
function nodesForPart(
  nodes: ReadonlySet<SchemaNode>,
  holder: Projected[] | ProjectedMap,
  key: string,
): readonly SchemaNode[] {
  const found: (SchemaNode | undefined)[] = [];
  for (const node of nodes) {
    if (Array.isArray(holder)) {
      found.push(node.prefixItems[Number(key)] ?? node.items ?? node.unevaluatedItems);
      continue;
    }
    const name = unmarked(key);
    const named = [
      node.properties.get(name),
      ...node.patternProperties.filter(({ pattern }) => pattern.matches(name)).map((entry) => entry.node),
    ].filter((entry) => entry !== undefined);
    found.push(...(named.length > 0 ? named : [node.additionalProperties ?? node.unevaluatedProperties]));
  }
  return [...new Set(found.filter((node) => node !== undefined))];
}

/** The nodes and all that they lead to without leaving the value: references, alternatives, conditions. */
function nodesAt(starts: readonly SchemaNode[], value: Projected): ReadonlySet<SchemaNode> {
  const found = new Set<SchemaNode>(starts);
  for (const node of found) {
    const named = [...node.dependentSchemas].filter(([name]) => isMap(value) && fieldOf(value, name) !== undefined);
    const certain = [...node.references, ...node.allOf, ...named.map(([, part]) => part)];
    const possible = [node.anyOf, node.oneOf, [node.then, node.else].filter((part) => part !== undefined)];
    for (const part of [...certain, ...possible.flatMap((parts) => plausible(parts, value))]) found.add(part);
  }
  return found;
}

/** The alternatives that a look at the value does not rule out; all of them if it rules out every one. */
function plausible(nodes: readonly SchemaNode[], value: Projected): readonly SchemaNode[] {
  const left = nodes.filter((node) => !ruledOut(node, value, 0));
  return left.length === 0 ? nodes : left;
}

const LOOK_DEPTH = 4;

/** Whether a value plainly is not what a node describes: a tag of another value, a property missing, another type. */
function ruledOut(node: SchemaNode, value: Projected, depth: number): boolean {
  if (depth > LOOK_DEPTH) return false;
  const { types, values, required } = node.assertions;
  const empty = isMap(value) && Object.keys(value).length === 0;
  if (types !== undefined && !isOfType(value, types) && !(empty && types.includes('array'))) return true;
  if (typeof value !== 'object' || value === null) {
    if (values !== undefined && !values.has(equalityKey(value))) return true;
  } else if (isMap(value) && !empty) {
    if (required.some((name) => fieldOf(value, name) === undefined)) return true;
    for (const [name, part] of node.properties) {
      const given = fieldOf(value, name);
      if (given !== undefined && part.assertions.values !== undefined && ruledOut(part, given, depth + 1)) return true;
    }
  }
  return [...node.references, ...node.allOf].some((part) => ruledOut(part, value, depth + 1));
}

/** Which tables a node lets an empty one be, and whether it says anything about that at all. */
interface Tables {
  readonly array: boolean;
  readonly object: boolean;
  readonly said: boolean;
}

/** What was found for a node; the same for every empty table. */
type KnownTables = Map<SchemaNode, Tables>;

/** Whether the nodes that speak of one empty table want it to be an array. */
function wantsArray(known: KnownTables, nodes: readonly SchemaNode[], value: Projected): boolean {
  // The nodes may come from different alternatives of an outer value: one that wants an object is enough.
  const tables = nodes.map((node) => tablesOf(known, node, value)).filter(({ said }) => said);
  return tables.some(({ array }) => array) && tables.every(({ object }) => !object);
}

function tablesOf(known: KnownTables, node: SchemaNode, value: Projected): Tables {
  const tables = known.get(node) ?? combinedTables(known, node, value);
  known.set(node, tables);
  return tables;
}

function combinedTables(known: KnownTables, node: SchemaNode, value: Projected): Tables {
  const either = [node.anyOf, node.oneOf].filter((parts) => parts.length > 0);
  return [
    ownTables(node),
    ...[...node.references, ...node.allOf].map((part) => tablesOf(known, part, value)),
    ...either.map((parts) => {
      const each = plausible(parts, value).map((part) => tablesOf(known, part, value));
      return {
        array: each.some(({ array }) => array),
        object: each.some(({ object }) => object),
        said: each.some(({ said }) => said),
      };
    }),
  ].reduce((left, right) => ({
    array: left.array && right.array,
    object: left.object && right.object,
    said: left.said || right.said,
  }));
}

/** By values and types, else by keywords that only one kind of table has. */
function ownTables({ assertions: { types, values }, ...node }: SchemaNode): Tables {
  if (values !== undefined) return { array: values.has('[]'), object: values.has('{}'), said: true };
  if (types !== undefined) return { array: types.includes('array'), object: types.includes('object'), said: true };
  const array = node.items !== undefined || node.prefixItems.length > 0 || node.contains !== undefined;
  const object = node.properties.size > 0 || node.additionalProperties !== undefined;
  return array === object ? { array: true, object: true, said: false } : { array, object, said: true };
}
