// Locks up a child before it reads a program, so that full control of its JavaScript or of its native code
// reaches nothing but its own pipe. Each part is applied on its own; one that the host lacks is reported in
// words, never thrown and never silent. After it the event loop must not turn again: leave by `native.exit`.

import type { Native } from '../runtime/native.ts';
import { type Folders, restrict } from './landlock.ts';
import { installFilter } from './seccomp.ts';

/** In the order in which they are applied: what needs files or descriptors comes before what takes them away. */
export const lockdownParts = [
  'parent_death',
  'memory',
  'privileges',
  'descriptors',
  'landlock',
  'limits',
  'seccomp',
] as const;

export type LockdownPart = (typeof lockdownParts)[number];

/** `on`, or a short reason why not, for each part. */
export type LockdownReport = Readonly<Record<LockdownPart, string>>;

export type LockdownLimits = {
  /** Writable memory of the process in bytes (RLIMIT_DATA): 900 MiB is the least that V8 with wasm tolerates. */
  readonly dataBytes: number;
  /** Processor time of the process in whole seconds (RLIMIT_CPU), if it is to be bounded. */
  readonly processorSeconds?: number;
};

export type LockdownOptions = {
  readonly native: Native;
  /** The process that started this one. Another parent means that it is gone: the child then leaves. */
  readonly parentPid: number;
  /** Descriptors that stay as they are. */
  readonly keep: readonly number[];
  readonly limits: LockdownLimits;
  /** None by default. More than none only once the filter lets files be opened. */
  readonly folders?: Folders;
  /** All by default; a test leaves out the guard that it wants to see missing. */
  readonly parts?: readonly LockdownPart[];
};

const prctl = { setParentDeath: 1, setDumpable: 4, setNoNewPrivileges: 38 } as const;
const resource = { processor: 0, fileBytes: 1, dataBytes: 2, coreBytes: 4, descriptors: 7 } as const;
const [sigkill, badDescriptor, notAnEpoll] = [9, -9, -22];
const [currentFolder, readAndWrite, closeOnExec] = [-100, 2, 0x80000];
const mostDescriptors = 1024; // higher ones are closed: no runtime opens that many before it is locked up

/**
 * Applies the parts and tells what became of each. Returns only while the parent lives; synchronous, two
 * milliseconds. Call it when everything that is needed has been read, opened, compiled and dated (the local
 * time zone is read from a file at its first use).
 */
export function lockDown(options: LockdownOptions): LockdownReport {
  const { native, parts = lockdownParts } = options;
  const apply: Record<LockdownPart, () => string> = {
    parent_death: () => followParent(native, options.parentPid),
    memory: () => verdict('prctl(PR_SET_DUMPABLE)', native.call('prctl', prctl.setDumpable, 0)),
    privileges: () => verdict('prctl(PR_SET_NO_NEW_PRIVS)', native.call('prctl', prctl.setNoNewPrivileges, 1)),
    descriptors: () => replaceDescriptors(native, options.keep),
    limits: () => setLimits(native, options.limits, options.keep),
    landlock: () => restrict({ native, ...(options.folders ?? { readable: [], writable: [] }) }),
    seccomp: () => installFilter({ native, pid: native.call('getpid') }),
  };
  const applied = lockdownParts.map((part) => [part, parts.includes(part) ? apply[part]() : 'left out by the caller']);
  return Object.fromEntries(applied);
}

function verdict(asked: string, answer: number): string {
  return answer < 0 ? `the kernel answers errno ${-answer} to ${asked}` : 'on';
}

/** Asks to be killed when the parent dies. A parent that died just before sends nothing: hence the look at it. */
function followParent(native: Native, parentPid: number): string {
  const asked = native.call('prctl', prctl.setParentDeath, sigkill);
  if (native.call('getppid') !== parentPid) native.exit(1);
  return verdict('prctl(PR_SET_PDEATHSIG)', asked);
}

