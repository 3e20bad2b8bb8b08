// The filter of both architectures, run by a small interpreter of classic BPF over calls and arguments: the
// only proof that there is for the one that the tests do not run on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assemble, buildFilter, type Instruction } from '../../../src/child/seccomp.ts';
import { type Architecture, callNumber, type SystemCall, systemCalls } from '../../../src/runtime/native.ts';

type Asked = { number: number; architecture: number; args?: readonly bigint[] };

const pid = 4242;
const audit = { x64: 0xc000003e, arm64: 0xc00000b7, x86: 0x40000003 } as const;
const allow = 'allow';
const refuse = 'errno 1';

/** What the kernel would do: a reading of the filter that shares no code with the assembler. */
function answerOf(filter: readonly Instruction[], { number, architecture, args = [] }: Asked): string {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, architecture, true);
  args.forEach((argument, index) => data.setBigUint64(16 + 8 * index, BigInt.asUintN(64, argument), true));
  let value = 0;
  for (let at = 0; at < filter.length; at++) {
    const { code, jt, jf, k } = filter[at]!;
    if (code === 0x20) value = data.getUint32(k, true);
    else if (code === 0x54) value = (value & k) >>> 0;
    else if (code === 0x15) at += value === k ? jt : jf;
    else if (code === 0x06) return nameOf(k);
    else assert.fail(`instruction ${at} has the unknown code ${code}`);
  }
  return assert.fail('the filter ends without an answer');
}

function nameOf(answer: number): string {
  const kind = answer & 0xffff0000;
  if (kind === 0x7fff0000) return allow;
  if (kind === 0x00050000) return `errno ${answer & 0xffff}`;
  return kind >>> 0 === 0x80000000 ? 'kill' : assert.fail(`unknown answer ${answer}`);
}

const threadFlags = 0x3d0f00n;
const cases: readonly [call: SystemCall, args: readonly bigint[], expected: string][] = [
  ['read', [3n, 0n, 1n], allow],
  ['write', [3n, 0n, 1n], allow],
  ['futex', [], allow],
  ['exit_group', [0n], allow],
  ['clone3', [0n, 88n], 'errno 38'],
  ['clone', [threadFlags], allow],
  ['clone', [threadFlags | 0x400000n], allow],
  ['clone', [17n], refuse],
  ['clone', [threadFlags & ~0x10000n], refuse],
  ['clone', [threadFlags | 0x10000000n], refuse],
  ['clone', [threadFlags | 1n << 32n], refuse],
  ['mmap', [0n, 4096n, 7n, 0x22n, -1n, 0n], allow],
  ['mmap', [0n, 4096n, 3n, 0x4022n, -1n, 0n], allow],
  ['mmap', [0n, 4096n, 3n, 0x02n, 3n, 0n], refuse],
  ['mmap', [0n, 4096n, 3n, 0x21n, -1n, 0n], refuse],
  ['mmap', [0n, 4096n, 3n, 0x122n, -1n, 0n], refuse],
  ['tgkill', [BigInt(pid), 1n, 6n], allow],
  ['tgkill', [BigInt(pid + 1), 1n, 6n], refuse],
  ['tgkill', [-1n, 1n, 6n], refuse],
  ['prctl', [15n], allow],
  ['prctl', [0x53564d41n], allow],
  ['prctl', [1n, 0n], refuse],
  ['prctl', [4n, 1n], refuse],
  ['prlimit64', [0n, 7n, 0n, 1n], allow],
  ['prlimit64', [BigInt(pid), 7n, 0n, 1n], allow],
  ['prlimit64', [1n, 7n, 0n, 1n], refuse],
  ['prlimit64', [0n, 7n, 1n, 0n], refuse],
  ['prlimit64', [0n, 7n, 1n << 32n, 0n], refuse],
  ['openat', [], refuse],
  ['close', [3n], refuse],
  ['dup3', [], refuse],
  ['close_range', [], refuse],
  ['epoll_create1', [], refuse],
  ['seccomp', [], refuse],
  ['landlock_restrict_self', [], refuse],
  ['getpgid', [0n], refuse],
  ['fstat', [3n], refuse],
  ['ppoll', [], refuse],
];

