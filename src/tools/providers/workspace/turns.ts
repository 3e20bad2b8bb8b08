// How the workspace tools share the daemon's event loop: every call looks at one clock, and one
// call goes on per round of the loop, so that a hundred searches hold it no longer than one does.
// Also the line in which calls below one root wait. Decides nothing about files.

import { workspaceBounds } from './bounds.ts';

type Waiter = { readonly signal: AbortSignal; readonly resume: () => void };

/** When a call last got the loop, in milliseconds of `performance.now`. */
let turnBegan = -Infinity;
const waiting: Waiter[] = [];

/** True when the calls have had the loop for their slice: the caller must `await nextTurn` before it goes on. */
export function sliceSpent(): boolean {
  return performance.now() - turnBegan > workspaceBounds.sliceMs;
}

/**
 * Gives the event loop back and returns when it is this call's turn.
 * @throws the signal's reason, once it is aborted
 */
export async function nextTurn(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resume) => {
    waiting.push({ signal, resume });
    if (waiting.length === 1) setImmediate(takeTurn);
  });
  signal.throwIfAborted();
}

function takeTurn(): void {
  turnBegan = performance.now();
  // Aborted calls do no more work, so they need not stand in line to be told.
  for (let index = waiting.length - 1; index > 0; index--) {
    if (waiting[index]!.signal.aborted) waiting.splice(index, 1)[0]!.resume();
  }
  waiting.shift()?.resume();
  if (waiting.length > 0) setImmediate(takeTurn);
}

type Line = { open: number; readonly queue: (() => void)[] };
const lines = new Map<string, Line>();

/**
 * Runs `work` when fewer than `callsPerRoot` others are under way below the same root.
 * @throws the signal's reason, if it is aborted while the call waits in line
 */
export async function inLine<T>(root: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const line = lines.get(root) ?? { open: 0, queue: [] };
  lines.set(root, line);
  // A place is handed from call to call, so that nobody slips in between.
  if (line.open < workspaceBounds.callsPerRoot) line.open++;
  else await standInLine(line, signal);
  try {
    return await work();
  } finally {
    const next = line.queue.shift();
    if (next !== undefined) next();
    else if (--line.open === 0) lines.delete(root);
  }
}

function standInLine(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      line.queue.splice(line.queue.indexOf(enter), 1);
      reject(signal.reason);
    };
    line.queue.push(enter);
    signal.addEventListener('abort', leave, { once: true });
  });
}

/** Strings in the order of their UTF-16 units, sorted in slices: 100,000 at once would hold the loop for 25 ms. */
export async function sortInTurns(names: readonly string[], signal: AbortSignal): Promise<string[]> {
  const runLength = 4096;
  let sorted: string[][] = [];
  for (let start = 0; start < names.length; start += runLength) {
    sorted.push(names.slice(start, start + runLength).sort());
    if (sliceSpent()) await nextTurn(signal);
  }
  while (sorted.length > 1) {
    const merged: string[][] = [];
    for (let pair = 0; pair < sorted.length; pair += 2) {
      merged.push(await mergeInTurns(sorted[pair]!, sorted[pair + 1] ?? [], signal));
    }
    sorted = merged;
  }
  return sorted[0] ?? [];
}

async function mergeInTurns(left: readonly string[], right: readonly string[], signal: AbortSignal): Promise<string[]> {
  const merged: string[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    if (r >= right.length || (l < left.length && left[l]! <= right[r]!)) merged.push(left[l++]!);
    else merged.push(right[r++]!);
    if (merged.length % 1024 === 0 && sliceSpent()) await nextTurn(signal);
  }
  return merged;
}
