// Answers about runs that are there: what `run` and `read_spill` tell an owner.

import type { RequestParams } from '../protocol/agent_messages.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { type CallRecord, callsToWire, type Outcome, outcomeToWire } from '../runs/outcome.ts';
import type { Owner } from '../runs/runs.ts';
import type { DaemonParts } from './parts.ts';

/** Results that together pass this are left out of the answer to `run`; the calls say how large they were. */
const resultBytesShown = 16 * 1024 * 1024;

/** The answer to `run`: the outcome, if there is one yet, and the calls with their results. */
export function describeRun(
  { outcome, records }: { outcome: Outcome | undefined; records: readonly CallRecord[] },
): object {
  let left = resultBytesShown;
  const rows = callsToWire(records);
  const calls = records.map(({ content, context }, i) => {
    const fits = (left -= content?.bytes.length ?? 0) >= 0;
    const result = fits ? { result: content ?? null } : { result: null, result_omitted_bytes: content!.bytes.length };
    return { ...rows[i]!, ...result, context, assessment: null };
  });
  return { outcome: outcome ? outcomeToWire(outcome) : null, calls };
}

/** @throws {ProtocolError} `no_such_run` if the run, or its spill file, is not there */
export async function readSpill(
  { runs, spill }: Pick<DaemonParts, 'runs' | 'spill'>,
  owner: Owner,
  { run_id: runId, offset, bytes }: RequestParams<'read_spill'>,
): Promise<object> {
  const refuse = (reason: string) =>
    new ProtocolError('no_such_run', `Cannot read the spill file of run ${JSON.stringify(runId)}: ${reason}`);
  const { outcome } = runs.find(owner, runId);
  if (!outcome?.spillPath) throw refuse('it has none');
  try {
    return await spill.read(outcome.spillPath, offset, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw refuse('it is gone');
    throw error;
  }
}
