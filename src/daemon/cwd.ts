// Where an agent may work: its cwd, resolved, must lie below one of the configured roots.

import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { ProtocolError } from '../protocol/errors.ts';

/**
 * @returns the folder with every symlink resolved
 * @throws {ProtocolError} `invalid_params` if it is no folder, `forbidden` if it lies outside the roots
 */
export function resolveCwd(cwd: string, roots: readonly string[]): string {
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
  return roots.some((root) => isBelow(resolved, resolvedOr(root))) ? resolved : refuse('forbidden', outside);
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
