// What else a child under test does, beside attacking: work as a program does, wait, outlive its parent, use
// the folders it was given. Runs in the child, after the lock-up.

import fs from 'node:fs';
import vm from 'node:vm';
import type { Native } from '../../src/runtime/native.ts';
import type { Target } from './attacker_attack.ts';

type Doing = { readonly name: string; readonly run: (target: Target, native: Native) => unknown };
type Tell = (line: unknown) => void;

// (module (memory (export "m") 1 2000) (func (export "f") (param i32) (result i32)
//   (local i32) loop  local 1 = (local 1 + local 0) * 3; local 0 -= 1; br_if local 0  end  local 1))
const module = new Uint8Array(
  // deno-fmt-ignore
  [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f, 3, 2, 1, 0, 5, 5, 1, 1, 1, 0xd0, 0x0f,
    7, 9, 2, 1, 0x6d, 2, 0, 1, 0x66, 0, 0, 10, 30, 1, 28, 1, 1, 0x7f, 3, 0x40, 0x20, 1, 0x20, 0, 0x6a, 0x41, 3, 0x6c,
    0x21, 1, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b,
  ],
);
const { WebAssembly } = globalThis as any;
const ready = new WebAssembly.Instance(new WebAssembly.Module(module)).exports;

export const doings = (tell: Tell, parentPid: number): readonly Doing[] => [
  { name: 'compute', run: () => compute(tell) },
  { name: 'be interrupted', run: () => beInterrupted(tell) },
  { name: 'wait', run: () => (tell({ waiting: true }), fs.readSync(3, new Uint8Array(1))) },
  {
    name: 'outlive its parent',
    run: (_, native) => {
      while (native.call('getppid') === parentPid);
    },
  },
  {
    name: 'use its folders',
    run: ({ state }, native) => {
      const codes = { read: 0, make: 0o102 } as const;
      for (
        const [path, how] of [['in', 'read'], ['in', 'make'], ['look', 'read'], ['look', 'make'], ['', 'make'], [
          'in/link',
          'read',
        ], ['journal.sqlite', 'read']] as const
      ) {
        const file = path === 'in' || path === 'look'
          ? `${state}/${path}/${how === 'read' ? 'there' : 'new'}`
          : `${state}/${path || 'new'}`;
        const bytes = new TextEncoder().encode(`${file}\0`);
        tell({ folder: `${how} ${path}`, answer: Math.min(native.call('openat', -100, bytes, codes[how], 0o600), 0) });
      }
    },
  },
];

/** What a run asks of a runtime after the lock-up: compiled code, more memory, collections, clocks, chance. */
function compute(tell: Tell): void {
  const sum = ready.f(30_000_000);
  const again = new WebAssembly.Instance(new WebAssembly.Module(module)).exports.f(30_000_000);
  const before = ready.m.grow(1000);
  const kept: unknown[] = [];
  for (let round = 0; round < 200; round++) {
    kept.push(Array.from({ length: 5000 }, (_, index) => ({ index })));
    if (kept.length > 30) kept.shift();
  }
  const usage = process.cpuUsage().user > 0 && process.resourceUsage().maxRSS > 0;
  const chance = crypto.getRandomValues(new Uint8Array(8)).length + (Math.random() < 1 ? 1 : 0);
  tell({
    computed: { same: sum === again, before, kept: kept.length, usage, chance, year: new Date().getFullYear() > 2000 },
  });
}

/** A read and a loop, each inside an interruptible script, several times over. */
function beInterrupted(tell: Tell): void {
  const waits = {
    read: () => fs.readSync(3, new Uint8Array(1)),
    loop: () => {
      for (;;);
    },
  };
  for (const kind of ['read', 'loop', 'read', 'loop'] as const) {
    (globalThis as any).waitForInterrupt = () => (tell({ interrupt: kind }), waits[kind]());
    try {
      new vm.Script('waitForInterrupt()').runInThisContext({ breakOnSigint: true });
    } catch (error) {
      // The read may come back, with EINTR, before the script hears that it is to end.
      const code = (error as { code?: string }).code ?? String(error);
      tell({ interrupted: ['EINTR', 'ERR_SCRIPT_EXECUTION_INTERRUPTED'].includes(code) ? kind : code });
    }
  }
}
