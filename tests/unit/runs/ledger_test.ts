// Rows of the ledger and what is gathered from them: bounds, counts and samples.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatherEvidence } from '../../../src/runs/evidence.ts';
import { Ledger } from '../../../src/runs/ledger.ts';
import { callsToWire, callToWire, contextToWire } from '../../../src/runs/outcome.ts';
import { RawValue } from '../../../src/protocol/outline.ts';
import { callRecord, rawOf } from '../../helpers/call_parts.ts';

const row = (call: number, args = rawOf({})) => ({ call, tool: 'x', class: 'other' as const, arguments: args });

test('a dispatched call is unknown until its answer is there, and all are kept', () => {
  const ledger = new Ledger();
  for (let i = 1; i <= 1000; i++) {
    const record = ledger.dispatch(row(i, new RawValue(new Uint8Array(5000))));
    assert.equal(record.outcome, 'unknown');
    assert.equal(record, ledger.records[i - 1]);
  }
  assert.deepEqual([ledger.records.length, ledger.dispatched, ledger.leftOut], [1000, 1000, 0]);
});

test('of refused calls the first hundred are kept, and the rest are counted', () => {
  const ledger = new Ledger();
  for (let i = 1; i <= 150; i++) ledger.refuse({ ...row(i), message: 'no' });
  ledger.dispatch(row(151));
  assert.deepEqual([ledger.records.length, ledger.leftOut, ledger.dispatched], [101, 50, 1]);
  assert.equal(ledger.records[99]!.outcome, 'not_run');
  assert.equal(ledger.records[100]!.call, 151);
});

test('a refused call with large arguments is kept without them', () => {
  const ledger = new Ledger();
  ledger.refuse({ ...row(1, new RawValue(new Uint8Array(4096))), message: 'no' });
  ledger.refuse({ ...row(2, new RawValue(new Uint8Array(4097))), message: 'no' });
  assert.deepEqual(ledger.records.map(({ arguments: args }) => args.bytes.length), [4096, 1]);
  assert.equal(ledger.leftOut, 0);
});

test('evidence counts outcomes, rows that were left out included', () => {
  const outcomes = ['ok', 'ok', 'failed', 'denied', 'not_run', 'unknown', 'unknown', 'unknown'] as const;
  const evidence = gatherEvidence(outcomes.map((outcome, i) => callRecord({ call: i + 1, outcome })), { notRun: 7 });
  assert.deepEqual(
    [evidence.succeeded, evidence.failed, evidence.denied, evidence.notRun, evidence.unknown],
    [2, 1, 1, 8, 3],
  );
  assert.deepEqual(evidence.actions[3], { call: 4, tool: 'read', outcome: 'denied' });
});

test('at most a hundred actions are shown', () => {
  const records = Array.from({ length: 101 }, (_, i) => callRecord({ call: i + 1 }));
  const { actions, succeeded } = gatherEvidence(records, { notRun: 0 });
  assert.deepEqual([actions.length, actions.at(-1)?.call, succeeded], [100, 100, 101]);
  assert.equal(gatherEvidence(records.slice(0, 100), { notRun: 0 }).actions.length, 100);
});

test('changed paths are shown once each, fifty at most, and counted up to a thousand', () => {
  const paths = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `p${from + i}`);
  const table: [string[][], [number, number, boolean]][] = [
    [[[]], [0, 0, false]],
    [[['a', 'b'], ['b', 'a', 'c']], [3, 3, false]],
    [[paths(0, 50)], [50, 50, false]],
    [[paths(0, 51)], [50, 51, false]],
    [[paths(0, 1000)], [50, 1000, false]],
    [[paths(0, 1000), paths(0, 1000)], [50, 1000, false]],
    [[paths(0, 1000), ['one more']], [50, 1000, true]],
  ];
  for (const [lists, expected] of table) {
    const { changedPaths, changedPathCount, changedPathsIncomplete } = gatherEvidence(
      lists.map((changed, i) => callRecord({ call: i + 1, changedPaths: changed })),
      { notRun: 0 },
    );
    assert.deepEqual([changedPaths.length, changedPathCount, changedPathsIncomplete], expected);
  }
});

test('a call of unknown outcome makes the changed paths incomplete, unless it only reads', () => {
  for (const [kind, incomplete] of [['read', false], ['edit', true], ['execute', true], ['other', true]] as const) {
    const record = callRecord({ call: 1, class: kind, outcome: 'unknown' });
    assert.equal(gatherEvidence([record], { notRun: 0 }).changedPathsIncomplete, incomplete);
    assert.equal(gatherEvidence([{ ...record, outcome: 'failed' }], { notRun: 0 }).changedPathsIncomplete, false);
  }
});

test('a row on the wire has the keys of the protocol', () => {
  const record = callRecord({
    call: 2,
    tool: 't',
    outcome: 'failed',
    bytes: 3,
    ms: 1.23456,
    message: 'no',
    context: ['a', 'b'],
  });
  assert.deepEqual(callToWire(record), {
    call: 2,
    tool: 't',
    arguments: record.arguments,
    outcome: 'failed',
    bytes: 3,
    ms: 1.235,
    message: 'no',
  });
  assert.equal(callToWire(callRecord({ call: 1 })).message, null);
  assert.deepEqual(contextToWire([record, callRecord({ call: 3 }), callRecord({ call: 4, context: ['c'] })]), [
    { call: 2, text: 'a' },
    { call: 2, text: 'b' },
    { call: 4, text: 'c' },
  ]);
});

test('arguments that together are too large are left out of an outcome, with their size', () => {
  const MiB = 1024 * 1024;
  const records = [1, 2, 3, 4].map((call) =>
    callRecord({ call, arguments: new RawValue(new Uint8Array(call === 4 ? 10 : 2 * MiB)) })
  );
  const wire = callsToWire(records) as { arguments: unknown; arguments_omitted_bytes?: number }[];
  assert.deepEqual(wire.map((call) => call.arguments_omitted_bytes), [undefined, undefined, 2 * MiB, 10]);
  assert.deepEqual(wire[2]!.arguments, {});
});
