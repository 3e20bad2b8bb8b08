// System calls from JavaScript, by name, on Node through koffi's binary alone and on Deno through
// Deno.dlopen. Owns the table of call numbers; answers what the kernel answers (a result, or -errno)
// and judges nothing. Linux on x64 and arm64 only. Used by the child to lock itself up and to leave.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type Architecture = 'x64' | 'arm64';

/** Numbers of the system calls on x64 and arm64 (the kernel's generic table); null where there is none. */
export const systemCalls = {
  brk: [12, 214],
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  clone: [56, 220],
  clone3: [435, 435],
  close: [3, 57],
  close_range: [436, 436],
  dup3: [292, 24],
  epoll_create1: [291, 20],
  epoll_pwait: [281, 22],
  epoll_wait: [232, null],
  exit: [60, 93],
  exit_group: [231, 94],
  fstat: [5, 80],
  futex: [202, 98],
  getcpu: [309, 168],
  getegid: [108, 177],
  geteuid: [107, 175],
  getgid: [104, 176],
  getpgid: [121, 155],
  getpid: [39, 172],
  getppid: [110, 173],
  getrandom: [318, 278],
  getrusage: [98, 165],
  gettid: [186, 178],
  gettimeofday: [96, 169],
  getuid: [102, 174],
  landlock_add_rule: [445, 445],
  landlock_create_ruleset: [444, 444],
  landlock_restrict_self: [446, 446],
  madvise: [28, 233],
  membarrier: [324, 283],
  mmap: [9, 222],
  mprotect: [10, 226],
  mremap: [25, 216],
  munmap: [11, 215],
  nanosleep: [35, 101],
  openat: [257, 56],
  pkey_mprotect: [329, 288],
  ppoll: [271, 73],
  prctl: [157, 167],
  prlimit64: [302, 261],
  read: [0, 63],
  readv: [19, 65],
  restart_syscall: [219, 128],
  rseq: [334, 293],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sched_getaffinity: [204, 123],
  sched_yield: [24, 124],
  seccomp: [317, 277],
  set_robust_list: [273, 99],
  sigaltstack: [131, 132],
  tgkill: [234, 131],
  time: [201, null],
  times: [100, 153],
  uname: [63, 160],
  write: [1, 64],
  writev: [20, 66],
} as const satisfies Record<string, readonly [x64: number, arm64: number | null]>;

export type SystemCall = keyof typeof systemCalls;
export type Argument = number | bigint | Uint8Array | null;

export interface Native {
  readonly architecture: Architecture;
  /**
   * Makes one system call: by name, or by number where the table has no name for it. A `Uint8Array` goes as
   * the address of its first byte and must stay alive until the answer; null and missing arguments go as 0.
   * @returns what the kernel answers, -errno for a failure; -38 (ENOSYS) where the architecture lacks the call
   */
  call(call: SystemCall | number, ...args: readonly Argument[]): number;
  /** The address of the first byte of `bytes`, for structures that hold pointers. */
  address(bytes: Uint8Array): bigint;
  /** Ends the process at once with `code`: no handlers, no event loop. */
  exit(code: number): never;
}

type RawCall = (...args: (number | bigint)[]) => number | bigint;
type Library = { syscall: RawCall; errno: () => number; address: (bytes: Uint8Array) => bigint };

const noSuchCall = -38;

/** The number of `call` on `architecture`, or undefined where it has none. */
export function callNumber(call: SystemCall, architecture: Architecture): number | undefined {
  return systemCalls[call][architecture === 'x64' ? 0 : 1] ?? undefined;
}

/**
 * The koffi binaries for this host's architecture, glibc first, musl second, as absolute paths: the launcher
 * hands them to `openNative` in the child. Found through koffi's own dependencies, so any layout of
 * node_modules does. @throws {Error} if koffi is not installed for this architecture
 */
export function findKoffi(): readonly string[] {
  const fromKoffi = createRequire(createRequire(import.meta.url).resolve('koffi'));
  const folder = dirname(fromKoffi.resolve(`@koromix/koffi-linux-${process.arch}/package.json`));
  return [`linux_${process.arch}`, `musl_${process.arch}`].map((libc) => join(folder, libc, 'koffi.node'));
}

/**
 * Opens libc. On Node the first of `koffi` that loads is used, through `process.dlopen`: under `--permission`
 * that asks for `--allow-addons` only, no folder has to be readable. Deno needs `--allow-ffi` and no koffi.
 * @throws {Error} on another system or architecture, or if nothing loads
 */
export function openNative(options: { koffi: readonly string[] }): Native {
  const { arch, platform } = process;
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) {
    throw new Error(`Cannot open libc: Linux on x64 or arm64 is required, this is ${platform} on ${arch}`);
  }
  const library = 'Deno' in globalThis ? openWithDeno() : openWithKoffi(options.koffi);
  const toWord = (argument: Argument | undefined) =>
    argument instanceof Uint8Array ? library.address(argument) : argument ?? 0;

  const call: Native['call'] = (name, ...args) => {
    const number = typeof name === 'number' ? name : callNumber(name, arch);
    if (number === undefined) return noSuchCall;
    const [a, b, c, d, e, f] = args.map(toWord);
    const result = Number(library.syscall(number, a ?? 0, b ?? 0, c ?? 0, d ?? 0, e ?? 0, f ?? 0));
    return result === -1 ? -library.errno() : result;
  };
  const exit = (code: number): never => {
    for (;;) call('exit_group', code);
  };
  return { architecture: arch, call, address: library.address, exit };
}

function openWithKoffi(files: readonly string[]): Library {
  const failures: string[] = [];
  for (const file of files) {
    const addon: { exports: any } = { exports: {} };
    try {
      process.dlopen(addon, file);
    } catch (error) {
      failures.push(`"${file}": ${(error as Error).message}`);
      continue;
    }
    const koffi = addon.exports;
    const word = 'uintptr_t';
    const syscall = koffi.load(null).func('syscall', 'long', ['long', word, word, word, word, word, word]);
    // An array shorter than 64 bytes may live in V8's heap until someone asks for its buffer.
    const address = (bytes: Uint8Array) => bytes.buffer && (koffi.address(bytes) as bigint);
    return { syscall, errno: () => koffi.errno(), address };
  }
  throw new Error(`Cannot open libc: one of ${files.length} koffi binaries must load; ${failures.join('; ')}`);
}

function openWithDeno(): Library {
  const { Deno } = globalThis as any;
  const word = 'u64';
  const { symbols } = Deno.dlopen('libc.so.6', {
    syscall: { parameters: ['i64', word, word, word, word, word, word], result: 'i64' },
    __errno_location: { parameters: [], result: 'pointer' },
  });
  const syscall: RawCall = (...args) =>
    symbols.syscall(...args.map((argument) => BigInt.asUintN(64, BigInt(argument))));
  const errno = () => new Deno.UnsafePointerView(symbols.__errno_location()).getInt32();
  const address = (bytes: Uint8Array) => Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)) as bigint;
  return { syscall, errno, address };
}
