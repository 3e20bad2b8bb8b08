// The seccomp filter of a child: a list of the system calls that a runtime needs to compute and to use the
// pipe it has. Everything else answers EPERM, in every thread, for good. A program of another architecture's
// calls is killed. Owns the list, the assembler of the filter and its installation; opens nothing.

import { type Architecture, callNumber, type Native, type SystemCall } from '../runtime/native.ts';

/** One instruction of classic BPF as the kernel lays it out: jumps count the instructions to skip. */
export type Instruction = { readonly code: number; readonly jt: number; readonly jf: number; readonly k: number };

/** Holds when the low word of an argument, masked, is one of `values`; `wide`: and its high word is zero. */
type Condition = {
  readonly argument: number;
  readonly mask?: number;
  readonly values: readonly number[];
  readonly wide?: boolean;
};
type Row = { readonly call: SystemCall; readonly when?: readonly Condition[] };

const op = { load: 0x20, and: 0x54, jumpIfEqual: 0x15, answer: 0x06 } as const;
const answers = { allow: 0x7fff0000, noPermission: 0x00050001, noSuchCall: 0x00050026, kill: 0x80000000 } as const;
const auditArchitecture = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const offsetOf = { number: 0, architecture: 4, low: (n: number) => 16 + 8 * n, high: (n: number) => 20 + 8 * n };

// mmap: MAP_PRIVATE and MAP_ANONYMOUS; of the bits of MAP_TYPE nothing else, and no MAP_GROWSDOWN.
const [mappingKind, privateAnonymous] = [0x12f, 0x22];
const threadFlags = 0x3d0f00; // what pthread_create asks of clone: everything shared, CLONE_THREAD above all
const cloneDetached = 0x400000; // musl adds it, the kernel ignores it
const [setName, setMappingName] = [15, 0x53564d41];

/** What a child may still ask of the kernel. `pid` is its own: signals go nowhere else. */
const allowed = (pid: number): readonly Row[] => [
  // The pipe. No close, no dup, no fcntl (F_SETOWN signals others), no sendmsg (it passes descriptors).
  ...always('read', 'write', 'readv', 'writev'),
  // Memory: executable pages are the compiler's. No descriptor maps anything, and there is no kind of
  // mapping that the limit on data does not count (shared ones and stacks are not counted).
  { call: 'mmap', when: [{ argument: 3, mask: mappingKind, values: [privateAnonymous] }] },
  ...always('brk', 'madvise', 'mprotect', 'mremap', 'munmap', 'pkey_mprotect', 'membarrier'),
  // Threads: the interruptible script starts one, and so may the runtime.
  { call: 'clone', when: [{ argument: 0, mask: ~cloneDetached >>> 0, values: [threadFlags], wide: true }] },
  ...always('futex', 'set_robust_list', 'rseq', 'sched_yield', 'sched_getaffinity', 'getcpu', 'exit', 'exit_group'),
  { call: 'prctl', when: [{ argument: 0, values: [setName, setMappingName] }] },
  // A runtime thread waits in an epoll that has nothing in it, and asks again after a SIGCONT.
  ...always('epoll_pwait', 'epoll_wait', 'restart_syscall'),
  // Signals from the daemon are handled; to itself, so that abort() ends it.
  ...always('rt_sigaction', 'rt_sigprocmask', 'rt_sigreturn', 'sigaltstack'),
  { call: 'tgkill', when: [{ argument: 0, values: [pid] }] },
  // Clocks, randomness and what it is.
  ...always('clock_gettime', 'clock_getres', 'clock_nanosleep', 'nanosleep', 'gettimeofday', 'time', 'times'),
  ...always('getrandom', 'getrusage', 'getpid', 'getppid', 'gettid', 'uname'),
  ...always('getuid', 'geteuid', 'getgid', 'getegid'),
  // Its limits may be read, its own and never set.
  { call: 'prlimit64', when: [{ argument: 0, values: [0, pid] }, { argument: 2, values: [0], wide: true }] },
];

