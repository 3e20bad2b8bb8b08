// Where an agent may work: its cwd, resolved, must lie below one of the configured roots, and in none of the
// daemon's own folders.

import { mkdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { ProtocolError } from '../protocol/errors.ts';

/**
 * @returns the folder with every symlink resolved
 * @throws {ProtocolError} `invalid_params` if it is no folder, `forbidden` if it lies outside the roots
 */
export function resolveCwd(
  cwd: string,
  { roots, withheld }: { roots: readonly string[]; withheld: readonly string[] },
): string {
  const refuse = (code: 'invalid_params' | 'forbidden', reason: string): never => {
    throw new ProtocolError(code, `Cannot use cwd ${JSON.stringify(cwd)}: ${reason}`);
  };
  if (!path.isAbsolute(cwd)) return refuse('invalid_params', 'it must be an absolute path');
  const outside = `it must lie below a workspace root; the roots are ${roots.join(', ')}`;
  // A path outside is refused before it is looked at, so that nothing is told about what is there.
  if (!roots.some((root) => isBelow(path.resolve(cwd), root))) return refuse('forbidden', outside);
  let resolved: string;
  try {
    resolved = realpathSync(cwd);
    if (!statSync(resolved).isDirectory()) return refuse('invalid_params', 'it is no folder');
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    return refuse('invalid_params', `it cannot be opened: ${(error as Error).message}`);
  }
  if (withheld.some((folder) => isBelow(resolved, folder))) {
    return refuse('forbidden', "it belongs to the daemon's own folders");
  }
  return roots.some((root) => isBelow(resolved, resolvedOr(root))) ? resolved : refuse('forbidden', outside);
}

/**
 * The daemon's own folders and its socket, as the file system resolves them: no workspace reaches them. The socket's
 * folder is one of them unless workspaces lie in it. Makes the folders that are missing, 0700.
 */
export function ownPlaces(options: { socket: string; folders: readonly string[]; roots: readonly string[] }): string[] {
  const socket = path.resolve(options.socket);
  const socketFolder = path.dirname(socket);
  for (const folder of [...options.folders, socketFolder]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const folder = realpathSync(socketFolder);
  const shared = options.roots.some((root) => isBelow(resolvedOr(root), folder));
  const own = shared ? path.join(folder, path.basename(socket)) : folder;
  return [...options.folders.map((name) => realpathSync(name)), own];
}

function resolvedOr(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // A root that is not there holds nothing.
  }
}

const isBelow = (file: string, folder: string): boolean =>
  file === folder || file.startsWith(folder === '/' ? '/' : folder + path.sep);
