// `run_progress` for the agent that asked: the latest state of a run, a few times a second at most, and
// once a second where nothing happens. A run that ends before the first is due costs nothing.

import { Buffer } from 'node:buffer';
import type { Clock } from '../supervisor/clocks.ts';
import { callToWire } from '../runs/outcome.ts';
import type { RunView } from '../runs/run_request.ts';

/** Between a change and its notice, and between notices of a run in which nothing changes but its clock. */
const changeMs = 100;
const beatMs = 1000;
const recentCalls = 4;
const printedTailBytes = 2048;

/** @returns what a run's request takes as `progressed` */
export function progressNotifier(clock: Clock, send: (progress: object) => void): (run: RunView) => void {
  let due = false;
  let printedBytes = 0;
  let timer: { readonly cancel: () => void } | undefined;
  const arm = (run: RunView, ms: number) => {
    timer?.cancel();
    timer = clock.after(ms, () => {
      due = false;
      if (run.state !== 'running') return;
      send(describe(run, run.printed.heldBytes > printedBytes));
      printedBytes = run.printed.heldBytes;
      arm(run, beatMs);
    });
  };
  return (run) => {
    if (due) return;
    due = true;
    arm(run, changeMs);
  };
}

function describe(run: RunView, news: boolean): object {
  const { request, ledger, printed, state } = run;
  return {
    run_id: request.runId,
    intent: request.intent ?? null,
    state,
    calls: ledger.dispatched,
    recent: ledger.records.slice(-recentCalls).map((record) => callToWire(record, false)),
    compute_ms: Math.round(run.computeMs()),
    ...(news ? { printed: Buffer.from(printed.tail(printedTailBytes)).toString('utf8') } : {}),
  };
}
