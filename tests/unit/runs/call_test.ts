// The pipeline of one call with scripted tools: each refusal, each bound, and the row that each leaves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { carryOut } from '../../../src/runs/call.ts';
import { forbiddenNames } from '../../../src/tools/names.ts';
import { denied, failed, notRun, succeeded, type ToolRequest } from '../../../src/tools/provider.ts';
import { decode, encode } from '../../../src/protocol/wire.ts';
import { callParts, fakeTool, rawOf } from '../../helpers/call_parts.ts';
import { until } from '../../helpers/until.ts';

const asked = (tool: string, args: unknown = {}, call = 1) => ({
  call,
  tool,
  structured: true,
  arguments: encode(args),
});

function answerOf(end: Awaited<ReturnType<typeof carryOut>>) {
  assert.ok('answer' in end, JSON.stringify(end));
  return end.answer;
}

test('a call goes to its provider with everything that belongs to it, and its answer to the program', async () => {
  const seen: ToolRequest[] = [];
  const tool = fakeTool('read', {
    class: 'read',
    call: (request) => {
      seen.push(request);
      return Promise.resolve(succeeded({ content: rawOf('text'), changedPaths: ['a'], context: ['note'] }));
    },
  });
  const { context, ledger, opened, closed } = callParts([tool]);
  const answer = answerOf(await carryOut(asked('read', { path: 'x' }, 3), context));
  assert.equal(decode(answer.content!.bytes), 'text');
  const { signal, arguments: args, ...rest } = seen[0]!;
  assert.deepEqual(rest, {
    runId: 'run',
    call: 3,
    tool: 'read',
    class: 'read',
    turn: 'turn',
    intent: 'why',
    cwd: '/work',
    maxBytes: 1_048_576,
  });
  assert.deepEqual(decode(args.bytes), { path: 'x' });
  assert.equal(signal.aborted, false);
  assert.deepEqual([opened.length, closed.length], [1, 1]);
  const row = ledger.records[0]!;
  assert.deepEqual(
    [row.call, row.tool, row.outcome, row.bytes, row.message, row.changedPaths, row.context],
    [3, 'read', 'ok', 4, undefined, ['a'], ['note']],
  );
  assert.equal(ledger.resultBytes, 4);
});

test('a name that is not known is refused with the nearest ones, and costs no call', async () => {
  const { context, ledger, opened } = callParts([fakeTool('read_file'), fakeTool('write_file', { aliases: ['save'] })]);
  const table: [string, string][] = [
    ['read_fil', 'Cannot call tool "read_fil": there is no such tool; did you mean "read_file"'],
    ['Read-File', 'Cannot call tool "Read-File": there is no such tool; did you mean "read_file"'],
    ['sav', 'Cannot call tool "sav": there is no such tool; did you mean "save"'],
    ['zzzzzzzz', 'Cannot call tool "zzzzzzzz": there is no such tool; wizard.tools() lists the tools there are'],
    ['__proto__', 'Cannot call tool "__proto__": there is no such tool; wizard.tools() lists the tools there are'],
  ];
  for (const [name, message] of table) {
    const answer = answerOf(await carryOut(asked(name), context));
    assert.deepEqual([answer.status, answer.message], ['not_run', message]);
  }
  assert.deepEqual([ledger.dispatched, ledger.records.length, opened.length], [0, table.length, 0]);
  assert.ok(ledger.records.every(({ outcome }) => outcome === 'not_run'));
});

test('names that programs may never call are refused, by themselves, by an alias, and as an alias', async () => {
  const names = [...forbiddenNames];
  const { context, ledger } = callParts([
    ...names.map((name) => fakeTool(name, { aliases: [`alias_of_${name}`] })),
    fakeTool('harmless'),
  ]);
  for (const name of names) {
    for (const used of [name, `alias_of_${name}`]) {
      const answer = answerOf(await carryOut(asked(used), context));
      assert.equal(answer.status, 'not_run');
      assert.equal(answer.message, `Cannot call tool "${used}": it is never callable from a program; call it directly`);
    }
  }
  assert.equal(ledger.dispatched, 0);

  const undercover = callParts(names.map((name, i) => fakeTool(`tool${i}`, { aliases: [name] })));
  for (const name of names) {
    const answer = answerOf(await carryOut(asked(name), undercover.context));
    assert.equal(answer.message, `Cannot call tool "${name}": it is never callable from a program; call it directly`);
  }
});

