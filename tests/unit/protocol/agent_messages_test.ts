// What agents may ask: every request with each key wrong once, told by an exact sentence.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRequestName, readRequest, type RequestName, requests } from '../../../src/protocol/agent_messages.ts';
import { ProtocolError } from '../../../src/protocol/errors.ts';

function problem(method: RequestName, params: unknown): string {
  try {
    readRequest(method, params);
  } catch (error) {
    assert.ok(error instanceof ProtocolError);
    assert.equal(error.code, 'invalid_params');
    return error.message;
  }
  return 'accepted';
}

/** The least that each request takes. */
const least: Record<RequestName, Record<string, unknown>> = {
  hello: { protocol: 1, agent: 'a' },
  set_tools: { tools: [] },
  set_mode: { mode: 'plan' },
  run_code: { program: 'x' },
  cancel: { run_id: 'r' },
  run: { run_id: 'r' },
  read_spill: { run_id: 'r', offset: 0, bytes: 1 },
  runs: {},
  status: {},
};

test('each request takes what it must have, and everything that it may have', () => {
  for (const name of Object.keys(requests) as RequestName[]) {
    assert.deepEqual(readRequest(name, least[name]), least[name]);
  }
  const tool = {
    name: 't',
    description: 'd',
    input_schema: { type: 'object' },
    output_schema: true,
    class: 'edit',
    aliases: ['u'],
    paths: ['path'],
    idempotent: true,
    timeout_ms: 86_400_000,
  };
  const full = {
    protocol: 1,
    agent: 'a',
    session: 's',
    session_key: 'k',
    cwd: '/w',
    token: 't',
    mode: 'inspect',
    native_tool_calling: false,
    serves: ['before_tool', 'after_tool', 'assess_result'],
    tools: [tool, { name: 'u', input_schema: null, output_schema: null }],
    inventory: 'compact',
  };
  assert.deepEqual(readRequest('hello', full), full);
  const run = {
    program: Uint8Array.of(1),
    timeout_secs: 0.001,
    intent: 'i',
    turn: 't',
    run_id: 'a.b_c:d-9',
    cwd: '/w',
    limits: { calls: 3, compute_ms: 5 },
  };
  assert.deepEqual(readRequest('run_code', run), run);
  assert.deepEqual(readRequest('cancel', { run_id: 'r', reason: 'why' }), { run_id: 'r', reason: 'why' });
  for (const state of ['running', 'queued', 'ended']) assert.deepEqual(readRequest('runs', { state }), { state });
});

test('hello ignores keys that it does not know, its tools too; every other request refuses them', () => {
  assert.deepEqual(readRequest('hello', { protocol: 1, agent: 'a', later: 1 }), { protocol: 1, agent: 'a' });
  assert.equal(problem('hello', { protocol: 1, agent: 'a', tools: [{ name: 't', later: 1 }] }), 'accepted');
  for (const name of Object.keys(requests) as RequestName[]) {
    if (name === 'hello') continue;
    assert.equal(
      problem(name, { ...least[name], later: 1 }),
      `Cannot take ${name}: the parameters have no key "later"`,
    );
  }
  assert.equal(
    problem('run_code', { program: 'x', a: 1, b: 2 }),
    'Cannot take run_code: the parameters have no key "a", "b"',
  );
  assert.equal(
    problem('set_tools', { tools: [{ name: 't' }, { name: 'u', klass: 'read' }] }),
    'Cannot take set_tools: tools[1] has no key "klass"',
  );
});

test('parameters that are no map are refused by a sentence', () => {
  for (const [value, shown] of [[[], '[]'], ['x', '"x"'], [5, '5'], [null, 'null']] as const) {
    assert.equal(problem('status', value), `Cannot take status: the parameters: must be a map, got ${shown}`);
  }
});

