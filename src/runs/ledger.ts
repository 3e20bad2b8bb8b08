// The calls of one run, in their order. Dispatched calls are all kept (their number is bounded);
// of calls that were refused before that, the first are, and the rest are counted.

import { RawValue } from '../protocol/outline.ts';
import type { CallRecord } from './outcome.ts';

const mostRefusedKept = 100;
/** Arguments of refused calls are kept up to this size, since nothing else bounds them. */
const mostRefusedArguments = 4096;

const noArguments = new RawValue(Uint8Array.of(0x80));
const emptyRow = {
  outcome: 'unknown',
  bytes: 0,
  ms: 0,
  message: undefined,
  content: undefined,
  changedPaths: [],
  context: [],
} as const;

type Row = Pick<CallRecord, 'call' | 'tool' | 'class' | 'arguments'>;

export class Ledger {
  readonly records: CallRecord[] = [];
  /** Calls that went to a provider. */
  dispatched = 0;
  resultBytes = 0;
  /** Of the calls that went out. */
  argumentBytes = 0;
  /** Calls that never went out. */
  refused = 0;
  /** Refused calls that have no row. */
  leftOut = 0;

  /** Adds a call that is about to go out: `unknown` until its answer is there. */
  dispatch(row: Row): CallRecord {
    this.dispatched++;
    this.argumentBytes += row.arguments.bytes.length;
    const record: CallRecord = { ...emptyRow, ...row };
    this.records.push(record);
    return record;
  }

  /** Adds a call that never went out. */
  refuse(row: Row & { message: string }): void {
    this.refused++;
    if (this.refused - this.leftOut > mostRefusedKept) {
      this.leftOut++;
      return;
    }
    const kept = row.arguments.bytes.length > mostRefusedArguments ? noArguments : row.arguments;
    this.records.push({ ...emptyRow, ...row, arguments: kept, outcome: 'not_run' });
  }
}
