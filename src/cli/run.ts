// `run FILE`: one program against an embedded daemon with the workspace tools, progress on a terminal,
// the report on standard output. Needs no configuration and leaves nothing behind but spill files.

import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Client } from '../client/client.ts';
import { makeConfig } from '../config/config.ts';
import { Daemon } from '../daemon/daemon.ts';
import { createLog } from '../observe/log.ts';
import { progressLine } from './progress_line.ts';
import { UsageError } from './usage.ts';

const usage = `usage: runwarden run FILE [--cwd DIR] [--timeout SECONDS] [--json] [--quiet]

  FILE               a Lua program; - reads it from standard input
  --cwd DIR          the workspace of its tools read_file, list_files, search_files (default: the current folder)
  --timeout SECONDS  compute budget
  --json             print the outcome as JSON instead of the report
  --quiet            no progress on the terminal

Exit code: 0 if the program ended ok, 3 if it failed, 2 for a mistake on the command line, 1 for anything else.
`;

const failedCode = 3;

export async function runCommand(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      cwd: { type: 'string' },
      timeout: { type: 'string' },
      json: { type: 'boolean' },
      quiet: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) {
    throw new UsageError('run needs one FILE; see runwarden run --help');
  }
  const timeoutSecs = values.timeout === undefined ? undefined : Number(values.timeout);
  if (timeoutSecs !== undefined && !(timeoutSecs > 0)) {
    throw new UsageError(`--timeout must be a number of seconds above 0, got ${JSON.stringify(values.timeout)}`);
  }
  const program = readProgram(file);
  const cwd = resolveFolder(values.cwd ?? '.');

  // Private and short: the path of a socket is bounded.
  const scratch = mkdtempSync(path.join(tmpdir(), 'runwarden-'));
  const state = path.join(process.env.XDG_STATE_HOME || path.join(homedir(), '.local', 'state'), 'runwarden');
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Error('SIGINT')));
  process.once('SIGTERM', () => interrupted.abort(new Error('SIGTERM')));
  process.once('SIGHUP', () => interrupted.abort(new Error('SIGHUP')));
  try {
    const socket = path.join(scratch, 'socket');
    const config = makeConfig({ workspace: { tools: true, roots: [cwd] }, pool: { warm: 1 } });
    await using _daemon = await Daemon.start({
      socket,
      state,
      config,
      log: createLog({ level: 'error', json: false }),
    });
    await using client = await Client.connect({ socket, agent: 'runwarden-run', cwd });
    const line = progressLine(process.stderr, !values.quiet && process.stderr.isTTY === true);
    const outcome = await client.runCode(program, {
      intent: path.basename(file),
      signal: interrupted.signal,
      progress: line.show,
      ...(timeoutSecs === undefined ? {} : { timeoutSecs }),
    });
    line.clear();
    process.stdout.write(values.json ? JSON.stringify(outcome, jsonValue, 2) + '\n' : outcome.report);
    return outcome.kind === 'ok' ? 0 : failedCode;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function readProgram(file: string): Uint8Array {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new UsageError(`Cannot read program ${JSON.stringify(file)}: ${(error as Error).message}`);
  }
}

function resolveFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    throw new UsageError(`Cannot use --cwd ${JSON.stringify(folder)}: ${(error as Error).message}`);
  }
}

const jsonValue = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint'
    ? String(value)
    : value instanceof Uint8Array
    ? Buffer.from(value).toString('base64')
    : value;
