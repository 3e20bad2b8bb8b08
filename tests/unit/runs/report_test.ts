// The report, exactly: headers of every kind, what was printed and what is left out, the rows of the ledger.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Kind, kindTable } from '../../../src/protocol/failures.ts';
import { type ReportParts, writeReport } from '../../../src/runs/report.ts';
import { callRecord, rawOf } from '../../helpers/call_parts.ts';

const parts = (changes: Partial<ReportParts> = {}): ReportParts => ({
  language: 'lua',
  kind: 'ok',
  message: '',
  traceback: undefined,
  recovery: undefined,
  warnings: [],
  output: '',
  droppedBytes: 0,
  reportChars: 30_000,
  spillPath: undefined,
  calls: [],
  callsLeftOut: 0,
  usage: { calls: 0, computeMs: 0 },
  ...changes,
});
const report = (changes: Partial<ReportParts> = {}): string => writeReport(parts(changes));

test('a report of success counts calls and compute', () => {
  const table: [number, number, string][] = [
    [0, 0, 'run_code ok (0 tool calls, 0.00s compute)\n'],
    [1, 4, 'run_code ok (1 tool call, 0.00s compute)\n'],
    [3, 420, 'run_code ok (3 tool calls, 0.42s compute)\n'],
    [1000, 123_456, 'run_code ok (1000 tool calls, 123.46s compute)\n'],
  ];
  for (const [calls, computeMs, text] of table) assert.equal(report({ usage: { calls, computeMs } }), text);
  assert.equal(
    report({ language: 'javascript', usage: { calls: 1, computeMs: 10 } }),
    'code_mode ok (1 tool call, 0.01s compute)\n',
  );
});

test('a report of each failure names its kind, and gives its advice', () => {
  for (const [kind, { recovery }] of Object.entries(kindTable)) {
    if (kind === 'ok') continue;
    const text = report({ kind: kind as Kind, message: 'it went wrong', recovery });
    assert.equal(
      text,
      recovery ? `run_code ${kind}: it went wrong\n\nrecovery: ${recovery}\n` : `run_code ${kind}: it went wrong\n`,
    );
    assert.ok(report({ kind: kind as Kind, message: 'm', language: 'javascript' }).startsWith(`code_mode ${kind}: m`));
  }
});

test('sections stand in their order, parted by empty lines', () => {
  assert.equal(
    report({
      kind: 'error',
      message: 'program:1: x',
      traceback: 'stack traceback:\n\tprogram:1: in main chunk',
      recovery: 'Read it',
      warnings: ['one', 'two\nlines'],
      output: 'printed\n',
      calls: [callRecord({ call: 1 })],
    }),
    [
      'run_code error: program:1: x',
      '',
      'stack traceback:',
      '\tprogram:1: in main chunk',
      '',
      'recovery: Read it',
      '',
      'warnings:',
      '  one',
      '  two lines',
      '',
      'output:',
      'printed',
      '',
      'calls:',
      '  1 read {} -> ok',
      '',
    ].join('\n'),
  );
});

test('output up to the cap is whole, and beyond it head and tail', () => {
  assert.equal(report({ output: 'x'.repeat(30), reportChars: 30 }).split('output:\n')[1], `${'x'.repeat(30)}\n`);
  const text = Array.from({ length: 100 }, (_, i) => String(i % 10)).join('');
  for (const most of [1, 2, 3, 10, 30, 31, 32, 50, 99]) {
    const shown = report({ output: text, reportChars: most }).split('output:\n')[1]!;
    const [head, note, tail] = shown.split('\n') as [string, string, string];
    assert.equal(head, text.slice(0, Math.ceil(most * 2 / 3)), `head of ${most}`);
    assert.equal(tail, text.slice(100 - Math.floor(most / 3)), `tail of ${most}`);
    assert.equal(head.length + tail.length, most);
    const missing = 100 - most;
    assert.equal(note, `[${missing} ${missing === 1 ? 'character' : 'characters'} left out]`);
  }
});

test('where the whole output is stands between head and tail', () => {
  const text = report({ output: 'x'.repeat(100), reportChars: 30, spillPath: '/state/spill/a.txt' });
  assert.ok(text.includes('\n[70 characters left out; the whole output is in /state/spill/a.txt]\n'));
  assert.ok(!report({ output: 'x', reportChars: 30, spillPath: '/state/spill/a.txt' }).includes('spill'));
});

