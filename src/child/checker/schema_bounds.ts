// The bounds of the checker: what a schema may cost before and while it is compiled, and what arguments may cost while
// they are checked. One table, so that messages, tests and documentation read the same numbers. Real tools stay far
// below every row; time beyond these rows is for the deadline of the checker's parent.

/** The greatest amount allowed, its unit, and what it holds down. */
interface Bound {
  readonly most: number;
  readonly unit: string;
  readonly why: string;
}

/** Bounds of one schema. */
export const schemaBounds = {
  bytes: { most: 65_536, unit: 'bytes', why: 'everything else' },
  depth: { most: 64, unit: 'levels of maps and arrays', why: 'the stack of the reader' },
  subschemas: { most: 1_000, unit: 'subschemas', why: 'generated code and the time to compile it' },
  nesting: { most: 32, unit: 'levels of subschemas', why: 'the stack of the compiler' },
  properties: { most: 1_000, unit: 'properties', why: 'generated code' },
  alternatives: { most: 256, unit: 'schemas in one list', why: 'the depth of generated code' },
  enumValues: { most: 1_000, unit: 'values in one enum', why: 'memory and messages' },
  patterns: { most: 100, unit: 'patterns', why: 'the time to compile them' },
  patternLength: { most: 2_000, unit: 'characters in one pattern', why: 'the time to compile it' },
  patternSize: { most: 5_000, unit: 'instructions in one pattern', why: 'counted repetition; memory while matching' },
  checksAtOnePlace: {
    most: 10_000,
    unit: 'subschemas checked against one value',
    why: 'alternatives that double by $ref',
  },
} as const satisfies Record<string, Bound>;

/** Bounds of one call's arguments. */
export const argumentBounds = {
  bytes: { most: 33_554_432, unit: 'bytes', why: 'memory: the largest message of the wire' },
  depth: { most: 64, unit: 'levels of maps and arrays', why: 'the stack of the reader and of a recursive schema' },
  elements: { most: 1_000_000, unit: 'values', why: 'memory' },
  steps: { most: 5_000_000, unit: 'checks of one value', why: 'recursive schemas whose alternatives double by level' },
  keptErrors: { most: 256, unit: 'errors held at once', why: 'memory under nested alternatives' },
} as const satisfies Record<string, Bound>;
