// The attack tests again as an ordinary user: a copy of what they need in a folder that everyone may read,
// because a checkout in root's home is out of that user's reach.

import { chmodSync, copyFileSync, cpSync, linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRuntime } from './attacker_world.ts';

const nobody = 65534;
const root = fileURLToPath(new URL('../..', import.meta.url));
const needed = [
  'package.json',
  'src/runtime',
  'src/child',
  'tests/helpers',
  'tests/system/attacks_test.ts',
  'node_modules/koffi/package.json',
  'node_modules/koffi/index.js',
  'node_modules/koffi/index.cjs',
  `node_modules/@koromix/koffi-linux-${process.arch}`,
] as const;

/** How to run the attack tests as nobody, on the runtime that asks. Disposing the result removes the copy. */
export function copyForOrdinaryUser() {
  const folder = mkdtempSync(join(tmpdir(), 'runwarden-nobody-'));
  chmodSync(folder, 0o755);
  for (const path of needed) cpSync(join(root, path), join(folder, path), { recursive: true });
  mkdirSync(join(folder, 'node_modules/.bin'));
  for (const runtime of ['node', 'deno'] as const) {
    linkOrCopy(findRuntime(runtime), join(folder, 'node_modules/.bin', runtime));
  }
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o777 });
  chmodSync(home, 0o777);

  const test = join(folder, 'tests/system/attacks_test.ts');
  const run = 'Deno' in globalThis ? ['deno', 'test', '-A', '--no-check', test] : ['node', '--test', test];
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
  return {
    command: 'setpriv',
    args: [...user, join(folder, 'node_modules/.bin', run[0]!), ...run.slice(1)],
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: home, TMPDIR: home, DENO_DIR: join(home, 'deno') },
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // another file system
  }
}
