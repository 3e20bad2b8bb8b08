// Which runtime this is, and where executables for children are found.
// All that differs between Node and Deno for the daemon stands in this folder.

import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';

export type RuntimeName = 'node' | 'deno';

const denoVersion: string | undefined = (process.versions as Record<string, string | undefined>).deno;

/** The runtime of this process. */
export const runtimeName: RuntimeName = denoVersion ? 'deno' : 'node';
export const runtimeVersion = `${runtimeName} ${denoVersion ?? process.versions.node}`;

/** What children are started with. `reason` says why it is not what was wished for; undefined if it is. */
export type ChildRuntime = {
  readonly name: RuntimeName;
  readonly executable: string;
  readonly reason: string | undefined;
};

/**
 * Chooses the runtime of children: Node where there is one, else this Deno.
 * @param wish `auto` or the configured runtime
 * @throws {Error} if the runtime wished for is not on this machine
 */
export function chooseChildRuntime(wish: 'auto' | RuntimeName): ChildRuntime {
  const node = wish === 'deno' ? undefined : findNode();
  if (node) return { name: 'node', executable: node, reason: undefined };
  const deno = runtimeName === 'deno' ? process.execPath : findOnPath('deno');
  if (deno && wish !== 'node') {
    const reason = wish === 'auto'
      ? 'no Node was found: programs past a bound are killed without traceback, see docs/runtimes.md'
      : undefined;
    return { name: 'deno', executable: deno, reason };
  }
  throw new Error(`Cannot start children: ${wish === 'auto' ? 'neither node nor deno' : wish} was found on PATH`);
}

function findNode(): string | undefined {
  if (runtimeName === 'node') return process.execPath;
  return packagedNode() ?? findOnPath('node');
}

/** The Node that is installed beside this package as a dependency of its development. */
function packagedNode(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`);
    const executable = path.join(path.dirname(manifest), 'bin', 'node');
    return isExecutable(executable) ? executable : undefined;
  } catch {
    return undefined; // Not installed: the published package does not bring it.
  }
}

function findOnPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
