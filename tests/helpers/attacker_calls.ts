// What an attacker with native code builds its attacks from: the system calls that the program itself has no
// use for, the structures that they take, and failures as exceptions.

import type { Argument, Native } from '../../src/runtime/native.ts';

const here = -100; // AT_FDCWD

/** System calls that only an attacker makes: [x64, arm64]. */
const numbers = {
  add_key: [248, 217],
  bind: [49, 200],
  connect: [42, 203],
  execve: [59, 221],
  fchmodat: [268, 53],
  fcntl: [72, 25],
  getdents64: [217, 61],
  io_uring_enter: [426, 426],
  io_uring_setup: [425, 425],
  kill: [62, 129],
  listen: [50, 201],
  memfd_create: [319, 279],
  newfstatat: [262, 79],
  pidfd_getfd: [438, 438],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  process_vm_readv: [310, 270],
  ptrace: [101, 117],
  sched_setaffinity: [203, 122],
  sendmsg: [46, 211],
  sendto: [44, 206],
  setpriority: [141, 140],
  shmctl: [31, 195],
  shmget: [29, 194],
  socket: [41, 198],
  socketpair: [53, 199],
  wait4: [61, 260],
} as const;

export const text = (value: string) => new TextEncoder().encode(`${value}\0`);

/** Makes the call by number and throws what the kernel refuses. */
export function must(native: Native, name: keyof typeof numbers, ...args: Argument[]): number {
  return check(name, native.call(numbers[name][native.architecture === 'x64' ? 0 : 1], ...args));
}

export function check(name: string, answer: number): number {
  if (answer < 0) throw new Error(`${name}: errno ${-answer}`);
  return answer;
}

export function open(native: Native, path: string, flags = 0): number {
  return check(`open ${path}`, native.call('openat', here, text(path), flags, 0o600));
}

export function readAll(native: Native, path: string): string {
  const buffer = new Uint8Array(65536);
  const length = check('read', native.call('read', open(native, path), buffer, buffer.length));
  return new TextDecoder().decode(buffer.subarray(0, length));
}

export function unixAddress(path: string): Uint8Array {
  return new Uint8Array([1, 0, ...text(path)]);
}

export function loopback(port: number): Uint8Array {
  return new Uint8Array([2, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
}

export function pointers(native: Native, ...parts: (Uint8Array | number)[]): Uint8Array {
  const words = parts.map((part) => typeof part === 'number' ? BigInt(part) : native.address(part));
  return new Uint8Array(new BigUint64Array(words).buffer);
}

export function send(native: Native, socket: number): void {
  const words = text('attack');
  check('write', native.call('write', socket, words, words.length - 1));
}

export function mapMemory(native: Native, sharing: number): void {
  const [readAndWrite, anonymousUnreserved] = [3, 0x20 | 0x4000];
  const bytes = 3 * 2 ** 30;
  check('mmap', native.call('mmap', 0, bytes, readAndWrite, sharing | anonymousUnreserved, -1, 0));
}

export function setLimit(native: Native, pid: number, resource: number, value: number): void {
  const pair = new Uint8Array(new BigUint64Array([BigInt(value), BigInt(value)]).buffer);
  check('prlimit64', native.call('prlimit64', pid, resource, pair, null));
}