test('each key that is wrong is told with what it must be and what it is', () => {
  const long = 'x'.repeat(257);
  const shown = `"${'x'.repeat(76)}...`;
  const table: [RequestName, Record<string, unknown>, string][] = [
    ['hello', { protocol: 'one' }, 'protocol: must be a number, got "one"'],
    ['hello', { protocol: 1.5 }, 'protocol: must be a whole number, got 1.5'],
    ['hello', { protocol: undefined }, 'protocol: must be a number, got nothing'],
    ['hello', { agent: undefined }, 'agent: must be text, got nothing'],
    ['hello', { agent: 5 }, 'agent: must be text, got 5'],
    ['hello', { agent: '' }, 'agent: must have at least 1 character, got ""'],
    ['hello', { agent: long }, `agent: must have at most 256 characters, got ${shown}`],
    ['hello', { session: '' }, 'session: must have at least 1 character, got ""'],
    ['hello', { session_key: long }, `session_key: must have at most 256 characters, got ${shown}`],
    ['hello', { cwd: [] }, 'cwd: must be text, got []'],
    ['hello', { token: 'x'.repeat(1025) }, `token: must have at most 1024 characters, got ${shown}`],
    ['hello', { mode: 'fast' }, 'mode: must be "normal", "plan" or "inspect", got "fast"'],
    ['hello', { native_tool_calling: 'yes' }, 'native_tool_calling: must be true or false, got "yes"'],
    ['hello', { serves: ['x'] }, 'serves[0]: must be "before_tool", "after_tool" or "assess_result", got "x"'],
    ['hello', { serves: 'before_tool' }, 'serves: must be a list, got "before_tool"'],
    ['hello', { tools: {} }, 'tools: must be a list, got {}'],
    ['hello', { tools: [5] }, 'tools[0]: must be a map, got 5'],
    ['hello', { tools: [{}] }, 'tools[0].name: must be text, got nothing'],
    [
      'hello',
      { tools: [{ name: 't', class: 'write' }] },
      'tools[0].class: must be "read", "edit", "execute" or "other", got "write"',
    ],
    ['hello', { tools: [{ name: 't', input_schema: 'x' }] }, 'tools[0].input_schema: must be a JSON Schema, got "x"'],
    ['hello', { tools: [{ name: 't', aliases: [1] }] }, 'tools[0].aliases[0]: must be text, got 1'],
    ['hello', { tools: [{ name: 't', timeout_ms: 0 }] }, 'tools[0].timeout_ms: must be at least 1, got 0'],
    [
      'hello',
      { tools: [{ name: 't', timeout_ms: 86_400_001 }] },
      'tools[0].timeout_ms: must be at most 86400000, got 86400001',
    ],
    ['hello', { tools: [{ name: 't', idempotent: 1 }] }, 'tools[0].idempotent: must be true or false, got 1'],
    ['hello', { inventory: 'small' }, 'inventory: must be "full" or "compact", got "small"'],
    ['set_mode', { mode: undefined }, 'mode: must be "normal", "plan" or "inspect", got nothing'],
    ['set_tools', { tools: undefined }, 'tools: must be a list, got nothing'],
    ['run_code', { program: undefined }, 'program: must be text or bytes, got nothing'],
    ['run_code', { program: 5 }, 'program: must be text or bytes, got 5'],
    ['run_code', { timeout_secs: 0 }, 'timeout_secs: must be more than 0, got 0'],
    ['run_code', { timeout_secs: '5' }, 'timeout_secs: must be a number, got "5"'],
    ['run_code', { run_id: '.a' }, 'run_id: must be 1 to 128 letters, digits, or any of . _ : -, got ".a"'],
    ['run_code', { run_id: 'a/b' }, 'run_id: must be 1 to 128 letters, digits, or any of . _ : -, got "a/b"'],
    ['run_code', { intent: 'x'.repeat(2001) }, `intent: must have at most 2000 characters, got ${shown}`],
    ['run_code', { turn: '' }, 'turn: must have at least 1 character, got ""'],
    ['run_code', { limits: 5 }, 'limits: must be a map, got 5'],
    ['run_code', { limits: { calls: 'x' } }, 'limits.calls: must be a number, got "x"'],
    ['cancel', { run_id: 5 }, 'run_id: must be text, got 5'],
    ['run', { run_id: undefined }, 'run_id: must be text, got nothing'],
    ['read_spill', { offset: -1 }, 'offset: must be at least 0, got -1'],
    ['read_spill', { offset: 2n ** 60n }, 'offset: must be a number, got 1152921504606846976'],
    ['read_spill', { bytes: 0 }, 'bytes: must be at least 1, got 0'],
    ['read_spill', { bytes: 4_194_305 }, 'bytes: must be at most 4194304, got 4194305'],
    ['runs', { state: 'old' }, 'state: must be "running", "queued" or "ended", got "old"'],
  ];
  const wrong: string[] = [];
  for (const [method, change, sentence] of table) {
    const told = problem(method, { ...least[method], ...change });
    if (told !== `Cannot take ${method}: ${sentence}`) wrong.push(`${told}\n   instead of: ${sentence}`);
  }
  assert.equal(wrong.length, 0, `\n${wrong.join('\n')}`);
});

test('a misspelt limit is told as such', () => {
  assert.equal(
    problem('run_code', { program: 'x', limits: { cals: 5 } }),
    'Cannot take run_code: limits has no key "cals"',
  );
});

test('at most five problems are told, and a long value is cut', () => {
  const told = problem('hello', { protocol: 'x', agent: 1, session: 1, session_key: 1, cwd: 1, token: 1 });
  assert.equal(told.split(';').length, 5);
  assert.ok(problem('hello', { protocol: 1, agent: { a: 'x'.repeat(1_000_000) } }).length < 200);
  const cyclicFree = problem('hello', { protocol: 1, agent: [2n ** 63n, new Uint8Array(3)] });
  assert.ok(cyclicFree.startsWith('Cannot take hello: agent: '), cyclicFree);
});

test('only the names of requests are names of requests', () => {
  for (const name of Object.keys(requests)) assert.equal(isRequestName(name), true);
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'code', '']) {
    assert.equal(isRequestName(name), false);
  }
});

test('a request with a key __proto__ is refused, and changes no prototype', () => {
  assert.equal(
    problem('runs', JSON.parse('{"__proto__": {"state": "old"}}')),
    'Cannot take runs: the parameters have no key "__proto__"',
  );
  assert.equal(({} as Record<string, unknown>).state, undefined);
});
