// The modules of a child as plain JavaScript in a folder of their own: made once for each content, then kept.
// A child is started from them because stripping types costs each start some 200 ms, and may read nothing else.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

// One statement a line is how the source is written; anything else fails `rewriteImports`' own check.
const importPattern = /^(import\s*|(?:import|export)\b[^'"=();]*\bfrom\s*)(['"])([^'"]+)\2/gm;

/**
 * Strips an entry module and all that it imports by relative paths, and adds files that it reads.
 * @param options.entry URL of the entry module
 * @param options.files further files, by the name under which the child finds them in the folder
 * @param options.cache folder below which the result is kept, by the hash of its content
 * @returns the folder, and the entry's path in it
 */
export function stripModules(
  options: { entry: URL; files: Readonly<Record<string, string>>; cache: string },
): { folder: string; entry: string } {
  const modules = collect(fileURLToPath(options.entry));
  const root = commonFolder([...modules.keys()]);
  const target = (module: string) => path.relative(root, module).replace(/\.ts$/, '.js');
  const contents = new Map<string, string | Uint8Array>();
  for (const [module, text] of modules) contents.set(target(module), text);
  for (const [name, file] of Object.entries(options.files)) contents.set(name, readFileSync(file));
  contents.set('package.json', '{"type":"module"}\n');

  const hash = createHash('sha256');
  for (const [name, content] of [...contents].sort()) hash.update(`${name}\0${content.length}\0`).update(content);
  const folder = path.join(options.cache, hash.digest('hex').slice(0, 32));
  if (!isWhole(contents, folder)) place(contents, folder);
  return { folder, entry: path.join(folder, target(fileURLToPath(options.entry))) };
}

/** Whether the folder holds these files: children run them, so what stands there is not taken on trust. */
function isWhole(contents: ReadonlyMap<string, string | Uint8Array>, folder: string): boolean {
  try {
    return [...contents].every(([name, content]) =>
      readFileSync(path.join(folder, name)).equals(Buffer.from(content as string))
    );
  } catch {
    return false; // Something is missing or cannot be read: the folder is made anew.
  }
}

/** Writes beside the place and renames, so that what stands there is always whole. */
function place(contents: ReadonlyMap<string, string | Uint8Array>, folder: string): void {
  mkdirSync(path.dirname(folder), { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(`${folder}.`);
  try {
    for (const [name, content] of contents) {
      mkdirSync(path.dirname(path.join(draft, name)), { recursive: true });
      writeFileSync(path.join(draft, name), content);
    }
    putInPlace(draft, contents, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function putInPlace(draft: string, contents: ReadonlyMap<string, string | Uint8Array>, folder: string): void {
  try {
    renameSync(draft, folder);
  } catch {
    // Something stands there: the same content, placed by another process first, or a damaged copy.
    if (isWhole(contents, folder)) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  }
}

/** The stripped text of the module and of all modules that it reaches by relative imports, by path. */
function collect(entry: string): Map<string, string> {
  const found = new Map<string, string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    const source = readFileSync(file, 'utf8');
    // A published package has been stripped before.
    const { text, imports } = rewriteImports(file.endsWith('.ts') ? strip(source) : source, file);
    found.set(file, text);
    waiting.push(...imports);
  }
  return found;
}

function strip(source: string): string {
  const emitWarning = process.emitWarning;
  // Node calls stripping through its API experimental on the terminal of whoever starts a daemon;
  // the same stripping without the API, by which this module was loaded, is not.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { mode: 'strip' });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function rewriteImports(text: string, file: string): { text: string; imports: string[] } {
  const imports: string[] = [];
  const rewritten = text.replace(importPattern, (whole, before: string, quote: string, specifier: string) => {
    if (specifier.startsWith('node:')) return whole;
    if (specifier.startsWith('.')) {
      imports.push(path.resolve(path.dirname(file), specifier));
      return `${before}${quote}${specifier.replace(/\.ts$/, '.js')}${quote}`;
    }
    // A package: the folder of the stripped modules has none, so its place is written out.
    return `${before}${quote}${import.meta.resolve(specifier)}${quote}`;
  });
  const left = /(?:from|import)\s*\(?\s*['"][^'"]+\.ts['"]/.exec(rewritten);
  if (left) {
    throw new Error(`Cannot strip ${file}: an import must be a statement at the start of a line, found ${left[0]}`);
  }
  return { text: rewritten, imports };
}

function commonFolder(files: readonly string[]): string {
  let folder = path.dirname(files[0]!);
  while (folder !== path.dirname(folder) && !files.every((file) => file.startsWith(folder + path.sep))) {
    folder = path.dirname(folder);
  }
  return folder;
}

/** The path of a file of a package, as seen from this project. */
export function packageFile(specifier: string): string {
  return fileURLToPath(import.meta.resolve(specifier));
}

/** The folder of a package as seen from the file `from`, wherever the package manager has put it. */
export function packageFolder(name: string, from: string = fileURLToPath(import.meta.url)): string {
  const resolved = createRequire(from).resolve(name);
  const marker = path.join('node_modules', name) + path.sep;
  const at = resolved.lastIndexOf(marker);
  if (at < 0) throw new Error(`Cannot find the folder of package ${name}: ${resolved} does not lie in node_modules`);
  return resolved.slice(0, at + marker.length - 1);
}
