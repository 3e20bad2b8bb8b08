// The shape of a schema that has been read: one node a subschema, references resolved, one dialect (2020-12) whatever
// the schema was written in. Made by build_nodes.ts and assertions.ts, read by the validator
// and by the search for empty tables.

import type { Pattern } from './patterns.ts';
import type { Projected, TypeName } from './projected_values.ts';

/**
 * One demand. `wanted` is asked about a value for which `holds` is false, and answers by kind: names of types, values
 * as JSON, missing properties in quotes, or one whole predicate such as `must be at most 5, got 7`.
 */
export interface Assertion {
  readonly kind: 'type' | 'literal' | 'required' | 'other';
  readonly holds: (value: Projected) => boolean;
  readonly wanted: (value: Projected) => readonly string[];
}

/** What can be said without looking at a value's parts, and what needs them; patterns that are not checked are noted. */
export interface Assertions {
  readonly types: readonly TypeName[] | undefined;
  /** Equality keys of the values that `const` and `enum` allow. */
  readonly values: ReadonlySet<string> | undefined;
  readonly required: readonly string[];
  readonly shape: readonly Assertion[];
  readonly members: readonly Assertion[];
}

/** One subschema. `never` is the schema `false`; a node that demands nothing is the schema `true`. */
export interface SchemaNode {
  readonly place: string;
  readonly never: boolean;
  readonly assertions: Assertions;
  readonly references: SchemaNode[];
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  readonly if: SchemaNode | undefined;
  readonly then: SchemaNode | undefined;
  readonly else: SchemaNode | undefined;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly patternProperties: readonly { readonly pattern: Pattern; readonly node: SchemaNode }[];
  readonly additionalProperties: SchemaNode | undefined;
  readonly unevaluatedProperties: SchemaNode | undefined;
  readonly propertyNames: SchemaNode | undefined;
  readonly dependentSchemas: ReadonlyMap<string, SchemaNode>;
  readonly prefixItems: readonly SchemaNode[];
  readonly items: SchemaNode | undefined;
  readonly unevaluatedItems: SchemaNode | undefined;
  readonly contains: SchemaNode | undefined;
  readonly minContains: number | undefined;
  readonly maxContains: number | undefined;
}

/** A schema read. */
export interface SchemaTree {
  readonly root: SchemaNode;
  /** The nodes that a reference names. */
  readonly targets: ReadonlySet<SchemaNode>;
  readonly usesUnevaluated: boolean;
  /** Sentences for the schema's author about what is not checked. */
  readonly notes: readonly string[];
}

/** The nodes that are checked against the very value that `node` is checked against. */
export function nodesAtOnePlace(node: SchemaNode): readonly SchemaNode[] {
  const conditional = [node.not, node.if, node.then, node.else].filter((part) => part !== undefined);
  return [
    ...node.references,
    ...node.allOf,
    ...node.anyOf,
    ...node.oneOf,
    ...conditional,
    ...node.dependentSchemas.values(),
  ];
}

/** The nodes that are checked against parts of the value: properties, their names, items. */
export function nodesBelow(node: SchemaNode): readonly SchemaNode[] {
  const { additionalProperties, unevaluatedProperties, propertyNames, items, unevaluatedItems, contains } = node;
  return [
    ...node.properties.values(),
    ...node.patternProperties.map((entry) => entry.node),
    ...node.prefixItems,
    ...[additionalProperties, unevaluatedProperties, propertyNames, items, unevaluatedItems, contains]
      .filter((part) => part !== undefined),
  ];
}
