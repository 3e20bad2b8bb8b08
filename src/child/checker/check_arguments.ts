// Checks a call's arguments against a compiled schema, on a projection that keeps bytes and 64-bit integers exact.
// The arguments themselves are never changed: where empty tables have to become arrays, the caller is told the bytes.

import type { CompiledSchema } from './compile_schema.ts';
import { shapeEmptyTables } from './empty_tables.ts';
import { sentenceFor } from './error_sentences.ts';
import { isMap } from './projected_values.ts';
import { projectValue } from './projection.ts';
import { cutMessage, described } from './quoting.ts';
import { argumentBounds } from './schema_bounds.ts';

/** Whether arguments fit; if they do, the byte offsets of the empty maps (0x80) that have to become arrays (0x90). */
export type ArgumentCheck =
  | { readonly ok: true; readonly emptyArrays: readonly number[] }
  | { readonly ok: false; readonly message: string };

/**
 * Checks arguments.
 * @param args one map as plain MessagePack
 * @returns offsets into `args`, ascending; or one sentence for the model of at most 500 UTF-16 units
 */
export function checkArguments(schema: CompiledSchema, args: Uint8Array): ArgumentCheck {
  const { bytes, depth, elements, steps } = argumentBounds;
  if (args.length > bytes.most) return refused(`arguments must be at most ${bytes.most} bytes, got ${args.length}`);
  const read = projectValue(args, { root: 'arguments', depth: depth.most, elements: elements.most });
  if (!read.ok) return refused(read.message);
  const { value } = read.projection;
  if (!isMap(value)) return refused(`arguments must be object, got ${described(value)}`);
  const emptyArrays = shapeEmptyTables(schema.root, read.projection);
  const verdict = schema.validate(value);
  switch (verdict.verdict) {
    case 'valid':
      return { ok: true, emptyArrays };
    case 'invalid':
      return refused(sentenceFor(verdict.errors, value));
    case 'exhausted':
      return refused(`arguments must be checked in ${steps.most} steps, got a value for which the schema needs more`);
  }
}

function refused(message: string): ArgumentCheck {
  return { ok: false, message: cutMessage(message) };
}
