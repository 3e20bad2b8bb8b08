// Schemas made to hang or to fill whoever reads them: an error of their sender, a moment at most for others.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from '../../src/client/client.ts';
import type { AgentTools, JsonSchema } from '../../src/client/messages.ts';
import { TestDaemon } from '../helpers/daemon.ts';

let daemon: TestDaemon;
let bystander: Client;
const plain: AgentTools = {
  add: {
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'integer' }, list: { type: 'array', items: { type: 'string' } } },
      additionalProperties: false,
    },
    handler: ({ a, list }) => JSON.stringify([a ?? null, list ?? null]),
  },
};

before(async () => {
  daemon = await TestDaemon.start();
  bystander = await daemon.connect(plain);
  await bystander.runCode('tool.add{a = 1}');
});
after(async () => {
  await bystander.close();
  await daemon[Symbol.asyncDispose]();
});

const withSchema = (inputSchema: JsonSchema): AgentTools => ({ hostile: { inputSchema, handler: () => 'called' } });

/** The longest that a call of somebody else took while `work` went on, in milliseconds. */
async function longestForOthers(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  let done = false;
  const ended = work.then(() => done = true, () => done = true);
  do {
    const from = performance.now();
    const outcome = await bystander.runCode('print(tool.add{a = 1, list = {}})');
    assert.equal(outcome.output, '[1,[]]\n', outcome.report);
    longest = Math.max(longest, performance.now() - from);
  } while (!done);
  await ended;
  return longest;
}

/** A moment on a machine that others use too: the bench has the figures. */
const momentMs = 2500;

const doubling = (levels: number, keyword: string): JsonSchema => {
  const definitions: Record<string, unknown> = { d0: { type: 'string', pattern: 'never' } };
  for (let i = 1; i <= levels; i++) {
    const below = { properties: { x: { $ref: `#/$defs/d${i - 1}` } }, required: ['x'] };
    definitions[`d${i}`] = { [keyword]: [below, { ...below, minProperties: 1 }] };
  }
  return { $ref: `#/$defs/d${levels}`, $defs: definitions };
};

const refusedAtOnce: Record<string, JsonSchema> = {
  'ten thousand properties': {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, { type: 'string' }])),
  },
  'a pattern that repeats a million times': {
    type: 'object',
    properties: { a: { type: 'string', pattern: '(a{1000}){1000}' } },
  },
  'a schema that refers to itself only': { $ref: '#' },
  'a schema of another host': { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/schema.json' } } },
  'a schema that is none': { type: 'objekt' },
};

for (const [name, schema] of Object.entries(refusedAtOnce)) {
  test(`${name} is an error of its sender and delays nobody`, async () => {
    const refused = assert.rejects(daemon.connect(withSchema(schema)), (error: { code?: string; message: string }) => {
      assert.equal(error.code, 'invalid_params', error.message);
      assert.match(error.message, /^Cannot take tool "hostile": /);
      return true;
    });
    assert.ok(await longestForOthers(refused) < momentMs);
    await refused;
  });
}

test('a catastrophic pattern is matched in linear time', async () => {
  await using agent = await daemon.connect(
    withSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }),
  );
  const running = agent.runCode('print(pcall(tool.hostile, {a = string.rep("a", 50000) .. "!"}))');
  assert.ok(await longestForOthers(running) < momentMs);
  const { output, kind } = await running;
  assert.equal(kind, 'ok');
  assert.match(output as string, /^false\tCannot call tool "hostile": arguments\.a must match/);
});

for (const keyword of ['anyOf', 'oneOf']) {
  test(`alternatives that double at each level by ${keyword} end as an error of the call`, async () => {
    const deep = Array.from({ length: 26 }).reduce<string>((inner) => `{x = ${inner}}`, '"no"');
    const running = daemon.connect(withSchema(doubling(26, keyword))).then(async (agent) => {
      await using own = agent;
      return (await own.runCode(`print(pcall(tool.hostile, ${deep}))`)).output as string;
    }, (error: Error) => error.message);
    assert.ok(await longestForOthers(running) < momentMs);
    assert.match(await running, /Cannot (call|take) tool "hostile": /);
  });
}

test('arguments that are costly against an innocent schema delay nobody', async () => {
  await using agent = await daemon.connect(
    withSchema({
      type: 'object',
      properties: { rows: { type: 'array', uniqueItems: true, items: { type: 'object' } } },
    }),
  );
  const running = agent.runCode(
    'local t = {} for i = 1, 20000 do t[i] = {a = {i % 7, {b = 1}}, c = "x"} end print(pcall(tool.hostile, {rows = t}))',
  );
  assert.ok(await longestForOthers(running) < momentMs);
  assert.equal((await running).kind, 'ok');
});

test('names of prototypes in schemas and arguments are ordinary names', async () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"type":"string"}},"additionalProperties":false}',
  );
  await using agent = await daemon.connect({
    odd: { inputSchema: schema, handler: (args: object) => JSON.stringify(Object.entries(args)) },
  });
  const outcome = await agent.runCode(
    'print(tool.odd{["__proto__"] = 5, constructor = "c"}) print(pcall(tool.odd, {["__proto__"] = "x"})) print(pcall(tool.odd, {toString = 1}))',
  );
  const lines = (outcome.output as string).split('\n');
  assert.equal(lines[0], '[["__proto__",5],["constructor","c"]]');
  assert.match(lines[1]!, /arguments\.__proto__ must be integer, got string "x"$/);
  assert.match(lines[2]!, /arguments has no property "toString"/);
});