/**
 * Puts /dev/null in the place of every open descriptor that is not kept. Not closed, because the garbage
 * collector wakes the event loop by writing to one of them, and the runtime aborts if that fails. An epoll
 * becomes an empty one: a runtime thread waits in it, and would abort on a SIGCONT if it were something else.
 */
function replaceDescriptors(native: Native, keep: readonly number[]): string {
  const nothing = native.call('openat', currentFolder, bytes('/dev/null\0'), readAndWrite | closeOnExec, 0);
  const epoll = native.call('epoll_create1', closeOnExec);
  if (nothing < 0) return `cannot open "/dev/null": errno ${-nothing}`;
  if (epoll < 0) return verdict('epoll_create1', epoll);

  const kept = keep.map((descriptor) => identify(native, descriptor));
  const count = Math.min(readLimit(native, resource.descriptors), mostDescriptors);
  let failure: string | undefined;
  for (const descriptor of openDescriptors(native, count)) {
    if (descriptor === nothing || descriptor === epoll || kept.includes(identify(native, descriptor))) continue;
    const event = new Uint8Array(16);
    const waits = native.call('epoll_pwait', descriptor, event, 1, 0, null, 8) !== notAnEpoll;
    const replaced = native.call('dup3', waits ? epoll : nothing, descriptor, closeOnExec);
    if (replaced < 0) failure ??= `cannot replace descriptor ${descriptor}: errno ${-replaced}`;
  }
  const closed = native.call('close_range', count, 0xffffffff, 0);
  native.call('close', nothing);
  native.call('close', epoll);
  return failure ?? verdict('close_range', closed);
}

/** Device and number of what is open at `descriptor`. Deno duplicates its pipe and uses the copy: both are kept. */
function identify(native: Native, descriptor: number): string {
  const status = new BigUint64Array(32);
  native.call('fstat', descriptor, new Uint8Array(status.buffer));
  return `${status[0]}:${status[1]}`;
}

/** Which of the first `count` descriptors are open: one ppoll tells them all, without a /proc. */
function openDescriptors(native: Native, count: number): number[] {
  const entries = new DataView(new ArrayBuffer(count * 8)); // i32 descriptor, i16 events, i16 answer
  for (let index = 0; index < count; index++) entries.setInt32(index * 8, index, true);
  const notOpen = 0x20;
  const answered = native.call('ppoll', new Uint8Array(entries.buffer), count, new Uint8Array(16), null, 8);
  const all = Array.from({ length: count }, (_, index) => index);
  if (answered < 0) {
    return all.filter((index) => native.call('epoll_pwait', index, null, 1, 0, null, 8) !== badDescriptor);
  }
  return all.filter((index) => !(entries.getUint16(index * 8 + 6, true) & notOpen));
}

/** Soft and hard alike. A descriptor cannot be numbered at or above its limit: none can be had any more. */
function setLimits(native: Native, limits: LockdownLimits, keep: readonly number[]): string {
  const wanted: [number, number][] = [
    [resource.coreBytes, 0],
    [resource.fileBytes, 0],
    [resource.descriptors, Math.max(...keep, 0) + 1],
    [resource.dataBytes, limits.dataBytes],
  ];
  if (limits.processorSeconds !== undefined) wanted.push([resource.processor, limits.processorSeconds]);
  const failures = wanted.flatMap(([which, most]) => {
    const pair = new BigUint64Array([BigInt(most), BigInt(most)]);
    const set = native.call('prlimit64', 0, which, new Uint8Array(pair.buffer), null);
    return set < 0 ? [`limit ${which} cannot be ${most}: errno ${-set}`] : [];
  });
  return failures.length === 0 ? 'on' : failures.join(', ');
}

function readLimit(native: Native, which: number): number {
  const pair = new BigUint64Array(2);
  native.call('prlimit64', 0, which, null, new Uint8Array(pair.buffer));
  return Number(pair[0]);
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
