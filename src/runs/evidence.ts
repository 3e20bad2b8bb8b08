// What a run demonstrably did, gathered from its ledger. Samples are capped, counts are not.

import type { CallOutcome, CallRecord, Evidence } from './outcome.ts';

const mostActions = 100;
const mostPathsShown = 50;
const mostPathsCounted = 1000;

/** @param left counts of rows that the ledger did not keep */
export function gatherEvidence(records: readonly CallRecord[], left: { readonly notRun: number }): Evidence {
  const count = (outcome: CallOutcome) => records.filter((record) => record.outcome === outcome).length;
  const paths = new Set<string>();
  let incomplete = false;
  for (const record of records) {
    // A call of unknown outcome may have changed what it never told.
    if (record.outcome === 'unknown' && record.class !== 'read') incomplete = true;
    for (const path of record.changedPaths) {
      if (paths.size < mostPathsCounted) paths.add(path);
      else if (!paths.has(path)) incomplete = true;
    }
  }
  return {
    succeeded: count('ok'),
    failed: count('failed'),
    denied: count('denied'),
    notRun: count('not_run') + left.notRun,
    unknown: count('unknown'),
    actions: records.slice(0, mostActions).map(({ call, tool, outcome }) => ({ call, tool, outcome })),
    changedPaths: [...paths].slice(0, mostPathsShown),
    changedPathCount: paths.size,
    changedPathsIncomplete: incomplete,
  };
}
