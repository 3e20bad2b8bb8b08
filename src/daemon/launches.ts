// What each kind of child is started with: its stripped modules, what it may read before it locks itself up,
// and its parameters. Prepared once, when the daemon starts.

import path from 'node:path';
import { findKoffi } from '../runtime/native.ts';
import type { ChildRuntime, RuntimeName } from '../runtime/runtime.ts';
import { packageFile, packageFolder, stripModules } from '../runtime/stripped_modules.ts';
import { type Launch, spawnLauncher } from '../supervisor/launcher.ts';

/** @param cache folder that keeps the stripped modules, by the hash of their content */
export function prepareLaunches(
  runtime: ChildRuntime,
  cache: string,
): { readonly lua: Launch; readonly checker: Launch } {
  const koffi = findKoffi();
  const lua = stripModules({
    entry: childModule('main'),
    files: { 'glue.wasm': packageFile('wasmoon/dist/glue.wasm') },
    cache,
  });
  const checker = stripModules({ entry: childModule('checker_main'), files: {}, cache });
  const recipe = { runtime, generatesCode: false };
  return {
    lua: spawnLauncher({
      ...recipe,
      entry: lua.entry,
      readable: [lua.folder],
      parameters: [JSON.stringify({ koffi, glue: path.join(lua.folder, 'glue.wasm') })],
    }),
    checker: spawnLauncher({
      ...recipe,
      entry: checker.entry,
      readable: [checker.folder, ...checkerPackages(runtime.name)],
      generatesCode: true,
      parameters: [JSON.stringify({ koffi, glue: '' })],
    }),
  };
}

/** A module of the children: TypeScript here, JavaScript in a published package. */
const childModule = (name: string): URL => new URL(`../child/${name}${path.extname(import.meta.url)}`, import.meta.url);

/** The packages that the checker imports, and theirs. Deno looks for them in the folder that they lie in, too. */
function checkerPackages(runtime: RuntimeName): string[] {
  const ajv = packageFolder('ajv');
  const inner = ['fast-deep-equal', 'fast-uri', 'json-schema-traverse'].map((name) =>
    packageFolder(name, path.join(ajv, 'package.json'))
  );
  const folders = [ajv, packageFolder('re2js'), ...inner];
  return runtime === 'node' ? folders : [...new Set(folders.map((folder) => path.dirname(folder)))];
}
