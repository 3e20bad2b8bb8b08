// The pipeline of one call, from the name that a program used to the answer that it gets:
// known, arguments checked, calls left, dispatched, bounded. Writes the ledger's row; ends no run itself.

import { RawValue, textBytes } from '../protocol/outline.ts';
import type { Exhausted, FailureKind } from '../protocol/failures.ts';
import type { Limits } from '../protocol/limits.ts';
import type { CheckArguments } from '../tools/arguments.ts';
import { type Catalogue, resolveTool, type Tool } from '../tools/catalogue.ts';
import { AnswerLost, failed, notRun, type ToolAnswer, type ToolRequest } from '../tools/provider.ts';
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
  | { readonly final: { readonly kind: FailureKind; readonly message: string; readonly exhausted?: Exhausted } };

/** The ledger keeps the arguments of all calls, so they are bounded together. */
const mostArgumentBytes = 16 * 1024 * 1024;

/** A program that goes on asking for what is refused is ended after so many. */
const mostRefused = 1000;

export async function carryOut(
  asked: { call: number; tool: string; structured: boolean; arguments: Uint8Array },
  context: CallContext,
): Promise<CallEnd> {
  const { ledger, limits } = context;
  const resolved = resolveTool(context.catalogue, asked.tool);
  // A copy: what came from the child is a view of a larger chunk, and may have to be mended.
  const args = new Uint8Array(asked.arguments);
  if ('problem' in resolved) return refuse(asked, args, 'other', resolved.problem, ledger);
  const { tool } = resolved;
  const problem = await mendArguments(tool, args, context.checkArguments);
  if (problem !== undefined) return refuse({ ...asked, tool: tool.name }, args, tool.class, problem, ledger);

  if (context.signal.aborted) {
    return refuse({ ...asked, tool: tool.name }, args, tool.class, 'the run is ending; it was not sent', ledger);
  }
  if (ledger.argumentBytes + args.length > mostArgumentBytes) {
    const message = `Cannot call tool ${
      JSON.stringify(tool.name)
    }: the arguments of this run's calls together would have more than ${mostArgumentBytes} bytes`;
    return refuse({ ...asked, tool: tool.name }, args, tool.class, message, ledger);
  }
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
  return settle(asked.structured ? answer : withoutUnused(answer), record, context);
}

/** Checks the arguments against the tool's schema, and writes `[]` where the schema wants a list and the program an empty table. */
async function mendArguments(tool: Tool, args: Uint8Array, check: CheckArguments): Promise<string | undefined> {
  if (!tool.inputSchema) return undefined;
  const verdict = await check(tool.inputSchema, args);
  if (!verdict.ok) return `Cannot call tool ${JSON.stringify(tool.name)}: ${verdict.message}`;
  // The offsets come from a process that reads what strangers send: only an empty map is turned into an empty array.
  for (const at of verdict.emptyArrays) if (args[at] === 0x80) args[at] = 0x90;
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
  return { final: { kind: 'calls', message: `the program made more than ${mostRefused} calls that could not be run` } };
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
    if (context.signal.aborted || error instanceof AnswerLost) return 'stopped';
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
  const kept = answer.content ?? answer.structured;
  // A copy: what came is a view of the message that brought it.
  record.content = kept && new RawValue(new Uint8Array(kept.bytes));
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

/** Where a program can use one value only, the structured value stands in for the text. */
function withoutUnused(answer: ToolAnswer | 'timeout' | 'stopped'): ToolAnswer | 'timeout' | 'stopped' {
  return typeof answer === 'string' || !answer.content ? answer : { ...answer, structured: undefined };
}

/**
 * Bytes of what a program gets: of the text or of the structured value, whichever is larger, since the one says what
 * the other does; of the message where there is neither.
 */
function contentSize({ content, structured, message }: ToolAnswer): number {
  const text = content ? textBytes(content)?.length ?? content.bytes.length : 0;
  if (content) return Math.max(text, structured?.bytes.length ?? 0);
  return structured ? structured.bytes.length : Buffer.byteLength(message);
}
