// What a run leaves behind, as data: its ledger, its usage, its outcome. The shapes of the wire
// (docs/protocol.md), in the code's spelling; turned into the wire's in one place, `toWire`.

import type { ClockName, Exhausted, Kind, StoppedBy } from '../protocol/failures.ts';
import type { LanguageName, Limits } from '../protocol/limits.ts';
import type { RawValue } from '../protocol/outline.ts';
import type { ToolClass } from '../tools/provider.ts';

export type CallOutcome = 'ok' | 'failed' | 'denied' | 'not_run' | 'unknown';

/** One row of the ledger. `outcome` is `unknown` from the dispatch until there is an answer. */
export type CallRecord = {
  readonly call: number;
  readonly tool: string;
  readonly class: ToolClass;
  readonly arguments: RawValue;
  outcome: CallOutcome;
  /** Size of the content that the program was given. */
  bytes: number;
  ms: number;
  message: string | undefined;
  content: RawValue | undefined;
  changedPaths: readonly string[];
  context: readonly string[];
};

export type Usage = {
  readonly calls: number;
  readonly computeMs: number;
  readonly cpuMs: number;
  readonly toolMs: number;
  readonly wallMs: number;
  readonly memoryBytes: number;
  readonly printedBytes: number;
  readonly resultBytes: number;
};

export type Evidence = {
  readonly succeeded: number;
  readonly failed: number;
  readonly denied: number;
  readonly notRun: number;
  readonly unknown: number;
  readonly actions: readonly { readonly call: number; readonly tool: string; readonly outcome: CallOutcome }[];
  readonly changedPaths: readonly string[];
  readonly changedPathCount: number;
  readonly changedPathsIncomplete: boolean;
};

export type Outcome = {
  readonly runId: string;
  readonly language: LanguageName;
  readonly kind: Kind;
  readonly fault: boolean;
  readonly message: string;
  readonly recovery: string | undefined;
  readonly traceback: string | undefined;
  readonly stoppedBy: StoppedBy;
  readonly clock: ClockName | undefined;
  readonly exhausted: Exhausted | undefined;
  readonly report: string;
  readonly output: RawValue;
  readonly outputTruncated: boolean;
  readonly spillPath: string | undefined;
  readonly usage: Usage;
  readonly limits: Limits;
  readonly calls: readonly CallRecord[];
  readonly warnings: readonly string[];
  readonly responseTokens: number;
  readonly evidence: Evidence;
};

/** Arguments that together pass this are left out of an outcome; the rows say how large they were. */
const argumentBytesShown = 4 * 1024 * 1024;

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

export function callToWire(record: CallRecord, withArguments = true) {
  return {
    call: record.call,
    tool: record.tool,
    arguments: withArguments ? record.arguments : {},
    ...(withArguments ? {} : { arguments_omitted_bytes: record.arguments.bytes.length }),
    outcome: record.outcome,
    bytes: record.bytes,
    ms: round(record.ms),
    message: record.message ?? null,
  };
}

export function callsToWire(records: readonly CallRecord[]) {
  let left = argumentBytesShown;
  return records.map((record) => callToWire(record, (left -= record.arguments.bytes.length) >= 0));
}

export function contextToWire(records: readonly CallRecord[]) {
  return records.flatMap(({ call, context }) => context.map((text) => ({ call, text })));
}

export function outcomeToWire(outcome: Outcome) {
  const { usage, evidence } = outcome;
  return {
    run_id: outcome.runId,
    language: outcome.language,
    kind: outcome.kind,
    fault: outcome.fault,
    message: outcome.message,
    recovery: outcome.recovery ?? null,
    traceback: outcome.traceback ?? null,
    stopped_by: outcome.stoppedBy,
    clock: outcome.clock ?? null,
    exhausted: outcome.exhausted ?? null,
    report: outcome.report,
    output: outcome.output,
    output_truncated: outcome.outputTruncated,
    spill_path: outcome.spillPath ?? null,
    usage: {
      calls: usage.calls,
      compute_ms: round(usage.computeMs),
      cpu_ms: round(usage.cpuMs),
      tool_ms: round(usage.toolMs),
      wall_ms: round(usage.wallMs),
      memory_bytes: usage.memoryBytes,
      printed_bytes: usage.printedBytes,
      result_bytes: usage.resultBytes,
    },
    limits: outcome.limits,
    calls: callsToWire(outcome.calls),
    context: contextToWire(outcome.calls),
    warnings: outcome.warnings,
    response_tokens: outcome.responseTokens,
    evidence: {
      succeeded: evidence.succeeded,
      failed: evidence.failed,
      denied: evidence.denied,
      not_run: evidence.notRun,
      unknown: evidence.unknown,
      actions: evidence.actions,
      changed_paths: evidence.changedPaths,
      changed_path_count: evidence.changedPathCount,
      changed_paths_incomplete: evidence.changedPathsIncomplete,
    },
  };
}
