// The rules of the layout, held against every file of src/: imports go down only, types too. Every rule is also
// shown to catch what it forbids, on small trees of files that exist only here.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Folders of src/ by layer, lowest first. */
const layers: readonly (readonly string[])[] = [
  ['runtime', 'observe', 'protocol'],
  ['config', 'journal', 'languages', 'client'],
  ['child', 'supervisor'],
  ['tools'],
  ['runs'],
  ['transports'],
  ['daemon'],
  ['cli'],
];
const mostLines = 300;

const reasons = {
  upward: 'imports go down only, so that a lower layer can be read, tested and replaced without the higher ones',
  sideways: 'folders of one layer do not import each other, so that each stands by itself',
  client: 'the client imports protocol/ only, so that it can be taken out of this package',
  apart:
    'child/ and supervisor/ never import each other: what runs in a child never runs in the daemon; they share protocol/child_messages.ts',
  cycle: 'files do not import each other in a circle, types too: one of them holds something that belongs in a third',
  long: `a file has at most ${mostLines} lines: split it by noun`,
  unknown: 'every file of src/ lies in a folder of the layout, so that it has a layer',
  missing: 'an import names a file of src/ by its path, with .ts',
  unread: 'an import is a plain statement or import("…"), so that it can be read without running anything',
};

type Files = ReadonlyMap<string, string>;

const folderOf = (file: string): string => file.split('/')[0]!;
const layerOf = (file: string): number => layers.findIndex((folders) => folders.includes(folderOf(file)));
const complaint = (rule: keyof typeof reasons, what: string): string => `${what}: ${reasons[rule]}`;

const importForms = [
  /^[ \t]*(?:import|export)\b[^'";]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^[ \t]*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\s*\(\s*['"]([^'"]+)['"]/g,
];

