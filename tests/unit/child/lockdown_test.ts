// The lock-up against a kernel that lacks parts of it: every part is applied, reported in words, never thrown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockDown, lockdownParts } from '../../../src/child/lockdown.ts';
import { installFilter } from '../../../src/child/seccomp.ts';
import type { Argument, Native, SystemCall } from '../../../src/runtime/native.ts';

const ENOSYS = -38;
const parentPid = 77;

type Answers = Partial<Record<SystemCall, number | ((...args: Argument[]) => number)>>;

/** A kernel that answers as told and 0 otherwise, and the calls that it was asked for. */
function pretend(answers: Answers): { native: Native; asked: string[] } {
  const asked: string[] = [];
  const known: Answers = { getppid: parentPid, getpgid: -1, openat: 20, epoll_create1: 21, ...answers };
  const native: Native = {
    architecture: 'x64',
    call: (name, ...args) => {
      asked.push(String(name));
      const answer = known[name as SystemCall] ?? 0;
      return typeof answer === 'function' ? answer(...args) : answer;
    },
    address: () => 4096n,
    exit: (code) => {
      throw new Error(`exit ${code}`);
    },
  };
  return { native, asked };
}

const options = { parentPid, keep: [3], limits: { dataBytes: 2 ** 30 } } as const;

test('a host that has everything answers on for every part', () => {
  const { native } = pretend({});
  assert.deepEqual(lockDown({ native, ...options }), Object.fromEntries(lockdownParts.map((part) => [part, 'on'])));
});

test('a host that lacks everything is told so part by part', () => {
  const { native } = pretend({
    prctl: ENOSYS,
    openat: -2,
    prlimit64: (_pid, _which, wanted) => wanted === null ? 0 : -1,
    landlock_create_ruleset: ENOSYS,
    seccomp: -22,
  });
  assert.deepEqual(lockDown({ native, ...options }), {
    parent_death: 'the kernel answers errno 38 to prctl(PR_SET_PDEATHSIG)',
    memory: 'the kernel answers errno 38 to prctl(PR_SET_DUMPABLE)',
    privileges: 'the kernel answers errno 38 to prctl(PR_SET_NO_NEW_PRIVS)',
    descriptors: 'cannot open "/dev/null": errno 2',
    landlock: 'the kernel answers errno 38 to landlock_create_ruleset',
    limits: 'limit 4 cannot be 0: errno 1, limit 1 cannot be 0: errno 1, limit 7 cannot be 4: errno 1, ' +
      'limit 2 cannot be 1073741824: errno 1',
    seccomp: 'the kernel answers errno 22 to seccomp',
  });
});

test('a child whose parent is gone leaves before anything else is done', () => {
  const { native, asked } = pretend({ getppid: 1 });
  assert.throws(() => lockDown({ native, ...options }), { message: 'exit 1' });
  assert.deepEqual(asked, ['prctl', 'getppid']);
});

test('parts that are left out are reported and not applied', () => {
  const { native, asked } = pretend({});
  const report = lockDown({ native, ...options, parts: ['limits'] });
  assert.equal(report.limits, 'on');
  assert.equal(report.seccomp, 'left out by the caller');
  assert.deepEqual([...new Set(asked)], ['prlimit64']);
});

test('processor time is limited when it is asked for', () => {
  const limited: [Argument, bigint][] = [];
  const { native } = pretend({
    prlimit64: (_pid, which, wanted) => {
      if (wanted instanceof Uint8Array) limited.push([which!, new DataView(wanted.buffer).getBigUint64(8, true)]);
      return 0;
    },
  });
  const limits = { dataBytes: 2 ** 30, processorSeconds: 120 };
  lockDown({ native, ...options, limits, parts: ['limits'] });
  assert.deepEqual(limited, [[4, 0n], [1, 0n], [7, 4n], [2, 2n ** 30n], [0, 120n]]);
});

test('a filter that a thread cannot take, or that does not hold, is not on', () => {
  const refused = pretend({ seccomp: 91 });
  assert.equal(installFilter({ native: refused.native, pid: 1 }), 'thread 91 cannot take the filter');
  const ignored = pretend({ getpgid: 5 });
  assert.equal(
    installFilter({ native: ignored.native, pid: 1 }),
    'the filter is installed, but getpgid, which it forbids, answers 5',
  );
});
