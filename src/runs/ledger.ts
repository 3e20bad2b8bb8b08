// The calls of one run, in their order. Dispatched calls are all kept (their number is bounded);
// of calls that were refused before that, the first are, and the rest are counted.

import type { CallRecord } from './outcome.ts';

const mostRefusedKept = 100;
/** Arguments of refused calls are kept up to this size, since nothing else bounds them. */
const mostRefusedArguments = 4096;

type Row = Pick<CallRecord, 'call' | 'tool' | 'class' | 'arguments'>;

export class Ledger {
  readonly records: CallRecord[] = [];
  /** Calls that went to a provider. */
  dispatched = 0;
  resultBytes = 0;
  /** Calls that never went out. */
  refused = 0;
  /** Refused calls that have no row. */
  leftOut = 0;

  /** Adds a call that is about to go out: `unknown` until its answer is there. */
  dispatch(row: Row): CallRecord {
    this.dispatched++;
    const record: CallRecord = {
      ...row,
      outcome: 'unknown',
      bytes: 0,
      ms: 0,
      message: undefined,
      content: undefined,
      changedPaths: [],
      context: [],
    };
    this.records.push(record);
    return record;
  }

  /** Adds a call that never went out. */
  refuse(row: Row & { message: string }): void {
    this.refused++;
    if (this.refused - this.leftOut > mostRefusedKept || row.arguments.bytes.length > mostRefusedArguments) {
      this.leftOut++;
      return;
    }
    this.records.push({
      ...row,
      outcome: 'not_run',
      bytes: 0,
      ms: 0,
      content: undefined,
      changedPaths: [],
      context: [],
    });
  }
}
