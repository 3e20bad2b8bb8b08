// Which runtime this is, and where executables for children are found.
// All that differs between Node and Deno for the daemon stands in this folder.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';

export type RuntimeName = 'node' | 'deno';

const denoVersion: string | undefined = (process.versions as Record<string, string | undefined>).deno;

/** The runtime of this process. */
export const runtimeName: RuntimeName = denoVersion ? 'deno' : 'node';
export const runtimeVersion = `${runtimeName} ${denoVersion ?? process.versions.node}`;

/** What children are started with. `reason` says why it is not Node; undefined if it is. */
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
  const node = wish === 'deno' ? { problem: 'Deno is configured' } : findNode();
  if ('executable' in node) return { name: 'node', executable: node.executable, reason: undefined };
  const deno = runtimeName === 'deno' ? process.execPath : findOnPath('deno');
  if (deno && wish !== 'node') {
    const reason =
      `${node.problem}: programs that compute past a bound are killed without traceback, see docs/runtimes.md`;
    return { name: 'deno', executable: deno, reason };
  }
  throw new Error(`Cannot start children: ${wish === 'deno' ? 'no Deno was found' : node.problem}; put it on PATH`);
}

/** Children need the permission flags as they are since this version. */
const leastNode = 24;

function findNode(): { readonly executable: string } | { readonly problem: string } {
  if (runtimeName === 'node') return { executable: process.execPath };
  const executable = packagedNode() ?? findOnPath('node');
  if (executable === undefined) return { problem: 'no Node was found' };
  const version = spawnSync(executable, ['--version'], { encoding: 'utf8', env: {} }).stdout?.trim() ?? '';
  const major = Number(/^v(\d+)\./.exec(version)?.[1] ?? 0);
  return major >= leastNode
    ? { executable }
    : { problem: `${executable} is ${version || 'no Node'}, and children need Node ${leastNode}` };
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