test('an alias reaches its tool, whose name is in the row', async () => {
  const { context, ledger } = callParts([fakeTool('write_file', { aliases: ['save'] })]);
  assert.equal(answerOf(await carryOut(asked('save'), context)).status, 'ok');
  assert.equal(ledger.records[0]!.tool, 'write_file');
});

test('arguments that the schema refuses are not run, and cost no call', async () => {
  const schema = rawOf({ type: 'object' });
  const { context, ledger, opened } = callParts([fakeTool('read', { inputSchema: schema, aliases: ['r'] })], {
    checkArguments: (given, args) => {
      assert.equal(given, schema);
      assert.deepEqual(decode(args), { path: 5 });
      return Promise.resolve({ ok: false, message: '/path must be string, got 5' });
    },
  });
  const answer = answerOf(await carryOut(asked('r', { path: 5 }), context));
  assert.deepEqual([answer.status, answer.message], [
    'not_run',
    'Cannot call tool "read": /path must be string, got 5',
  ]);
  assert.deepEqual([ledger.dispatched, opened.length, ledger.records[0]!.tool], [0, 0, 'read']);
});

test('empty tables become lists where the schema says so, in what is sent and in the row', async () => {
  const args = encode({ a: {}, b: {} });
  const original = args.slice();
  const seen: unknown[] = [];
  const tool = fakeTool('x', {
    inputSchema: rawOf({}),
    call: ({ arguments: { bytes } }) => (seen.push(decode(bytes)), Promise.resolve(succeeded({}))),
  });
  const { context, ledger } = callParts([tool], {
    checkArguments: () => Promise.resolve({ ok: true, emptyArrays: [3] }),
  });
  await carryOut({ ...asked('x'), arguments: args }, context);
  assert.deepEqual(seen, [{ a: [], b: {} }]);
  assert.deepEqual(decode(ledger.records[0]!.arguments.bytes), { a: [], b: {} });
  assert.deepEqual(args.slice(), original);
});

test('one call more than the limit is final, and refused calls do not count', async () => {
  const { context, ledger } = callParts([fakeTool('x')], { lower: { calls: 2 } });
  await carryOut(asked('unknown'), context);
  for (let i = 1; i <= 2; i++) assert.equal(answerOf(await carryOut(asked('x', {}, i), context)).status, 'ok');
  assert.deepEqual(await carryOut(asked('x', {}, 3), context), {
    final: {
      kind: 'calls',
      message: 'the program made more than 2 tool calls',
      exhausted: { name: 'calls', used: 2, limit: 2, requested: 3 },
    },
  });
  assert.equal(ledger.dispatched, 2);
});

test('each status of a provider is the outcome of the row', async () => {
  for (
    const [answer, outcome, message] of [
      [failed('no such file'), 'failed', 'no such file'],
      [denied('not allowed'), 'denied', 'not allowed'],
      [notRun('gone'), 'not_run', 'gone'],
      [succeeded({}), 'ok', undefined],
    ] as const
  ) {
    const { context, ledger } = callParts([fakeTool('x', { call: () => Promise.resolve(answer) })]);
    assert.equal(answerOf(await carryOut(asked('x'), context)).status, answer.status);
    assert.deepEqual([ledger.records[0]!.outcome, ledger.records[0]!.message], [outcome, message]);
  }
});

test('a provider that throws, at once or later, is a failure of its call', async () => {
  for (
    const call of [() => Promise.reject(new Error('a bug')), () => {
      throw new Error('a bug');
    }]
  ) {
    const { context, ledger, closed } = callParts([fakeTool('x', { call })]);
    const answer = answerOf(await carryOut(asked('x'), context));
    assert.deepEqual([answer.status, answer.message], ['failed', 'tool "x" failed: a bug']);
    assert.deepEqual([ledger.records[0]!.outcome, closed.length], ['failed', 1]);
  }
});

test('a result at its bound is given, one byte more is an error of that call only', async () => {
  const lower = { result_bytes: 10 };
  const exact = callParts(
    [fakeTool('x', { call: () => Promise.resolve(succeeded({ content: rawOf('0123456789') })) })],
    { lower },
  );
  assert.equal(answerOf(await carryOut(asked('x'), exact.context)).status, 'ok');
  const over = callParts([
    fakeTool('x', { call: () => Promise.resolve(succeeded({ content: rawOf('0123456789a'), changedPaths: ['p'] })) }),
  ], { lower });
  const answer = answerOf(await carryOut(asked('x'), over.context));
  assert.deepEqual(
    [answer.status, answer.message, answer.content],
    ['failed', 'the result of tool "x" has 11 bytes, and one result may have 10; ask it for less', undefined],
  );
  const row = over.ledger.records[0]!;
  assert.deepEqual([row.message, row.bytes, row.content, row.changedPaths], [answer.message, 0, undefined, ['p']]);
  assert.equal(over.ledger.resultBytes, 0);
});

