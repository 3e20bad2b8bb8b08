// What the kernel tells about a process in /proc. Everything is undefined where there is no such file:
// the process is gone, or the host is no Linux.

import { readFileSync } from 'node:fs';

/** Milliseconds on a processor, and in line for one, of the main thread of a process since it began. */
export type ProcessorTime = { readonly cpuMs: number; readonly waitMs: number };

export function processorTime(pid: number): ProcessorTime | undefined {
  try {
    const [cpu, wait] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number);
    return { cpuMs: cpu! / 1e6, waitMs: wait! / 1e6 };
  } catch {
    return undefined;
  }
}
