// What a program printed: held, spilled and put into its outcome, within bounds and with disks that fail.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { defaultLimits } from '../../../src/protocol/limits.ts';
import { decode } from '../../../src/protocol/wire.ts';
import { composeOutcome, type RunEnd } from '../../../src/runs/compose.ts';
import { Ledger } from '../../../src/runs/ledger.ts';
import { outcomeToWire } from '../../../src/runs/outcome.ts';
import { Printed } from '../../../src/runs/printed.ts';
import type { RunRequest } from '../../../src/runs/run_request.ts';
import { SpillFolder } from '../../../src/runs/spill.ts';
import { makeCatalogue } from '../../../src/tools/catalogue.ts';

const MiB = 1024 * 1024;
const text = (value: string) => new TextEncoder().encode(value);

async function withFolder(use: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'output-'));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('what is printed is held up to its bound, and counted beyond', () => {
  const printed = new Printed(10);
  printed.add(text('1234'));
  printed.add(text('567890'));
  assert.deepEqual([printed.heldBytes, printed.droppedBytes], [10, 0]);
  printed.add(text('abc'));
  printed.add(text(''));
  assert.deepEqual([printed.heldBytes, printed.droppedBytes], [10, 3]);
  assert.equal(new TextDecoder().decode(printed.bytes()), '1234567890');
  const partly = new Printed(5);
  partly.add(text('1234567'));
  assert.equal(new TextDecoder().decode(partly.bytes()), '12345');
  assert.equal(partly.droppedBytes, 2);
});

test('what is held is a copy, and its tail is its end', () => {
  const printed = new Printed(100);
  const chunk = text('abc');
  printed.add(chunk);
  chunk.fill(0);
  printed.add(text('defg'));
  printed.add(text('hi'));
  assert.equal(new TextDecoder().decode(printed.bytes()), 'abcdefghi');
  for (const [most, tail] of [[0, ''], [1, 'i'], [3, 'ghi'], [9, 'abcdefghi'], [50, 'abcdefghi']] as const) {
    assert.equal(new TextDecoder().decode(printed.tail(most)), tail);
  }
});

test('a spill file is private, whole, and read by offset', async () => {
  await withFolder(async (folder) => {
    const spill = new SpillFolder(folder);
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
    const file = await spill.write('key', bytes);
    assert.equal(file, path.join(folder, 'spill', 'key.txt'));
    assert.deepEqual(Uint8Array.from(readFileSync(file)), bytes);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(path.dirname(file)).mode & 0o777, 0o700);
    const table: [number, number, number, number | null][] = [
      [0, 1000, 1000, null],
      [0, 999, 999, 999],
      [0, 1, 1, 1],
      [999, 1, 1, null],
      [999, 50, 1, null],
      [500, 100, 100, 600],
      [1000, 10, 0, null],
      [5000, 10, 0, null],
    ];
    for (const [offset, count, length, next] of table) {
      const read = await spill.read(file, offset, count);
      assert.deepEqual([read.data.length, read.next], [length, next], `${offset} ${count}`);
      assert.deepEqual(read.data, bytes.slice(offset, offset + length));
    }
    await spill.remove(file);
    await spill.remove(file);
    await assert.rejects(spill.read(file, 0, 1), { code: 'ENOENT' });
  });
});

test('a file that is already there is never overwritten or followed, and stays', async () => {
  await withFolder(async (folder) => {
    const spill = new SpillFolder(folder);
    const first = await spill.write('key', text('first'));
    await assert.rejects(spill.write('key', text('second')), { code: 'EEXIST' });
    assert.equal(readFileSync(first, 'utf8'), 'first');
    const victim = path.join(folder, 'victim');
    symlinkSync(victim, path.join(folder, 'spill', 'link.txt'));
    await assert.rejects(spill.write('link', text('x')), { code: 'EEXIST' });
    assert.throws(() => statSync(victim));
  });
});

type Wire = ReturnType<typeof outcomeToWire>;