/** The relative imports of a module, as written; and relative paths of modules in it that are none. */
function readImports(text: string): { imports: string[]; others: string[] } {
  const code = text.replace(/^[ \t]*(?:\/\/|\/?\*).*$/gm, '');
  const imports = importForms.flatMap((form) => [...code.matchAll(form)].map(([, specifier]) => specifier!))
    .filter((specifier) => specifier.startsWith('.'));
  // The entry of another process is named by its URL; nothing of it is imported.
  const plain = code.replace(/new URL\(\s*(['"`])[^'"`]*\1/g, '');
  const quoted = [...plain.matchAll(/['"`](\.{1,2}\/[^'"`\n]*\.[jt]s)['"`]/g)].map(([, specifier]) => specifier!);
  return { imports, others: quoted.filter((specifier) => !imports.includes(specifier)) };
}

function checkEdge(from: string, to: string): string | undefined {
  const [source, target] = [folderOf(from), folderOf(to)];
  const edge = `${from} imports ${to}`;
  if (source === target) return undefined;
  if (source === 'client' && target !== 'protocol') return complaint('client', edge);
  if ([source, target].sort().join() === 'child,supervisor') return complaint('apart', edge);
  if (layerOf(to) > layerOf(from)) return complaint('upward', edge);
  if (layerOf(to) === layerOf(from)) return complaint('sideways', edge);
  return undefined;
}

/** Each circle once, from the file at which it was entered. */
function findCycles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    const at = way.indexOf(file);
    if (at >= 0) found.push(complaint('cycle', [...way.slice(at), file].join(' -> ')));
    if (at >= 0 || done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return found;
}

/** @param files text by path below src/ */
function checkLayout(files: Files): string[] {
  const edges = new Map<string, string[]>();
  const problems: string[] = [];
  for (const [file, text] of files) {
    const lines = text.split('\n').length - 1;
    if (lines > mostLines) problems.push(complaint('long', `${file} has ${lines} lines`));
    if (layerOf(file) < 0) {
      problems.push(complaint('unknown', file));
      continue;
    }
    const { imports, others } = readImports(text);
    for (const other of others) problems.push(complaint('unread', `${file} names ${other}`));
    const targets = imports.map((specifier) => path.posix.join(path.posix.dirname(file), specifier));
    edges.set(file, targets.filter((target) => files.has(target)));
    for (const target of targets) {
      if (!files.has(target)) problems.push(complaint('missing', `${file} imports ${target}`));
      else problems.push(checkEdge(file, target) ?? '');
    }
  }
  return [...problems.filter((problem) => problem !== ''), ...findCycles(edges)];
}

function readSource(): Files {
  const root = fileURLToPath(new URL('../../src/', import.meta.url));
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).sort();
  return new Map(names.map((name) => [name.split(path.sep).join('/'), readFileSync(path.join(root, name), 'utf8')]));
}

test('the source keeps the rules of the layout', () => {
  const files = readSource();
  assert.ok(files.size > 50, `src/ must have been found, got ${files.size} files`);
  assert.deepEqual(checkLayout(files), []);
});

test('every import statement of the source is seen', () => {
  for (const [file, text] of readSource()) {
    const statements = text.match(/^(?:import\b|export\b[^=(]*?\bfrom\b)/gm)?.length ?? 0;
    const read = importForms.slice(0, 2).flatMap((form) => [...text.matchAll(form)]).length;
    assert.equal(read, statements, file);
  }
});

/** The complaints about a tree of small files, each given by its text. */
const complaints = (tree: Readonly<Record<string, string>>): string[] => checkLayout(new Map(Object.entries(tree)));
const importing = (specifier: string): string => `import { it } from '${specifier}';\n`;
const empty = 'export const it = 1;\n';

test('a tree that keeps the rules gives no complaint', () => {
  const tree = {
    'protocol/wire.ts': importing('node:path'),
    'client/client.ts': importing('../protocol/wire.ts') + importing('./answers.ts'),
    'client/answers.ts': empty,
    'runs/run.ts': `// import { it } from '../cli/main.ts';\n` + importing('../protocol/wire.ts'),
    'tools/providers/agent.ts': importing('../../protocol/wire.ts') + importing('../catalogue.ts'),
    'tools/catalogue.ts': empty,
    'daemon/launches.ts': `const entry = new URL('../child/main.ts', import.meta.url);\n`,
    'child/main.ts': empty,
  };
  assert.deepEqual(complaints(tree), []);
});

const upward: Readonly<Record<string, string>> = {
  'an import': importing('../runs/run.ts'),
  'an import over several lines': `import {\n  it,\n} from '../runs/run.ts';\n`,
  'an import of types': `import type { It } from '../runs/run.ts';\n`,
  'an import for its effect': `import '../runs/run.ts';\n`,
  'an export of what another holds': `export { it } from '../runs/run.ts';\n`,
  'an export of everything': `export * from '../runs/run.ts';\n`,
  'an import at run time': `const it = await import('../runs/run.ts');\n`,
  'a type that is imported in place': `type It = import('../runs/run.ts').It;\n`,
};
for (const [form, text] of Object.entries(upward)) {
  test(`${form} that goes up is found`, () => {
    assert.deepEqual(complaints({ 'tools/names.ts': text, 'runs/run.ts': empty }), [
      `tools/names.ts imports runs/run.ts: ${reasons.upward}`,
    ]);
  });
}

const broken: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  [
    'an import between folders of one layer',
    { 'config/config.ts': importing('../languages/language.ts'), 'languages/language.ts': empty },
    `config/config.ts imports languages/language.ts: ${reasons.sideways}`,
  ],
  [
    'an import between folders of the lowest layer',
    { 'runtime/native.ts': importing('../protocol/wire.ts'), 'protocol/wire.ts': empty },
    `runtime/native.ts imports protocol/wire.ts: ${reasons.sideways}`,
  ],
  [
    'a client that imports more than the protocol',
    { 'client/client.ts': importing('../observe/log.ts'), 'observe/log.ts': empty },
    `client/client.ts imports observe/log.ts: ${reasons.client}`,
  ],
  [
    'a supervisor that imports the child',
    { 'supervisor/child.ts': importing('../child/main.ts'), 'child/main.ts': empty },
    `supervisor/child.ts imports child/main.ts: ${reasons.apart}`,
  ],
  [
    'a child that imports the supervisor',
    { 'child/main.ts': importing('../supervisor/child.ts'), 'supervisor/child.ts': empty },
    `child/main.ts imports supervisor/child.ts: ${reasons.apart}`,
  ],
  [
    'a circle of three files',
    { 'runs/a.ts': importing('./b.ts'), 'runs/b.ts': importing('./c.ts'), 'runs/c.ts': importing('./a.ts') },
    `runs/a.ts -> runs/b.ts -> runs/c.ts -> runs/a.ts: ${reasons.cycle}`,
  ],
  [
    'a circle of types',
    { 'runs/a.ts': `import type { B } from './b.ts';\n`, 'runs/b.ts': `import type { A } from './a.ts';\n` },
    `runs/a.ts -> runs/b.ts -> runs/a.ts: ${reasons.cycle}`,
  ],
  ['a file that is too long', { 'runs/run.ts': '\n'.repeat(301) }, `runs/run.ts has 301 lines: ${reasons.long}`],
  ['a folder outside of the layout', { 'utils/text.ts': empty }, `utils/text.ts: ${reasons.unknown}`],
  [
    'an import of a file that is not there',
    { 'runs/run.ts': importing('./gone.ts') },
    `runs/run.ts imports runs/gone.ts: ${reasons.missing}`,
  ],
  [
    'an import that cannot be read',
    { 'runs/run.ts': `const name = './call.ts';\nawait import(name);\n`, 'runs/call.ts': empty },
    `runs/run.ts names ./call.ts: ${reasons.unread}`,
  ],
];
for (const [what, tree, expected] of broken) {
  test(`${what} is found`, () => assert.deepEqual(complaints(tree), [expected]));
}
