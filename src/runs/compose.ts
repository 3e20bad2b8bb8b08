// Makes the outcome of a run from what is known at its end: the ending, what was printed, the ledger, the usage.
// Writes the spill file if the report cannot show all; a disk that fails costs the file, and the outcome says so.

import { Buffer, isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { kindTable } from '../protocol/failures.ts';
import { encodeText } from '../protocol/wire.ts';
import type { Ending } from './endings.ts';
import { gatherEvidence } from './evidence.ts';
import type { Ledger } from './ledger.ts';
import type { Outcome, Usage } from './outcome.ts';
import type { Printed } from './printed.ts';
import { writeReport } from './report.ts';
import type { RunRequest } from './run_request.ts';
import type { SpillFolder } from './spill.ts';

/** How much of what was printed goes into an outcome as data; the whole is in the spill file. */
const outputBytesInOutcome = 1024 * 1024;
const charsPerToken = 4;

export type RunEnd = {
  readonly request: RunRequest;
  readonly ending: Ending;
  readonly printed: Printed;
  readonly ledger: Ledger;
  readonly usage: Omit<Usage, 'calls' | 'toolMs' | 'printedBytes' | 'resultBytes'>;
  readonly warnings: readonly string[];
};

export async function composeOutcome(end: RunEnd, spill: SpillFolder): Promise<Outcome> {
  const { request, ending, printed, ledger } = end;
  const { kind, message, traceback } = ending;
  // The ledger may still be told of late answers; the outcome says what was known at the end.
  const calls = ledger.records.map((record) => ({ ...record }));
  const usage: Usage = {
    ...end.usage,
    calls: ledger.dispatched,
    toolMs: calls.reduce((sum, call) => sum + call.ms, 0),
    printedBytes: printed.heldBytes + printed.droppedBytes,
    resultBytes: ledger.resultBytes,
  };
  const bytes = printed.bytes();
  const text = Buffer.from(bytes).toString('utf8');
  const { report_chars: reportChars } = request.limits;
  const warnings = [...end.warnings];
  let spillPath: string | undefined;
  if (text.length > reportChars || bytes.length > outputBytesInOutcome) {
    try {
      spillPath = await spill.write(randomUUID(), bytes);
    } catch (error) {
      warnings.push(`the whole output could not be written to a file: ${(error as Error).message}`);
    }
  }
  const { fault, recovery } = kindTable[kind];
  const report = writeReport({
    language: request.language,
    kind,
    message,
    traceback,
    recovery,
    warnings,
    output: text,
    droppedBytes: printed.droppedBytes,
    reportChars,
    spillPath,
    calls,
    callsLeftOut: ledger.leftOut,
    usage,
  });
  return {
    runId: request.runId,
    language: request.language,
    kind,
    fault,
    message,
    recovery,
    traceback,
    stoppedBy: ending.stoppedBy,
    clock: ending.clock,
    exhausted: ending.exhausted,
    report,
    output: encodeText(head(bytes, outputBytesInOutcome)),
    outputTruncated: bytes.length > outputBytesInOutcome || printed.droppedBytes > 0,
    spillPath,
    usage,
    limits: request.limits,
    calls,
    warnings,
    responseTokens: Math.ceil(report.length / charsPerToken),
    evidence: gatherEvidence(calls, { notRun: ledger.leftOut }),
  };
}

/** The first `most` bytes, a few less where text would be cut within a character. */
function head(bytes: Uint8Array, most: number): Uint8Array {
  if (bytes.length <= most) return bytes;
  let end = most;
  while (end > most - 3 && (bytes[end]! & 0xc0) === 0x80) end--;
  const text = bytes.subarray(0, end);
  return isUtf8(text) ? text : bytes.subarray(0, most);
}
