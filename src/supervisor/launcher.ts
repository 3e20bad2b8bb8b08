// Starts the process of a child: empty environment, its pipe on descriptor 3, a process group of its own,
// and the flags that take from the runtime what no child needs. What the process does then is its own affair.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import process from 'node:process';
import type { ChildRuntime } from '../runtime/runtime.ts';

/** Everything that a launch needs, decided once for all children of a kind. */
export type Recipe = {
  readonly runtime: ChildRuntime;
  /** The stripped entry module. */
  readonly entry: string;
  /** Folders and files that the child may read before it locks itself up. */
  readonly readable: readonly string[];
  /** Whether the child makes code from text (the checker's compiled schemas do). */
  readonly generatesCode: boolean;
  /** Further arguments for the entry. */
  readonly parameters: readonly string[];
};

/** A process on its way, or why there is none (no descriptors left, no memory): a launch never throws. */
export type Launched =
  | { readonly process: ChildProcess; readonly pipe: Duplex; readonly diagnostics: Readable }
  | { readonly failed: string };
export type Launch = () => Launched;

const heapMegabytes = 256;

function commandLine({ runtime, entry, readable, generatesCode, parameters }: Recipe): string[] {
  const own = [entry, String(process.pid), ...parameters];
  if (runtime.name === 'deno') {
    return [
      'run',
      '--quiet',
      '--unstable-detect-cjs',
      '--no-prompt',
      '--no-config',
      '--no-lock',
      '--cached-only',
      '--no-check',
      '--no-code-cache',
      `--allow-read=${readable.join(',')}`,
      '--allow-ffi',
      `--v8-flags=--max-old-space-size=${heapMegabytes},--no-compilation-cache`,
      ...own,
    ];
  }
  return [
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    '--allow-addons',
    '--frozen-intrinsics',
    ...(generatesCode ? [] : ['--disallow-code-generation-from-strings']),
    '--disable-sigusr1',
    '--no-warnings',
    '--v8-pool-size=1',
    `--max-old-space-size=${heapMegabytes}`,
    ...own,
  ];
}

export function spawnLauncher(recipe: Recipe): Launch {
  const line = commandLine(recipe);
  // Deno takes further descriptors only when told which, and without a folder that is none it opens caches
  // that all its processes of a user share. Nothing else is in a child's environment.
  const env: Record<string, string> = recipe.runtime.name === 'deno'
    ? { DENO_EXTRA_STDIO_FDS: '3', DENO_DIR: '/dev/null', NO_COLOR: '1' }
    : {};
  return () => {
    try {
      const child = spawn(recipe.runtime.executable, line, {
        env,
        cwd: '/',
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      });
      // Without descriptors Node answers a process that has no pipes, and tells why by an event.
      const pipe = child.stdio?.[3] as Duplex | undefined;
      if (pipe && child.stderr) return { process: child, pipe, diagnostics: child.stderr };
      child.on('error', () => {}); // The reason is the same whatever it says.
      return { failed: 'the system has no descriptors or processes left' };
    } catch (error) {
      return { failed: (error as Error).message };
    }
  };
}
