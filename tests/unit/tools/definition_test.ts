// The definition that an agent hands to its model: the limits in force, the tools there are, and a schema.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '../../../src/protocol/limits.ts';
import { makeCatalogue } from '../../../src/tools/catalogue.ts';
import { luaDefinition } from '../../../src/tools/definition.ts';
import { fakeTool } from '../../helpers/call_parts.ts';

const define = (names: string[], limits = defaultLimits('lua')) =>
  luaDefinition({ catalogue: makeCatalogue(names.map((name) => fakeTool(name))), limits, mostComputeMs: 120_000 });

test('the definition is one tool with a closed schema', () => {
  const { name, class: kind, input_schema: schema } = define(['a']);
  assert.deepEqual([name, kind], ['run_code', 'execute']);
  assert.deepEqual(schema, {
    type: 'object',
    additionalProperties: false,
    required: ['program'],
    properties: {
      program: { type: 'string', description: 'Lua source' },
      timeout_secs: { type: 'number', exclusiveMinimum: 0, maximum: 120, description: 'compute budget in seconds' },
      intent: { type: 'string', description: 'what the program is for, in a few words' },
    },
  });
});

test('the limits told are those in force', () => {
  const { description } = define([], {
    ...defaultLimits('lua'),
    calls: 7,
    compute_ms: 1500,
    wall_ms: 60_000,
    memory_bytes: 8 * 1024 * 1024,
  });
  assert.ok(description.includes('1.5 s of computing (timeout_secs, at most 120;'), description);
  assert.ok(description.includes(' 60 s in all, 7 calls, 8 MiB, 1 MiB for one result.'), description);
});

test('tools are named as a program has to write them, sixty at most', () => {
  assert.ok(define(['read_file', 'my-tool', 'a.b']).description.endsWith('Tools: read_file, ["my-tool"], ["a.b"].'));
  assert.ok(define([]).description.endsWith('No tools are offered at present.'));
  const many = Array.from({ length: 61 }, (_, i) => `t${i}`);
  assert.ok(define(many).description.endsWith('t59, and 1 more: wizard.tools() lists all.'));
  assert.ok(!define(many.slice(0, 60)).description.includes('more: wizard.tools()'));
});

test('a name that is a word of Lua is written in brackets', () => {
  assert.ok(define(['end', 'function', 'goto']).description.endsWith('Tools: ["end"], ["function"], ["goto"].'));
});

test('the definition says when to use it and when not, the three answers, and that a skill has to be printed', () => {
  const { description } = define(['a']);
  for (
    const words of [
      /three or more calls/,
      /Do not use it when/,
      /nil and a message/,
      /an error is raised/,
      /wizard\.call/,
      /skill/,
    ]
  ) {
    assert.match(description, words);
  }
});

test('small limits are told as numbers that read well', () => {
  const { description } = define([], { ...defaultLimits('lua'), memory_bytes: 1_500_000, result_bytes: 1000 });
  assert.ok(!/\d\.\d{4,}/.test(description), description);
});
