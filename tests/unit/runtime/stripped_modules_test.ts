// The modules of a child as plain JavaScript: what becomes of their imports, and where they are kept.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { packageFile, packageFolder, stripModules } from '../../../src/runtime/stripped_modules.ts';

const run = promisify(execFile);

type Made = {
  cache: string;
  strip: (entry?: string, files?: Record<string, string>) => { folder: string; entry: string };
  source: string;
};

/** Writes sources, by path, below a folder of their own. */
async function withSources(sources: Record<string, string>, use: (made: Made) => Promise<void> | void): Promise<void> {
  const root = mkdtempSync(path.join(tmpdir(), 'strip-'));
  try {
    const source = path.join(root, 'source');
    for (const [name, text] of Object.entries(sources)) {
      mkdirSync(path.dirname(path.join(source, name)), { recursive: true });
      writeFileSync(path.join(source, name), text);
    }
    const cache = path.join(root, 'cache');
    const strip: Made['strip'] = (entry = 'main.ts', files = {}) =>
      stripModules({ entry: pathToFileURL(path.join(source, entry)), files, cache });
    await use({ cache, strip, source });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

test('imports of every form are rewritten, and types are gone', async () => {
  await withSources({
    'main.ts': [
      "import process from 'node:process';",
      "import { a } from './a.ts';",
      'import {',
      '  b,',
      '  type Kind,',
      '  c as renamed,',
      "} from './lib/b.ts';",
      "import * as all from './lib/all.ts';",
      "import fallback, { d } from './d.ts';",
      "import './effect.ts';",
      "import type { Only } from './types_only.ts';",
      "export type { Other } from './types_only.ts';",
      "export { e } from './e.ts';",
      "export * from './f.ts';",
      "export * as g from './g.ts';",
      'const value: Kind & Only = 1 as never;',
      'console.log(a + b + renamed + all.x + fallback + d, value, process.argv.length > 0);',
    ].join('\n'),
    'a.ts': "export const a: string = 'a';",
    'lib/b.ts':
      "import { x } from './all.ts';\nimport { a } from '../a.ts';\nexport type Kind = number;\nexport const b = x + a, c = 'c';",
    'lib/all.ts': "export const x = 'x';",
    'd.ts': "export default 'fallback';\nexport const d = 'd';",
    'e.ts': 'export const e = 1;',
    'f.ts': 'export const f = 1;',
    'g.ts': 'export const g = 1;',
    'effect.ts': "console.log('effect');",
    'types_only.ts': 'export type Only = number; export type Other = string;',
  }, async ({ strip }) => {
    const { folder, entry } = strip();
    assert.equal(entry, path.join(folder, 'main.js'));
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
    assert.ok(!files.some((file) => file.endsWith('.ts')) && !files.includes('types_only.js'), files.join());
    const text = readFileSync(entry, 'utf8');
    assert.ok(!text.includes(".ts'") && !text.includes('Kind'), text);
    // Lines stay where they were, so that positions in errors are those of the source.
    assert.equal(text.split('\n').length, 17);
    const { stdout } = await run(process.execPath, 'deno' in process.versions ? ['run', '--quiet', entry] : [entry], {
      cwd: folder,
    });
    assert.equal(stdout, 'effect\naxaccxfallbackd 1 true\n'.replace('axaccx', 'axacx'));
  });
});

test('packages are imported from where they are', async () => {
  await withSources({
    'main.ts': "import { Packr } from 'msgpackr';\nimport {\n  z,\n} from 'zod';\nexport { Packr, z };",
  }, ({ strip }) => {
    const text = readFileSync(strip().entry, 'utf8');
    for (const name of ['msgpackr', 'zod']) {
      assert.ok(text.includes(`'${import.meta.resolve(name)}'`), text);
      assert.ok(existsSync(packageFile(name)));
    }
  });
});

test('an import of a module of types that is no statement at the start of a line is refused', async () => {
  const table: Record<string, string> = {
    "const later = await import('./a.ts');": "import('./a.ts'",
    "if (true) await import( './a.ts' );": "import( './a.ts'",
    "const x = 1; import { a } from './a.ts';": "from './a.ts'",
    "  import { a } from './a.ts';": "from './a.ts'",
    "import { a /* it's */ } from './a.ts';": "from './a.ts'",
    "const text = `import './a.ts'`;": "import './a.ts'",
  };
  for (const [source, found] of Object.entries(table)) {
    await withSources({ 'main.ts': source, 'a.ts': 'export const a = 1;' }, ({ strip, source: folder, cache }) => {
      assert.throws(
        () => strip(),
        new Error(
          `Cannot strip ${
            path.join(folder, 'main.ts')
          }: an import must be a statement at the start of a line, found ${found}`,
        ),
        source,
      );
      assert.equal(existsSync(cache), false);
    });
  }
});

test('an import that does not exist is refused', async () => {
  await withSources({ 'main.ts': "import './missing.ts';" }, ({ strip }) => {
    assert.throws(() => strip(), { code: 'ENOENT' });
  });
});

test('modules that import one another in a circle are taken once', async () => {
  await withSources({
    'main.ts': "import { b } from './b.ts';\nexport const a = () => b;",
    'b.ts': "import { a } from './main.ts';\nexport const b = () => a;",
  }, ({ strip }) => {
    assert.deepEqual(readdirSync(strip().folder).sort(), ['b.js', 'main.js', 'package.json']);
  });
});

test('further files lie beside the modules under their names', async () => {
  await withSources({ 'main.ts': 'export {};', 'data.bin': '\u0000\u00ff' }, ({ strip, source }) => {
    const { folder } = strip('main.ts', { 'deep/glue.wasm': path.join(source, 'data.bin') });
    assert.deepEqual(readFileSync(path.join(folder, 'deep/glue.wasm')), readFileSync(path.join(source, 'data.bin')));
    assert.equal(readFileSync(path.join(folder, 'package.json'), 'utf8'), '{"type":"module"}\n');
  });
});

test('the same content has the same folder and is made once; other content has another', async () => {
  await withSources(
    { 'main.ts': "import './a.ts';", 'a.ts': 'export const a: number = 1;' },
    ({ strip, source, cache }) => {
      const first = strip();
      utimesSync(first.entry, 1000, 1000);
      utimesSync(path.join(source, 'a.ts'), 2000, 2000);
      assert.deepEqual(strip(), first);
      assert.equal(statSync(first.entry).mtimeMs, 1_000_000);
      writeFileSync(path.join(source, 'a.ts'), 'export const a: number = 2;');
      const second = strip();
      assert.notEqual(second.folder, first.folder);
      assert.equal(readdirSync(cache).length, 2);
      writeFileSync(path.join(source, 'a.ts'), 'export const a: number = 1;');
      assert.deepEqual(strip(), first);
    },
  );
});

test('content that is divided otherwise between files has another folder', async () => {
  const folders: string[] = [];
  for (
    const sources of [{ 'main.ts': "import './ab.ts';", 'ab.ts': '1' }, {
      'main.ts': "import './ab.ts'",
      'ab.ts': ';1',
    }]
  ) {
    await withSources(sources, ({ strip }) => void folders.push(path.basename(strip().folder)));
  }
  assert.notEqual(folders[0], folders[1]);
});

test('several that make the same at once all get it whole, and leave no drafts', async () => {
  const sources: Record<string, string> = {
    'main.ts': Array.from({ length: 30 }, (_, i) => `import './m${i}.ts';`).join('\n'),
  };
  for (let i = 0; i < 30; i++) sources[`m${i}.ts`] = `export const m${i}: number = ${i};`;
  await withSources(sources, async ({ source, cache }) => {
    const module = new URL('../../../src/runtime/stripped_modules.ts', import.meta.url).href;
    const script = path.join(path.dirname(cache), 'maker.mjs');
    writeFileSync(
      script,
      `import { stripModules } from ${JSON.stringify(module)};
      console.log(JSON.stringify(stripModules({ entry: new URL(${
        JSON.stringify(pathToFileURL(path.join(source, 'main.ts')).href)
      }), files: {}, cache: ${JSON.stringify(cache)} })));`,
    );
    const line = 'deno' in process.versions ? ['run', '-A', '--no-check', '--quiet', script] : [script];
    const cwd = path.dirname(path.dirname(path.dirname(new URL(import.meta.url).pathname)));
    const made = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, line, { cwd })));
    const places = made.map(({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1)!) as { folder: string });
    assert.equal(new Set(places.map(({ folder }) => folder)).size, 1);
    assert.deepEqual(readdirSync(cache), [path.basename(places[0]!.folder)]);
    assert.equal(readdirSync(places[0]!.folder).length, 32);
  });
});

test('stripping warns nobody, and leaves the warnings of others as they were', async () => {
  const before = process.emitWarning;
  await withSources({ 'main.ts': 'export const a: number = 1;' }, ({ strip }) => void strip());
  assert.equal(process.emitWarning, before);
  await withSources({ 'main.ts': 'export const a: = 1;' }, ({ strip }) => assert.throws(() => strip()));
  assert.equal(process.emitWarning, before);
});

test('the folder of a package is where its files are', () => {
  for (const name of ['msgpackr', 'wasmoon']) {
    const folder = packageFolder(name);
    assert.equal(JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).name, name);
  }
  assert.throws(() => packageFolder('no-such-package-at-all'));
});
