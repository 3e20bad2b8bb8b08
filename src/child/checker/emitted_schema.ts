// Writes the nodes of a schema as the schema that the validator compiles: only keywords that it is to know, names of
// properties marked, patterns by number, every node that a reference names under a name of our own.

import type { Pattern } from './patterns.ts';
import { marked } from './projected_values.ts';
import type { SchemaNode, SchemaTree } from './schema_nodes.ts';

/** A schema for the validator, and the patterns that it names by number. */
export interface EmittedSchema {
  readonly schema: Record<string, unknown>;
  readonly patterns: readonly Pattern[];
}

interface Emitting {
  readonly definitions: ReadonlyMap<SchemaNode, string>;
  readonly usesUnevaluated: boolean;
  readonly patterns: Pattern[];
}

/** Writes a whole schema. Its size is that of the tree: a node is written once. */
export function emitSchema({ root, targets, usesUnevaluated }: SchemaTree): EmittedSchema {
  const definitions = new Map([...targets].map((node, number) => [node, `d${number}`]));
  const emitting: Emitting = { definitions, usesUnevaluated, patterns: [] };
  const bodies = [...definitions].map(([node, name]) => [name, bodyOf(emitting, node)] as const);
  const schema = { allOf: [emit(emitting, root)], $defs: Object.fromEntries(bodies) };
  return { schema, patterns: emitting.patterns };
}

function emit(emitting: Emitting, node: SchemaNode): unknown {
  const name = emitting.definitions.get(node);
  return name === undefined ? bodyOf(emitting, node) : { $ref: `#/$defs/${name}` };
}

function bodyOf(emitting: Emitting, node: SchemaNode): unknown {
  if (node.never) return false;
  const one = (part: SchemaNode | undefined) => part && emit(emitting, part);
  const many = (parts: readonly SchemaNode[]) =>
    parts.length === 0 ? undefined : parts.map((part) => emit(emitting, part));
  const mapped = (parts: ReadonlyMap<string, SchemaNode>) =>
    parts.size === 0 ? undefined : Object.fromEntries([...parts].map(([name, part]) => [marked(name), one(part)]));
  const { assertions } = node;
  // A node that references name is where a value can be checked again and again, so each counts its checks.
  const counted = emitting.definitions.has(node) || assertions.shape.length > 0;
  // The validator skips an `if` that decides nothing, but what it found counts as evaluated.
  const unseen = node.if !== undefined && emitting.usesUnevaluated ? { shape: [] } : undefined;
  const body = {
    shape: counted ? assertions.shape : undefined,
    members: assertions.members.length > 0 ? assertions.members : undefined,
    allOf: many([...node.references, ...node.allOf]),
    anyOf: many(node.anyOf),
    oneOf: many(node.oneOf),
    not: one(node.not),
    if: one(node.if),
    then: one(node.then) ?? unseen,
    else: one(node.else) ?? unseen,
    properties: mapped(node.properties),
    patternProperties: patternMap(emitting, node),
    additionalProperties: one(node.additionalProperties),
    unevaluatedProperties: one(node.unevaluatedProperties),
    propertyNames: one(node.propertyNames),
    dependentSchemas: mapped(node.dependentSchemas),
    prefixItems: many(node.prefixItems),
    items: one(node.items),
    unevaluatedItems: one(node.unevaluatedItems),
    contains: one(node.contains),
    minContains: node.minContains,
    maxContains: node.maxContains,
  };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

function patternMap(emitting: Emitting, { patternProperties }: SchemaNode): Record<string, unknown> | undefined {
  if (patternProperties.length === 0) return undefined;
  return Object.fromEntries(patternProperties.map(({ pattern, node }) => {
    emitting.patterns.push(pattern);
    return [String(emitting.patterns.length - 1), emit(emitting, node)];
  }));
}
