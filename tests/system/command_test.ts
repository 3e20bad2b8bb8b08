// The command as people and scripts use it: `run` with its exit codes, help, and mistakes on the line.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, test } from 'node:test';
import { commandFor, projectFolder, runCommand, until } from '../helpers/daemon.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'rw-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const env = { XDG_STATE_HOME: path.join(folder, 'state'), TMPDIR: folder };
const run = (args: string[], input?: string) =>
  runCommand(args, { env, ...(input === undefined ? {} : { input }) }).ended;

test('a program from a file runs against the workspace tools, and the report is on standard output', async () => {
  writeFileSync(path.join(folder, 'count.lua'), 'local t = tool.read_file{path = "src/cli/main.ts"} print(#t > 0)');
  const { code, stdout, stderr } = await run(['run', path.join(folder, 'count.lua')]);
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^run_code ok \(1 tool call, \d\.\d\ds compute\)\n\noutput:\ntrue\n\ncalls:\n {2}1 read_file \{"path":"src\/cli\/main\.ts"\} -> ok, \d+ bytes\n$/,
  );
  assert.equal(stderr, '');
});

test('a program from standard input that fails gives exit code 3 and its report', async () => {
  const { code, stdout } = await run(['run', '-'], 'error("no")');
  assert.equal(code, 3);
  assert.match(stdout, /^run_code error: program:1: no\n/);
});

test('a program that comes late on standard input, and in parts, is waited for', async () => {
  const [executable, line] = commandFor('run', '-');
  const child = spawn(executable, line, {
    cwd: projectFolder,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let stdout = '';
  child.stdout.on('data', (chunk) => stdout += chunk);
  // Read from the start: what waits for the input must not depend on when it comes.
  await new Promise((resolve) => setTimeout(resolve, 300));
  child.stdin.write('print("one") ');
  await new Promise((resolve) => setTimeout(resolve, 100));
  child.stdin.end('print("two")');
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0);
  assert.match(stdout, /output:\none\ntwo\n/);
});

test('standard output that cannot be written to is told, and nothing is left behind', async () => {
  const [executable, line] = commandFor('run', 'examples/first.lua', '--cwd', 'examples');
  const child = spawn('sh', ['-c', 'exec "$0" "$@" > /dev/full', executable, ...line], {
    cwd: projectFolder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => stderr += chunk);
  assert.equal(await new Promise((resolve) => child.on('close', resolve)), 1);
  assert.match(stderr, /^runwarden: .*ENOSPC|no space/i);
  assert.ok(!readdirSync(folder).some((name) => name.startsWith('runwarden-')));
});

test('bytes in the outcome as JSON are told from text', async () => {
  const { stdout } = await run(['run', '-', '--json'], 'io.write("\\xff\\0")');
  assert.deepEqual(JSON.parse(stdout).output, { base64: '/wA=' });
});

test('the outcome as JSON is data', async () => {
  const { code, stdout } = await run(['run', '-', '--json'], 'print("x")');
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout).output, 'x\n');
});

test('the compute budget is taken from the line', async () => {
  const { code, stdout } = await run(['run', '-', '--timeout', '0.2'], 'while true do end');
  assert.equal(code, 3);
  assert.match(stdout, /^run_code time: the compute budget of 0\.2 s is used up/);
});

test('SIGINT interrupts the program, and its report still comes', async () => {
  const running = runCommand(['run', '-'], { env, input: 'print("begun") while true do end' });
  await until(() => readdirSync(folder).some((name) => name.startsWith('runwarden-')), 'the command works');
  // The program has to have been handed over: its state folder holds the modules only once it has.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  process.kill(running.child.pid!, 'SIGINT');
  const { code, stdout } = await running.ended;
  assert.equal(code, 3, stdout);
  assert.match(stdout, /^run_code interrupted: cancelled: SIGINT/);
  assert.ok(!readdirSync(folder).some((name) => name.startsWith('runwarden-')));
});

const mistakes: [string[], RegExp][] = [
  [['frobnicate'], /^runwarden: there is no verb "frobnicate"; the verbs are serve, run\n$/],
  [['run'], /^runwarden: run needs one FILE; see runwarden run --help\n$/],
  [['run', 'none.lua'], /^runwarden: Cannot read program "none.lua": ENOENT/],
  [['run', 'package.json', '--cwd', '/none'], /^runwarden: Cannot use --cwd "\/none": ENOENT/],
  [
    ['run', 'package.json', '--timeout', 'soon'],
    /^runwarden: --timeout must be a number of seconds above 0 and at most 120, got "soon"\n$/,
  ],
  [['run', 'package.json', '--timeout', 'Infinity'], /^runwarden: --timeout must be a number/],
  [['run', 'package.json', '--cwd', 'package.json'], /it is no folder\n$/],
  [['serve'], /^runwarden: serve needs --socket PATH and --state DIR; see runwarden serve --help\n$/],
  [
    ['serve', '--socket', 'x', '--state', 'y', '--log-level', 'loud'],
    /^runwarden: --log-level must be one of debug, info, warn, error, silent, got "loud"\n$/,
  ],
  [['serve', '--sockt', 'x'], /^runwarden: Unknown option '--sockt'/],
];

test('mistakes on the line are told in one line, with exit code 2', async () => {
  for (const [args, says] of mistakes) {
    const { code, stderr } = await run(args);
    assert.equal(code, 2, `${args}: ${stderr}`);
    assert.match(stderr, says);
  }
});

test('help and version are told', async () => {
  assert.match((await run(['--help'])).stdout, /usage: runwarden VERB/);
  assert.match((await run(['run', '--help'])).stdout, /usage: runwarden run FILE/);
  assert.match((await run(['serve', '--help'])).stdout, /usage: runwarden serve/);
  assert.match((await run(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
});

test('the demonstration reads some dozens of real files in one run', async () => {
  const { code, stdout } = await run([
    'run',
    'examples/survey.lua',
    '--cwd',
    path.join(projectFolder, 'node_modules/ajv'),
  ]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^run_code ok \(5\d tool calls/);
  assert.match(stdout, /\n50 of \d+ files read: \d{4,} lines/);
});