test('all that a program gets of a result counts: text, structured value, message', async () => {
  const big = rawOf({ text: 'x'.repeat(100) });
  const table = [
    succeeded({ content: rawOf('x'.repeat(100)) }),
    succeeded({ structured: big }),
    succeeded({ content: rawOf('short'), structured: big }),
    { ...failed('m'), content: rawOf('x'.repeat(100)) },
    failed('€'.repeat(40)),
    notRun('x'.repeat(100)),
  ];
  for (const [i, answer] of table.entries()) {
    const { context } = callParts([fakeTool('x', { call: () => Promise.resolve(answer) })], {
      lower: { result_bytes: 90 },
    });
    const given = answerOf(await carryOut(asked('x'), context));
    assert.match(
      given.message,
      /^the result of tool "x" has \d+ bytes, and one result may have 90; ask it for less$/,
      `answer ${i}`,
    );
  }
});

test('results of all calls beyond their limit are final', async () => {
  const tool = fakeTool('x', { call: () => Promise.resolve(succeeded({ content: rawOf('x'.repeat(40)) })) });
  const { context, ledger } = callParts([tool], { lower: { total_result_bytes: 100 } });
  await carryOut(asked('x', {}, 1), context);
  await carryOut(asked('x', {}, 2), context);
  assert.deepEqual(await carryOut(asked('x', {}, 3), context), {
    final: {
      kind: 'results',
      message: 'the results of all calls together passed 100 bytes',
      exhausted: { name: 'total_result_bytes', used: 80, limit: 100, requested: 120 },
    },
  });
  assert.equal(ledger.resultBytes, 80);
  assert.equal(ledger.records[2]!.outcome, 'ok');
});

test('a call that gives no answer in time fails, its row stays unknown, and its provider is told', async () => {
  for (const [timeoutMs, waits] of [[undefined, 5000], [70, 70]] as const) {
    let told: unknown;
    const tool = fakeTool('slow', {
      timeoutMs,
      call: ({ signal }) =>
        new Promise(() => signal.addEventListener('abort', () => told = (signal.reason as Error).message)),
    });
    const { context, ledger, clock, opened, closed } = callParts([tool]);
    const end = carryOut(asked('slow'), context);
    await until(() => opened.length === 1);
    clock.advance(waits - 1);
    assert.equal(told, undefined);
    clock.advance(1);
    const answer = answerOf(await end);
    assert.deepEqual([answer.status, answer.message], [
      'failed',
      'tool "slow" gave no answer in time; it may still be running',
    ]);
    assert.equal(told, `no answer within ${waits} ms`);
    const row = ledger.records[0]!;
    assert.deepEqual([row.outcome, row.message, row.ms, closed.length], ['unknown', answer.message, waits, 1]);
  }
});

test('an answer, or an error, that comes after the time changes nothing', async () => {
  for (const late of ['answer', 'error']) {
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof succeeded>>();
    const { context, ledger, clock, opened } = callParts([fakeTool('slow', { call: () => promise })]);
    const end = carryOut(asked('slow'), context);
    await until(() => opened.length === 1);
    clock.advance(5000);
    await end;
    if (late === 'answer') resolve(succeeded({ content: rawOf('x') }));
    else reject(new Error('late'));
    await promise.catch(() => {});
    assert.deepEqual([ledger.records[0]!.outcome, ledger.resultBytes], ['unknown', 0]);
  }
});

test('the end of the run reaches the provider', async () => {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof succeeded>>();
  let aborted = false;
  const tool = fakeTool('x', {
    call: ({ signal }) => (signal.addEventListener('abort', () => aborted = true), promise),
  });
  const { context, opened, stopping, clock } = callParts([tool]);
  const end = carryOut(asked('x'), context);
  await until(() => opened.length === 1);
  stopping.abort(new Error('the run has ended'));
  assert.equal(aborted, true);
  resolve(succeeded({}));
  await end;
  assert.deepEqual(clock.armed, []);
});
