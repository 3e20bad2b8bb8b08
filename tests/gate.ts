// The one gate: versions, format, lint, types, documents, and the tests on both runtimes.
// Stops at the first step that fails, with its exit code; prints what each runner says.

import { spawn, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import process from 'node:process';

type Step = { readonly name: string; readonly command: readonly [string, ...string[]] };

const tests = globSync('tests/**/*_test.ts').sort();

const steps: readonly Step[] = [
  { name: 'format', command: ['deno', 'fmt', '--check'] },
  { name: 'lint', command: ['deno', 'lint'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'documents', command: ['node', 'docs/generate.ts', '--check'] },
  {
    name: 'tests on Node',
    command: [
      'node',
      '--test',
      '--test-timeout=180000',
      '--test-reporter=dot',
      '--test-reporter-destination=stdout',
      '--test-reporter=./tests/helpers/summary_reporter.ts',
      '--test-reporter-destination=stdout',
      ...tests,
    ],
  },
  { name: 'tests on Deno', command: ['deno', 'test', '-A', '--no-check', '--reporter=dot', ...tests] },
];

function requireVersions(): void {
  const node = process.version;
  if (!node.startsWith('v24.')) fail(`the gate needs Node 24, and this is ${node}: run it by npm test, after npm ci`);
  const deno = spawnSync('deno', ['--version'], { encoding: 'utf8' });
  if (!deno.stdout?.startsWith('deno 2.')) {
    fail(`the gate needs Deno 2, and deno --version says: ${deno.stdout || deno.error?.message}`);
  }
  process.stdout.write(`Node ${node}, ${deno.stdout.split('\n')[0]}\n`);
}

function fail(message: string): never {
  process.stderr.write(`gate: ${message}\n`);
  process.exit(1);
}

/** Runs a step with its output passed on; the answer is why it failed, if it did. */
function carryOut([program, ...args]: Step['command']): Promise<string | undefined> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let end = '';
  child.stdout.on('data', (chunk: Uint8Array) => {
    process.stdout.write(chunk);
    end = (end + new TextDecoder().decode(chunk)).slice(-2000);
  });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => {
      const skipped = /^ℹ (?:skipped|todo) [1-9]|\b[1-9]\d* ignored\b/m.exec(end);
      if (code !== 0) resolve(signal ?? `exit code ${code}`);
      // A skipped test is no test: whoever cannot run it has to see that.
      else resolve(skipped && process.env.CI ? `skipped tests: ${skipped[0]}` : undefined);
    });
  });
}

requireVersions();
if (tests.length === 0) fail('there are no tests');
for (const { name, command } of steps) {
  const from = performance.now();
  process.stdout.write(`\n== ${name}\n`);
  const failure = await carryOut(command);
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  if (failure !== undefined) fail(`${name} failed after ${seconds} s: ${failure}`);
  process.stdout.write(`== ${name}: ${seconds} s\n`);
}
