// The tools that an agent declares, from its message to entries of a catalogue. Their schemas come from a
// stranger: each is tried in the checker before the declaration is accepted.

import { ProtocolError } from '../protocol/errors.ts';
import type { DeclaredTool } from '../protocol/agent_messages.ts';
import { arrayItems, isNil, mapEntries, RawValue } from '../protocol/outline.ts';
import type { ArgumentChecker } from '../tools/arguments.ts';
import { type Catalogue, makeCatalogue, type Tool } from '../tools/catalogue.ts';
import type { Provider } from '../tools/provider.ts';

/**
 * @param options.declared the tools as validated, `options.raw` the same as they came: schemas are kept as bytes
 * @throws {ProtocolError} `invalid_params` naming the tool and what is wrong with it
 */
export async function declareTools(options: {
  declared: readonly DeclaredTool[];
  raw: RawValue;
  provider: Provider;
  checker: ArgumentChecker;
  owner: string;
  /** Tools of other providers; the agent's own replace those of the same name. */
  beside: readonly Tool[];
}): Promise<Catalogue> {
  const { declared, provider, checker, owner, beside } = options;
  const raw = arrayItems(options.raw) ?? [];
  const own = declared.map((tool, i) => toTool(tool, raw[i]!, provider));
  for (const { name, inputSchema } of own) {
    const problem = inputSchema && await checker.vet(owner, inputSchema);
    if (problem) throw new ProtocolError('invalid_params', `Cannot take tool ${JSON.stringify(name)}: ${problem}`);
  }
  const names = new Set(own.map(({ name }) => name));
  try {
    return makeCatalogue([...own, ...beside.filter(({ name }) => !names.has(name))]);
  } catch (error) {
    throw new ProtocolError('invalid_params', `Cannot take the tools: ${(error as Error).message}`);
  }
}

function toTool(tool: DeclaredTool, raw: RawValue, provider: Provider): Tool {
  const entries = mapEntries(raw);
  const schema = (key: string): RawValue | undefined => {
    const value = entries?.get(key);
    // A copy: the message that it came in is not kept for it.
    return value && !isNil(value) ? new RawValue(new Uint8Array(value.bytes)) : undefined;
  };
  return {
    name: tool.name,
    description: tool.description ?? '',
    class: tool.class ?? 'other',
    aliases: tool.aliases ?? [],
    inputSchema: schema('input_schema'),
    outputSchema: schema('output_schema'),
    paths: tool.paths ?? [],
    idempotent: tool.idempotent ?? false,
    timeoutMs: tool.timeout_ms,
    provider,
  };
}
