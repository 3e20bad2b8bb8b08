// Makes the published package in dist/: JavaScript and declarations of src/, and a package.json of its own.
// Nothing at run time depends on it; in this repository the source runs as it is.

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = path.join(root, 'dist');
const command = 'bin/runwarden.js';

/** Older versions cannot even parse the rest, so what tells them apart is in words that they know. */
const launcher = `#!/usr/bin/env node
if (!process.versions.deno && Number(process.versions.node.split('.')[0]) < 24) {
  console.error('runwarden: Node 24 or later is required, this is ' + process.version);
  process.exit(1);
}
await import('../lib/cli/main.js');
`;

type Manifest = Readonly<Record<string, unknown>>;

/** The manifest of the package: what concerns work on it stays here. */
export function publishedManifest(manifest: Manifest): Manifest {
  const kept = ['name', 'version', 'description', 'license', 'type', 'engines', 'dependencies'] as const;
  const entry = (file: string) => ({ types: `./lib/client/${file}.d.ts`, default: `./lib/client/${file}.js` });
  return {
    ...Object.fromEntries(kept.map((key) => [key, manifest[key]])),
    bin: { runwarden: command },
    exports: {
      './client': entry('client'),
      './client/messages': entry('messages'),
      './package.json': './package.json',
    },
    os: ['linux'],
    cpu: ['x64', 'arm64'],
  };
}

function compile(): void {
  const tsc = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  const { status, error } = spawnSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`Cannot build: the compiler must leave with code 0, got ${status}`);
}

/** The compiler copies no declarations that are written by hand, and leaves `.ts` in the imports of those it makes. */
function finishDeclarations(): void {
  const lib = path.join(target, 'lib');
  for (const file of readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.d.ts')) cpSync(path.join(root, 'src', file), path.join(lib, file));
  }
  for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue;
    const text = readFileSync(path.join(lib, file), 'utf8');
    writeFileSync(path.join(lib, file), text.replace(/((?:from|import\()\s*')(\.[^']*)\.ts'/g, "$1$2.js'"));
  }
}

function makeCommand(): void {
  const file = path.join(target, command);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, launcher);
  chmodSync(file, 0o755);
}

function copyDocuments(): void {
  cpSync(path.join(root, 'examples'), path.join(target, 'examples'), { recursive: true });
  const documents = readdirSync(root).filter((name) => name.endsWith('.md') || name === 'LICENSE');
  for (const name of documents) cpSync(path.join(root, name), path.join(target, name));
  cpSync(path.join(root, 'docs'), path.join(target, 'docs'), {
    recursive: true,
    filter: (file) => !file.endsWith('.ts'),
  });
}

function build(): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  compile();
  finishDeclarations();
  makeCommand();
  copyDocuments();
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Manifest;
  writeFileSync(path.join(target, 'package.json'), JSON.stringify(publishedManifest(manifest), null, 2) + '\n');
}

if (import.meta.main) build();
