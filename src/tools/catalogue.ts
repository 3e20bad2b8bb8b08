// The tools that one run can call: a frozen value, made whole when tools are declared and never changed
// afterwards, so that a run keeps what it began with. Names are resolved here and nowhere else.

import type { RawValue } from '../protocol/outline.ts';
import { quotedList } from '../protocol/wording.ts';
import { forbiddenNames, maxNameChars, nearestNames } from './names.ts';
import type { Provider, ToolClass } from './provider.ts';

export type Tool = {
  readonly name: string;
  readonly description: string;
  readonly class: ToolClass;
  readonly aliases: readonly string[];
  /** JSON Schema as MessagePack; undefined: any arguments. */
  readonly inputSchema: RawValue | undefined;
  readonly outputSchema: RawValue | undefined;
  /** Names of the arguments that hold paths. */
  readonly paths: readonly string[];
  readonly idempotent: boolean;
  readonly timeoutMs: number | undefined;
  readonly provider: Provider;
};

export type Catalogue = {
  /** By name, in the order of declaration; aliases are not in it. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly aliases: ReadonlyMap<string, string>;
};

export type Resolution = { readonly tool: Tool } | { readonly problem: string };

/**
 * Makes a catalogue. Tools that programs may never call are left out of it: they stay the agent's own.
 * @throws {Error} naming the tool, if a name is declared twice or an alias is the name of another
 */
export function makeCatalogue(tools: readonly Tool[]): Catalogue {
  const byName = new Map<string, Tool>();
  const aliases = new Map<string, string>();
  for (const tool of tools) {
    if (byName.has(tool.name)) {
      throw new Error(`tool ${JSON.stringify(tool.name)} is declared twice; names must differ`);
    }
    byName.set(tool.name, tool);
  }
  for (const tool of tools) {
    for (const alias of tool.aliases) {
      const other = byName.has(alias) ? alias : aliases.get(alias);
      if (other !== undefined && other !== tool.name) {
        throw new Error(
          `alias ${JSON.stringify(alias)} of tool ${JSON.stringify(tool.name)} is taken by ${JSON.stringify(other)}`,
        );
      }
      if (!byName.has(alias)) aliases.set(alias, tool.name);
    }
  }
  for (const name of byName.keys()) if (forbiddenNames.has(name)) byName.delete(name);
  return Object.freeze({ tools: byName, aliases });
}

/** The tool that a program means, or why it cannot be called, as a sentence for the model. */
export function resolveTool(catalogue: Catalogue, asked: string): Resolution {
  const name = catalogue.aliases.get(asked) ?? asked;
  const shown = JSON.stringify(asked.slice(0, maxNameChars));
  if (forbiddenNames.has(asked) || forbiddenNames.has(name)) {
    return { problem: `Cannot call tool ${shown}: it is never callable from a program; call it directly` };
  }
  const tool = catalogue.tools.get(name);
  if (tool) return { tool };
  const nearest = nearestNames(asked, [...catalogue.tools.keys(), ...catalogue.aliases.keys()]);
  const hint = nearest.length > 0
    ? `did you mean ${quotedList(nearest)}`
    : catalogue.tools.size > 0
    ? 'wizard.tools() lists the tools there are'
    : 'this agent offers no tools';
  return { problem: `Cannot call tool ${shown}: there is no such tool; ${hint}` };
}