test('a cut never leaves half of a pair of surrogates, and what is missing is counted', () => {
  for (let shift = 0; shift < 4; shift++) {
    const output = 'a'.repeat(shift) + '😀'.repeat(60);
    for (let most = 1; most < 60; most++) {
      const shown = report({ output, reportChars: most }).split('output:\n')[1]!;
      assert.ok(shown.isWellFormed(), `${shift} ${most}`);
      const [head, note, tail] = shown.split('\n') as [string, string, string];
      assert.ok(output.startsWith(head) && output.endsWith(tail));
      assert.equal(Number(/^\[(\d+) /.exec(note)![1]), output.length - head.length - tail.length);
    }
  }
});

test('bytes that were dropped are counted, one of them too', () => {
  assert.equal(
    report({ output: 'x', droppedBytes: 5 }).split('\n\n')[1],
    'output:\nx\n(5 more bytes were printed beyond the bound and dropped)\n',
  );
  assert.ok(
    report({ output: 'x', droppedBytes: 1 }).endsWith('\n(1 more byte was printed beyond the bound and dropped)\n'),
  );
  assert.ok(
    report({ output: '', droppedBytes: 7 }).includes('(7 more bytes were printed beyond the bound and dropped)'),
  );
});

test('one line end at the end of the output is not shown twice, others are kept', () => {
  assert.equal(report({ output: 'a\n' }), 'run_code ok (0 tool calls, 0.00s compute)\n\noutput:\na\n');
  assert.equal(report({ output: 'a\n\n' }), 'run_code ok (0 tool calls, 0.00s compute)\n\noutput:\na\n\n');
  assert.equal(report({ output: '\n' }), 'run_code ok (0 tool calls, 0.00s compute)\n\noutput:\n\n');
});

test('each outcome has its row', () => {
  const args = rawOf({ path: 'a.txt' });
  const rows: [Parameters<typeof callRecord>[0], string][] = [
    [{ call: 1, arguments: args, bytes: 12 }, '1 read {"path":"a.txt"} -> ok, 12 bytes'],
    [{ call: 2, arguments: args, bytes: 0 }, '2 read {"path":"a.txt"} -> ok'],
    [{ call: 3, class: 'edit', tool: 'write', bytes: 12 }, '3 write {} -> ok'],
    [{ call: 4, outcome: 'failed', message: 'no such file' }, '4 read {} -> failed: no such file'],
    [{ call: 5, outcome: 'denied', message: 'not\n  allowed\r\nhere' }, '5 read {} -> denied: not allowed here'],
    [{ call: 6, outcome: 'not_run', message: 'unknown' }, '6 read {} -> not run: unknown'],
    [{ call: 7, outcome: 'unknown' }, '7 read {} -> unknown'],
    [{ call: 8, outcome: 'failed', bytes: 5, message: '' }, '8 read {} -> failed'],
    [{ call: 9, outcome: 'failed', message: 'x'.repeat(400) }, `9 read {} -> failed: ${'x'.repeat(297)}...`],
    [{ call: 10, tool: 'a\nb'.repeat(60) }, `10 ${'a b'.repeat(60).slice(0, 97)}... {} -> ok`],
    [{ call: 11, bytes: 1 }, '11 read {} -> ok, 1 byte'],
    [
      { call: 12, message: 'the result of tool "read" has 11 bytes, and one result may have 10; ask it for less' },
      '12 read {} -> ok: the result of tool "read" has 11 bytes, and one result may have 10; ask it for less',
    ],
  ];
  const text = report({ calls: rows.map(([record]) => callRecord(record)) });
  assert.deepEqual(text.split('calls:\n')[1]!.trimEnd().split('\n'), rows.map(([, row]) => `  ${row}`));
});

test('long arguments are cut, and a line end in them is no line of the report', () => {
  const text = report({ calls: [callRecord({ call: 1, arguments: rawOf({ text: 'line\n'.repeat(500) }) })] });
  const row = text.split('calls:\n')[1]!;
  assert.equal(row.trimEnd().split('\n').length, 1);
  assert.ok(row.includes('{"text":"line\\nline\\n'));
  assert.equal(/ (\{.*) -> ok$/.exec(row.trimEnd())![1]!.length, 200);
});

test('calls without a row are counted, one of them too, and even where there are no rows', () => {
  const calls = [callRecord({ call: 1 })];
  assert.ok(report({ calls, callsLeftOut: 5 }).endsWith('\n  and 5 more calls that were not run\n'));
  assert.ok(report({ calls, callsLeftOut: 1 }).endsWith('\n  and 1 more call that was not run\n'));
  assert.match(report({ callsLeftOut: 2 }), /calls:\n {2}2 calls that were not run\n$/);
});
