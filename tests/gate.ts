// The one gate: versions, format, lint, types, documents, and the tests on both runtimes.
// Stops at the first step that fails, with its exit code; prints what each runner says.

import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import process from 'node:process';

type Step = { readonly name: string; readonly command: readonly [string, ...string[]] };

const tests = globSync('tests/**/*_test.ts').sort();

const steps: readonly Step[] = [
  { name: 'format', command: ['deno', 'fmt', '--check'] },
  { name: 'lint', command: ['deno', 'lint'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'documents', command: ['node', 'docs/generate.ts', '--check'] },
  { name: 'tests on Node', command: ['node', '--test', '--test-timeout=180000', '--test-reporter=dot', '--test-reporter-destination=stdout', '--test-reporter=tests/helpers/summary_reporter.ts', '--test-reporter-destination=stdout', ...tests] },
  { name: 'tests on Deno', command: ['deno', 'test', '-A', '--no-check', '--reporter=dot', ...tests] },
];

function requireVersions(): void {
  const node = process.version;
  if (!node.startsWith('v24.')) fail(`the gate needs Node 24, and this is ${node}: run it by npm test, after npm ci`);
  const deno = spawnSync('deno', ['--version'], { encoding: 'utf8' });
  if (!deno.stdout?.startsWith('deno 2.')) fail(`the gate needs Deno 2, and deno --version says: ${deno.stdout || deno.error?.message}`);
  process.stdout.write(`Node ${node}, ${deno.stdout.split('\n')[0]}\n`);
}

function fail(message: string): never {
  process.stderr.write(`gate: ${message}\n`);
  process.exit(1);
}

requireVersions();
if (tests.length === 0) fail('there are no tests');
for (const { name, command: [program, ...args] } of steps) {
  const from = performance.now();
  process.stdout.write(`\n== ${name}\n`);
  const { status, signal, error } = spawnSync(program, args, { stdio: 'inherit' });
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  if (status !== 0) fail(`${name} failed after ${seconds} s (${error?.message ?? signal ?? `exit code ${status}`})`);
  process.stdout.write(`== ${name}: ${seconds} s\n`);
}
