// The child that holds arguments against schemas: both come from strangers, so it is locked up like a
// program's child, and the daemon ends it when it does not answer in time. Lives for many checks.

import { type CheckHeader, frameKinds, type SchemaHeader, type VerdictHeader } from '../protocol/child_messages.ts';
import { boot } from './boot.ts';
import { checkArguments } from './checker/check_arguments.ts';
import { type CompiledSchema, compileSchema } from './checker/compile_schema.ts';
import type { FramePipe } from './frame_pipe.ts';

function serve(pipe: FramePipe): void {
  const schemas = new Map<number, CompiledSchema>();
  for (let frame = pipe.read(); frame; frame = pipe.read()) {
    const { schema } = frame.header as SchemaHeader | CheckHeader;
    pipe.write(
      frameKinds.verdict,
      frame.kind === frameKinds.schema ? learn(schemas, schema, frame.payload) : check(schemas, schema, frame.payload),
    );
  }
}

function learn(schemas: Map<number, CompiledSchema>, id: number, bytes: Uint8Array): VerdictHeader {
  const compiled = compileSchema(bytes);
  if (!compiled.ok) return { ok: false, message: compiled.message, emptyArrays: [] };
  schemas.set(id, compiled.schema);
  return { ok: true, message: '', emptyArrays: [] };
}

function check(schemas: ReadonlyMap<number, CompiledSchema>, id: number, bytes: Uint8Array): VerdictHeader {
  const schema = schemas.get(id);
  if (!schema) throw new Error(`schema ${id} has not been compiled here`);
  const verdict = checkArguments(schema, bytes);
  return verdict.ok
    ? { ok: true, message: '', emptyArrays: verdict.emptyArrays }
    : { ok: false, message: verdict.message, emptyArrays: [] };
}

boot(() => undefined, (_, pipe) => serve(pipe));