function always(...calls: SystemCall[]): Row[] {
  return calls.map((call) => ({ call }));
}

/** The filter for a process `pid`, ready to assemble. */
export function buildFilter({ architecture, pid }: { architecture: Architecture; pid: number }): Instruction[] {
  const rows = allowed(pid).flatMap((row) => {
    const number = callNumber(row.call, architecture);
    return number === undefined ? [] : [{ number, body: answerFor(row) }];
  });
  return [
    load(offsetOf.architecture),
    skipUnlessEqual(auditArchitecture[architecture], 1, 0),
    answer(answers.kill),
    load(offsetOf.number),
    // glibc starts threads by clone3, whose flags a filter cannot see, and falls back to clone on ENOSYS.
    ...rowOf(callNumber('clone3', architecture)!, [answer(answers.noSuchCall)]),
    ...rows.flatMap(({ number, body }) => rowOf(number, body)),
    answer(answers.noPermission),
  ];
}

/** The bytes of `filter` as the kernel reads them: 8 an instruction, little-endian. */
export function assemble(filter: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(filter.length * 8));
  filter.forEach(({ code, jt, jf, k }, index) => {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, jt);
    view.setUint8(index * 8 + 3, jf);
    view.setUint32(index * 8 + 4, k, true);
  });
  return new Uint8Array(view.buffer);
}

/**
 * Installs the filter in every thread of the process and asks for something harmless that it forbids.
 * The process must have set no_new_privs or be privileged.
 * @returns `on`, or why it is not: then the filter is in no thread, or does not hold
 */
export function installFilter({ native, pid }: { native: Native; pid: number }): string {
  const code = assemble(buildFilter({ architecture: native.architecture, pid }));
  const program = new DataView(new ArrayBuffer(16)); // u16 instructions, padding, pointer
  program.setUint16(0, code.length / 8, true);
  program.setBigUint64(8, native.address(code), true);
  const [setModeFilter, inEveryThread] = [1, 1];
  const installed = native.call('seccomp', setModeFilter, inEveryThread, new Uint8Array(program.buffer));
  if (installed < 0) return `the kernel answers errno ${-installed} to seccomp`;
  if (installed > 0) return `thread ${installed} cannot take the filter`;
  const asked = native.call('getpgid', 0);
  return asked === -1 ? 'on' : `the filter is installed, but getpgid, which it forbids, answers ${asked}`;
}

function rowOf(number: number, body: readonly Instruction[]): Instruction[] {
  return [skipUnlessEqual(number, 0, body.length), ...body];
}

/** Allows when every condition holds and refuses otherwise: each failed test jumps to the last instruction. */
function answerFor({ when = [] }: Row): Instruction[] {
  if (when.length === 0) return [answer(answers.allow)];
  const tests = when.flatMap(({ argument, mask, values, wide }) => [
    ...(wide ? [{ load: offsetOf.high(argument), values: [0] }] : []),
    { load: offsetOf.low(argument), mask, values },
  ]);
  const lengthOf = (test: typeof tests[number]) => 1 + (test.mask === undefined ? 0 : 1) + test.values.length;
  let left = tests.reduce((sum, test) => sum + lengthOf(test), 0);
  const body = tests.flatMap((test) => {
    left -= lengthOf(test);
    const last = test.values.length - 1;
    return [
      load(test.load),
      ...(test.mask === undefined ? [] : [{ code: op.and, jt: 0, jf: 0, k: test.mask }]),
      ...test.values.map((value, index) => skipUnlessEqual(value, last - index, index === last ? left + 1 : 0)),
    ];
  });
  return [...body, answer(answers.allow), answer(answers.noPermission)];
}

const load = (offset: number): Instruction => ({ code: op.load, jt: 0, jf: 0, k: offset });
const answer = (k: number): Instruction => ({ code: op.answer, jt: 0, jf: 0, k });
const skipUnlessEqual = (k: number, jt: number, jf: number): Instruction => ({ code: op.jumpIfEqual, jt, jf, k });
