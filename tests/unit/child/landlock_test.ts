// What is asked of Landlock by the version of its interface, and what is answered where a step fails. That it
// holds is shown by the attacks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Folders, restrict } from '../../../src/child/landlock.ts';
import type { Argument, Native, SystemCall } from '../../../src/runtime/native.ts';

type Asked = { call: string; bytes: bigint[] };

/** A kernel with the interface `version`, in which the calls in `failing` are refused. */
function restrictOn(version: number, folders: Folders, failing: Partial<Record<SystemCall, number>> = {}) {
  const asked: Asked[] = [];
  const call = (name: SystemCall | number, ...args: Argument[]) => {
    const buffer = args.find((argument) => argument instanceof Uint8Array);
    const size = name === 'landlock_create_ruleset' ? Number(args[1]) : 8;
    const view = buffer && buffer.length >= size ? new DataView(buffer.buffer) : undefined;
    const words = view ? Array.from({ length: size / 8 }, (_, index) => view.getBigUint64(index * 8, true)) : [];
    asked.push({ call: String(name), bytes: name === 'openat' ? [] : words });
    if (name === 'landlock_create_ruleset' && args[2] === 1) return version;
    return failing[name as SystemCall] ?? 9;
  };
  const native: Native = { architecture: 'x64', call, address: () => 0n, exit: () => assert.fail('exit') };
  return { answer: restrict({ native, ...folders }), asked };
}

const none: Folders = { readable: [], writable: [] };

for (
  const [version, handled] of [
    [1, [0x1fffn]],
    [2, [0x3fffn]],
    [3, [0x7fffn]],
    [4, [0x7fffn, 3n]],
    [5, [0xffffn, 3n]],
    [6, [0xffffn, 3n, 3n]],
    [7, [0xffffn, 3n, 3n]],
    [9, [0xffffn, 3n, 3n]],
  ] as const
) {
  test(`version ${version} is asked to handle all that it knows`, () => {
    const { answer, asked } = restrictOn(version, none);
    assert.equal(answer, 'on');
    assert.deepEqual(asked[1], { call: 'landlock_create_ruleset', bytes: [...handled] });
    assert.deepEqual(asked.slice(2).map(({ call }) => call), ['landlock_restrict_self', 'close']);
  });
}

test('a readable folder may be read and listed, a writable one changed too, neither executed', () => {
  const { answer, asked } = restrictOn(7, { readable: ['/a'], writable: ['/b'] });
  assert.equal(answer, 'on');
  const rights = asked.filter(({ call }) => call === 'landlock_add_rule').map(({ bytes }) => bytes[0]);
  assert.deepEqual(rights, [0b1100n, 0b111000110111110n]);
});

test('a step that fails is told and nothing is restricted', () => {
  const folders = { readable: ['/a'], writable: [] };
  const cases: [Partial<Record<SystemCall, number>>, string][] = [
    [{ landlock_create_ruleset: -7 }, 'the kernel answers errno 7 to a ruleset of interface version 7'],
    [{ openat: -2 }, 'cannot open "/a": errno 2'],
    [{ landlock_add_rule: -22 }, 'the kernel answers errno 22 to a rule for "/a"'],
    [{ landlock_restrict_self: -1 }, 'the kernel answers errno 1 to landlock_restrict_self'],
  ];
  for (const [failing, sentence] of cases) assert.equal(restrictOn(7, folders, failing).answer, sentence);
  assert.equal(restrictOn(-95, none).answer, 'the kernel answers errno 95 to landlock_create_ruleset');
});
