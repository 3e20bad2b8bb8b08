// Between what an agent's author writes and what goes over the wire: declarations of tools, and what handlers answer.

import { ProtocolError } from '../protocol/errors.ts';
import type { AgentTools, ToolResult } from './messages.ts';

/** The tools as `hello` and `set_tools` take them. */
export function declarations(tools: AgentTools): object[] {
  return Object.entries(tools).map(
    ([name, { description, inputSchema, outputSchema, class: kind, aliases, paths, idempotent, timeoutMs }]) => {
      const all = {
        name,
        description,
        input_schema: inputSchema,
        output_schema: outputSchema,
        class: kind,
        aliases,
        paths,
        idempotent,
        timeout_ms: timeoutMs,
      };
      return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    },
  );
}

/** Text and bytes are content; anything else is the structured value; `failed()` and `answer()` make the rest. */
export function toResult(value: unknown): ToolResult {
  if (value instanceof Answer) return value.result;
  if (typeof value === 'string' || value instanceof Uint8Array) return { ok: true, content: value };
  return { ok: true, content: value === undefined ? '' : value };
}

class Answer {
  readonly result: ToolResult;
  constructor(result: ToolResult) {
    this.result = result;
  }
}

/** What a handler returns for a tool that ran and reported a failure. A handler that throws could not run at all. */
export const failed = (message: string, more: Omit<Partial<ToolResult>, 'ok'> = {}): unknown =>
  new Answer({ content: message, ...more, ok: false });

/** What a handler returns to say more than its content. */
export const answer = (result: Omit<ToolResult, 'ok'>): unknown => new Answer({ ...result, ok: true });

/** What a handler throws to veto the call: the program is told that it was denied. */
export const denied = (reason: string): Error => new ProtocolError('denied', reason);
