// `run_progress` for the agent that asked: the latest state of a run, a few times a second at most.
// A run that ends before the first is due costs nothing.

import { Buffer } from 'node:buffer';
import type { Clock } from '../supervisor/clocks.ts';
import { callToWire } from '../runs/outcome.ts';
import type { RunView } from '../runs/run_request.ts';

const intervalMs = 100;
const recentCalls = 4;
const printedTailBytes = 2048;

/** @returns what a run's request takes as `progressed` */
export function progressNotifier(clock: Clock, send: (progress: object) => void): (run: RunView) => void {
  let due = false;
  let printedBytes = 0;
  return (run) => {
    if (due) return;
    due = true;
    clock.after(intervalMs, () => {
      due = false;
      if (run.state !== 'running') return;
      const { request, ledger, printed } = run;
      const news = printed.heldBytes > printedBytes;
      printedBytes = printed.heldBytes;
      send({
        run_id: request.runId,
        intent: request.intent ?? null,
        state: run.state,
        calls: ledger.dispatched,
        recent: ledger.records.slice(-recentCalls).map((record) => callToWire(record, false)),
        compute_ms: Math.round(run.computeMs()),
        ...(news ? { printed: Buffer.from(printed.tail(printedTailBytes)).toString('utf8') } : {}),
      });
    });
  };
}