/** By number, for calls that the program has no name for: [name, x64, arm64]. */
const neverAllowed: readonly [string, number, number][] = [
  ['socket', 41, 198],
  ['connect', 42, 203],
  ['sendmsg', 46, 211],
  ['recvmsg', 47, 212],
  ['sendto', 44, 206],
  ['execve', 59, 221],
  ['execveat', 322, 281],
  ['kill', 62, 129],
  ['tkill', 200, 130],
  ['rt_sigqueueinfo', 129, 138],
  ['rt_tgsigqueueinfo', 297, 240],
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['fcntl', 72, 25],
  ['ioctl', 16, 29],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426],
  ['io_uring_register', 427, 427],
  ['openat2', 437, 437],
  ['pidfd_open', 434, 434],
  ['pidfd_getfd', 438, 438],
  ['pidfd_send_signal', 424, 424],
  ['memfd_create', 319, 279],
  ['userfaultfd', 323, 282],
  ['bpf', 321, 280],
  ['mount', 165, 40],
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['keyctl', 250, 219],
  ['setpgid', 109, 154],
  ['setsid', 112, 157],
  ['shmget', 29, 194],
  ['personality', 135, 92],
  ['chroot', 161, 51],
];

for (const architecture of ['x64', 'arm64'] as const satisfies readonly Architecture[]) {
  const filter = buildFilter({ architecture, pid });
  const ask = (number: number, args: readonly bigint[] = []) =>
    answerOf(filter, { number, architecture: audit[architecture], args });

  for (const [call, args, expected] of cases) {
    test(`${architecture}: ${call}(${args.join(', ')}) is answered by ${expected}`, () => {
      assert.equal(ask(callNumber(call, architecture)!, args), expected);
    });
  }

  test(`${architecture}: what reaches others is refused`, () => {
    for (const [name, x64, arm64] of neverAllowed) {
      assert.equal(ask(architecture === 'x64' ? x64 : arm64), refuse, name);
    }
  });

  test(`${architecture}: what is allowed is in the table of calls, and nothing else is`, () => {
    const known = new Set(Object.keys(systemCalls).map((call) => callNumber(call as SystemCall, architecture)));
    const allowed = Array.from({ length: 1024 }, (_, number) => number).filter((number) => ask(number) === allow);
    assert.ok(allowed.length > 30);
    assert.deepEqual(allowed.filter((number) => !known.has(number)), []);
  });

  test(`${architecture}: calls of another architecture kill, those of x32 are refused`, () => {
    assert.equal(answerOf(filter, { number: 1, architecture: audit.x86 }), 'kill');
    assert.equal(
      answerOf(filter, { number: 1, architecture: audit[architecture === 'x64' ? 'arm64' : 'x64'] }),
      'kill',
    );
    assert.equal(ask(0x40000000), refuse);
    assert.equal(ask(0x40000000 + callNumber('write', architecture)!), refuse);
  });

  test(`${architecture}: no jump leaves the filter and every path answers`, () => {
    assert.ok(filter.length < 4096, 'the kernel takes 4096 instructions');
    filter.forEach(({ code, jt, jf }, index) => {
      if (code !== 0x15) return;
      for (const skipped of [jt, jf]) {
        assert.ok(skipped < 256 && index + 1 + skipped < filter.length, `jump at ${index}`);
      }
    });
    assert.equal(filter.at(-1)!.code, 0x06);
  });
}

test('no number is used twice in one architecture', () => {
  for (const architecture of ['x64', 'arm64'] as const) {
    const numbers = Object.keys(systemCalls).map((call) => callNumber(call as SystemCall, architecture));
    const present = numbers.filter((number) => number !== undefined);
    assert.equal(new Set(present).size, present.length);
  }
});

test('an instruction is 8 bytes, little-endian: code, jumps, value', () => {
  const bytes = assemble([{ code: 0x15, jt: 1, jf: 2, k: 0xc000003e }, { code: 0x06, jt: 0, jf: 0, k: 0x80000000 }]);
  assert.deepEqual([...bytes], [0x15, 0, 1, 2, 0x3e, 0, 0, 0xc0, 0x06, 0, 0, 0, 0, 0, 0, 0x80]);
});
