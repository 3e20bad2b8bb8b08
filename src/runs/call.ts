// The pipeline of one call, from the name that a program used to the answer that it gets:
// known, arguments checked, calls left, dispatched, bounded. Writes the ledger's row; ends no run itself.

import { RawValue, textBytes } from '../protocol/outline.ts';
import type { Exhausted, FailureKind } from '../protocol/failures.ts';
import type { Limits } from '../protocol/limits.ts';
import type { CheckArguments } from '../tools/arguments.ts';
import { type Catalogue, resolveTool, type Tool } from '../tools/catalogue.ts';
import { failed, notRun, type ToolAnswer, type ToolRequest } from '../tools/provider.ts';
import type { Clock } from '../supervisor/clocks.ts';
import type { Ledger } from './ledger.ts';
import type { CallRecord } from './outcome.ts';

/** What the calls of one run share. */
export type CallContext = {
  readonly runId: string;
  readonly turn: string;
  readonly intent: string | undefined;
  readonly cwd: string | undefined;
  readonly catalogue: Catalogue;
  readonly limits: Limits;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly checkArguments: CheckArguments;
  /** For tools without a timeout of their own, in milliseconds. */
  readonly defaultTimeoutMs: number;
  readonly signal: AbortSignal;
  /** The call goes to its provider now, or is back. */
  readonly opened: (record: CallRecord) => void;
  readonly closed: (record: CallRecord) => void;
};

export type CallEnd =
  | { readonly answer: ToolAnswer }
  /** A bound of the run has fired: the program ends here. */
  | { readonly final: { readonly kind: FailureKind; readonly message: string; readonly exhausted: Exhausted } };

/** A program that goes on asking for what is refused is ended after so many. */
const mostRefused = 1000;

export async function carryOut(
  asked: { call: number; tool: string; arguments: Uint8Array },
  context: CallContext,
): Promise<CallEnd> {
  const { ledger, limits } = context;
  const resolved = resolveTool(context.catalogue, asked.tool);
  // A copy: what came from the child is a view of a larger chunk, and may have to be mended.
  const args = asked.arguments.slice();
  if ('problem' in resolved) return refuse(asked, args, 'other', resolved.problem, ledger);
  const { tool } = resolved;
  const problem = await mendArguments(tool, args, context.checkArguments);
  if (problem !== undefined) return refuse({ ...asked, tool: tool.name }, args, tool.class, problem, ledger);

  if (ledger.dispatched >= limits.calls) {
    const message = `the program made more than ${limits.calls} tool calls`;
    const exhausted = {
      name: 'calls',
      used: ledger.dispatched,
      limit: limits.calls,
      requested: ledger.dispatched + 1,
    } as const;
    return { final: { kind: 'calls', message, exhausted } };
  }
  const record = ledger.dispatch({
    call: asked.call,
    tool: tool.name,
    class: tool.class,
    arguments: new RawValue(args),
  });
  context.opened(record);
  const startedMs = context.clock.now();
  const answer = await dispatch(tool, record, context);
  record.ms = context.clock.now() - startedMs;
  context.closed(record);
  return settle(answer, record, context);
}

/** Checks the arguments against the tool's schema, and writes `[]` where the schema wants a list and the program an empty table. */
async function mendArguments(tool: Tool, args: Uint8Array, check: CheckArguments): Promise<string | undefined> {
  if (!tool.inputSchema) return undefined;
  const verdict = await check(tool.inputSchema, args);
  if (!verdict.ok) return `Cannot call tool ${JSON.stringify(tool.name)}: ${verdict.message}`;
  for (const at of verdict.emptyArrays) args[at] = 0x90;
  return undefined;
}

function refuse(
  asked: { call: number; tool: string },
  args: Uint8Array,
  toolClass: Tool['class'],
  message: string,
  ledger: Ledger,
): CallEnd {
  ledger.refuse({ call: asked.call, tool: asked.tool, class: toolClass, arguments: new RawValue(args), message });
  if (ledger.refused <= mostRefused) return { answer: notRun(message) };
  // Nothing else bounds them: they are not counted as calls, and checking them is not compute.
  const exhausted = { name: 'calls', used: ledger.refused, limit: mostRefused, requested: ledger.refused } as const;
  return {
    final: {
      kind: 'calls',
      message: `the program made more than ${mostRefused} calls that could not be run`,
      exhausted,
    },
  };
}

async function dispatch(
  tool: Tool,
  record: CallRecord,
  context: CallContext,
): Promise<ToolAnswer | 'timeout' | 'stopped'> {
  const timeoutMs = tool.timeoutMs ?? context.defaultTimeoutMs;
  const timeout = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<'timeout'>();
  const timer = context.clock.after(timeoutMs, () => {
    timeout.abort(new Error(`no answer within ${timeoutMs} ms`));
    resolve('timeout');
  });
  const request: ToolRequest = {
    runId: context.runId,
    call: record.call,
    tool: tool.name,
    arguments: record.arguments,
    class: tool.class,
    turn: context.turn,
    intent: context.intent,
    cwd: context.cwd,
    maxBytes: context.limits.result_bytes,
    signal: AbortSignal.any([context.signal, timeout.signal]),
  };
  try {
    return await Promise.race([tool.provider.call(request), late]);
  } catch (error) {
    if (context.signal.aborted) return 'stopped';
    return failed(`tool ${JSON.stringify(tool.name)} failed: ${(error as Error).message}`);
  } finally {
    timer.cancel();
  }
}

/** Holds the answer to the byte bounds and writes the rest of its row. */
function settle(
  answer: ToolAnswer | 'timeout' | 'stopped',
  record: CallRecord,
  { ledger, limits }: CallContext,
): CallEnd {
  if (typeof answer === 'string') {
    // It was dispatched and never told how it went: the row stays unknown.
    const when = answer === 'timeout' ? 'in time' : 'before the end';
    record.message = `tool ${JSON.stringify(record.tool)} gave no answer ${when}; it may still be running`;
    return { answer: failed(record.message) };
  }
  const size = contentSize(answer);
  record.outcome = answer.status;
  record.message = answer.status === 'ok' ? undefined : answer.message;
  record.changedPaths = answer.changedPaths;
  record.context = answer.context;
  record.content = answer.content ?? answer.structured;
  if (size > limits.result_bytes) {
    const message = `the result of tool ${
      JSON.stringify(record.tool)
    } has ${size} bytes, and one result may have ${limits.result_bytes}; ask it for less`;
    record.message = message;
    record.content = undefined;
    return { answer: failed(message) };
  }
  const total = ledger.resultBytes + size;
  if (total > limits.total_result_bytes) {
    const message = `the results of all calls together passed ${limits.total_result_bytes} bytes`;
    const exhausted = {
      name: 'total_result_bytes',
      used: ledger.resultBytes,
      limit: limits.total_result_bytes,
      requested: total,
    } as const;
    return { final: { kind: 'results', message, exhausted } };
  }
  ledger.resultBytes = total;
  record.bytes = size;
  return { answer };
}

/** Bytes of what a program gets: of the text, or of the structured value where there is no text, or of the message. */
function contentSize({ content, structured, message }: ToolAnswer): number {
  if (content) return textBytes(content)?.length ?? content.bytes.length;
  return structured ? structured.bytes.length : message.length;
}
