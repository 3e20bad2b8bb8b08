// The definition of `run_code` that an agent hands to its model: when to use it and when not, what a program
// finds, how answers look, and the limits in force. Made for each agent from its catalogue and its limits.

import { isLuaName } from '../languages/lua/names.ts';
import type { Limits } from '../protocol/limits.ts';
import type { Catalogue } from './catalogue.ts';

export type ToolDefinition = {
  readonly name: 'run_code' | 'code_mode';
  readonly description: string;
  readonly input_schema: object;
  readonly class: 'execute';
};

const mostToolsNamed = 60;
/** Bytes for a reader: in the unit that gives a short number. */
function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [unit, name] = bytes < 1024 * 1024 ? [1024, 'KiB'] as const : [1024 * 1024, 'MiB'] as const;
  return `${Math.floor(bytes / unit * 100) / 100} ${name}`;
}

export function luaDefinition(
  options: { catalogue: Catalogue; limits: Limits; mostComputeMs: number },
): ToolDefinition {
  const { catalogue, limits, mostComputeMs } = options;
  const names = [...catalogue.tools.keys()];
  const named = names.slice(0, mostToolsNamed).map((name) => isLuaName(name) ? name : `[${JSON.stringify(name)}]`).join(
    ', ',
  );
  const more = names.length > mostToolsNamed
    ? `, and ${names.length - mostToolsNamed} more: wizard.tools() lists all`
    : '';
  const description = [
    'Runs a Lua 5.4 program that can call your tools; only what it prints comes back to you.',
    'Use it when three or more calls would otherwise follow a fixed sequence, or when the arguments of the next call can be computed from the answer to the last. Do not use it when you have to read a result before you can decide what to do next, or for a single call.',
    'tool.NAME{key = value} calls a tool (tool["any-name"]{...} for names that are no identifiers). It ran and succeeded: the text is returned (a table, if the tool has only structured data). It ran and failed: nil and a message. It could not be run: an error is raised. wizard.call(name, args) never raises and returns {ok, status, content, structured}. wizard.tools() lists the names.',
    'Nothing else is kept between programs: no variables, no functions. print what you need, and print it short; a table prints as an address, so print its fields. If you read a skill or other instructions inside a program, print its text, or you will not have seen it.',
    `Limits: ${limits.compute_ms / 1000} s of computing (timeout_secs, at most ${
      mostComputeMs / 1000
    }; time inside tools is not counted), ${limits.wall_ms / 1000} s in all, ${limits.calls} calls, ${
      size(limits.memory_bytes)
    }, ${
      size(limits.result_bytes)
    } for one result. Past a limit the program ends, and the calls that it completed remain in effect.`,
    names.length > 0 ? `Tools: ${named}${more}.` : 'No tools are offered at present.',
  ].join('\n\n');
  return {
    name: 'run_code',
    description,
    class: 'execute',
    input_schema: {
      type: 'object',
      additionalProperties: false,
      required: ['program'],
      properties: {
        program: { type: 'string', description: 'Lua source' },
        timeout_secs: {
          type: 'number',
          exclusiveMinimum: 0,
          maximum: mostComputeMs / 1000,
          description: 'compute budget in seconds',
        },
        intent: { type: 'string', description: 'what the program is for, in a few words' },
      },
    },
  };
}
