// Compiles a tool's input schema, which may be hostile: its bytes are bounded and read, its form checked, its references
// resolved, and only then is code generated from it. Pure and synchronous; a deadline is the caller's.

import { buildSchemaTree } from './build_nodes.ts';
import { projectValue } from './projection.ts';
import { cutMessage } from './quoting.ts';
import { schemaBounds } from './schema_bounds.ts';
import { SchemaFault } from './schema_fields.ts';
import type { SchemaNode } from './schema_nodes.ts';
import { compileValidator, type Validate } from './validator.ts';

/** A schema ready for arguments. Holds nothing that outlives it. */
export interface CompiledSchema {
  readonly root: SchemaNode;
  readonly validate: Validate;
  /** Sentences for the author of the schema about what is not checked. */
  readonly notes: readonly string[];
}

/** A compiled schema, or a sentence for its author that names the place and what is wrong there. */
export type Compilation =
  | { readonly ok: true; readonly schema: CompiledSchema }
  | { readonly ok: false; readonly message: string };

/**
 * Compiles a schema of draft-04 to 2020-12.
 * @param schema the schema as plain MessagePack, at most 65,536 bytes
 */
export function compileSchema(schema: Uint8Array): Compilation {
  const { bytes, depth } = schemaBounds;
  if (schema.length > bytes.most) {
    return { ok: false, message: `schema must be at most ${bytes.most} bytes, got ${schema.length}` };
  }
  const read = projectValue(schema, { root: 'schema', depth: depth.most, elements: bytes.most });
  if (!read.ok) return { ok: false, message: cutMessage(read.message) };
  try {
    const tree = buildSchemaTree(read.projection.value);
    return { ok: true, schema: { root: tree.root, validate: compileValidator(tree), notes: tree.notes } };
  } catch (error) {
    if (error instanceof SchemaFault) return { ok: false, message: cutMessage(error.message) };
    if (error instanceof RangeError) {
      return { ok: false, message: 'schema must have shorter chains of references, got one that exhausts the stack' };
    }
    throw error;
  }
}