async function outcomeOf(
  output: Uint8Array,
  folder: string,
  changes: { reportChars?: number; printedBytes?: number } = {},
): Promise<Wire> {
  const limits = { ...defaultLimits('lua'), ...(changes.reportChars ? { report_chars: changes.reportChars } : {}) };
  const request: RunRequest = {
    runId: 'r',
    language: 'lua',
    source: text(''),
    intent: undefined,
    turn: 't',
    cwd: undefined,
    limits,
    catalogue: makeCatalogue([]),
    origin: 'o',
    progressed: () => {},
  };
  const printed = new Printed(changes.printedBytes ?? limits.printed_bytes);
  printed.add(output);
  const end: RunEnd = {
    request,
    ending: { kind: 'ok', message: '', traceback: undefined, stoppedBy: 'itself' },
    printed,
    ledger: new Ledger(),
    usage: { computeMs: 1, cpuMs: 2, wallMs: 3, memoryBytes: 4 },
    warnings: [],
  };
  return outcomeToWire(await composeOutcome(end, new SpillFolder(folder)));
}

test('output that the report shows whole has no spill file', async () => {
  await withFolder(async (folder) => {
    const outcome = await outcomeOf(text('short'), folder, { reportChars: 5 });
    assert.deepEqual([outcome.spill_path, outcome.output_truncated, decode(outcome.output.bytes)], [
      null,
      false,
      'short',
    ]);
    assert.deepEqual(readdirSync(folder), []);
  });
});

test('output beyond the cap of the report is whole in the spill file that it names', async () => {
  await withFolder(async (folder) => {
    const outcome = await outcomeOf(text('longer'), folder, { reportChars: 5 });
    assert.equal(readFileSync(outcome.spill_path!, 'utf8'), 'longer');
    assert.ok(outcome.report.includes(`; the whole output is in ${outcome.spill_path}]`));
    assert.deepEqual([outcome.output_truncated, decode(outcome.output.bytes)], [false, 'longer']);
  });
});

test('a spill file that cannot be written costs the file, and the outcome says so', async () => {
  await withFolder(async (folder) => {
    const blocked = path.join(folder, 'blocked');
    writeFileSync(blocked, 'a file where a folder must be');
    const outcome = await outcomeOf(text('longer'), blocked, { reportChars: 5 });
    assert.equal(outcome.spill_path, null);
    assert.equal(outcome.warnings.length, 1);
    assert.match(outcome.warnings[0]!, /^the whole output could not be written to a file: ENOTDIR/);
    assert.ok(outcome.report.includes('warnings:\n  the whole output could not be written to a file: '));
    assert.equal(outcome.kind, 'ok');
  });
});

test('output as data is the first mebibyte, and text as long as it is text', async () => {
  await withFolder(async (folder) => {
    const ascii = await outcomeOf(text('x'.repeat(MiB + 10)), folder);
    assert.deepEqual([ascii.output_truncated, (decode(ascii.output.bytes) as string).length], [true, MiB]);
    for (let shift = 0; shift < 3; shift++) {
      const outcome = await outcomeOf(text('a'.repeat(shift) + '€'.repeat(500_000)), folder);
      const output: unknown = decode(outcome.output.bytes);
      assert.equal(typeof output, 'string', `shifted by ${shift}`);
      assert.match((output as string).slice(-3), /^€€€$/);
    }
    const binary = await outcomeOf(Uint8Array.of(0xff, 0xfe), folder);
    assert.deepEqual([...decode(binary.output.bytes)], [0xff, 0xfe]);
  });
});

test('output that was dropped is told as truncated, and counted in the usage', async () => {
  await withFolder(async (folder) => {
    const outcome = await outcomeOf(text('0123456789'), folder, { printedBytes: 4 });
    assert.deepEqual([outcome.output_truncated, outcome.usage.printed_bytes, decode(outcome.output.bytes)], [
      true,
      10,
      '0123',
    ]);
    assert.ok(outcome.report.includes('(6 more bytes were printed beyond the bound and dropped)'));
  });
});

test('an outcome has every key of the protocol', async () => {
  await withFolder(async (folder) => {
    const outcome = await outcomeOf(text('x'), folder);
    assert.deepEqual(
      Object.keys(outcome).sort(),
      [
        'calls',
        'clock',
        'context',
        'evidence',
        'exhausted',
        'fault',
        'kind',
        'language',
        'limits',
        'message',
        'output',
        'output_truncated',
        'recovery',
        'report',
        'response_tokens',
        'run_id',
        'spill_path',
        'stopped_by',
        'traceback',
        'usage',
        'warnings',
      ].sort(),
    );
  });
});
