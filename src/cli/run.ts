// `run FILE`: one program against an embedded daemon with the workspace tools, progress on a terminal,
// the report on standard output. Needs no configuration; leaves behind spill files and the children's prepared modules.

import { Buffer } from 'node:buffer';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { Client } from '../client/client.ts';
import { makeConfig } from '../config/config.ts';
import { Daemon } from '../daemon/daemon.ts';
import { createLog } from '../observe/log.ts';
import { defaultMostComputeMs } from '../protocol/limits.ts';
import { progressLine } from './progress_line.ts';
import { UsageError } from './usage.ts';

const usage = `usage: runwarden run FILE [--cwd DIR] [--timeout SECONDS] [--json] [--quiet]

  FILE               a Lua program; - reads it from standard input
  --cwd DIR          the workspace of its tools read_file, list_files, search_files (default: the current folder)
  --timeout SECONDS  compute budget, 30 by default, at most 120
  --json             print the outcome as JSON instead of the report; 64-bit integers as text, bytes as {"base64": ...}
  --quiet            no progress on the terminal

Exit code: 0 if the program ended ok, 3 if it failed, 2 for a mistake on the command line, 1 for anything else.
`;

const failedCode = 3;
const mostSecs = defaultMostComputeMs / 1000;

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
  if (timeoutSecs !== undefined && !(timeoutSecs > 0 && timeoutSecs <= mostSecs)) {
    throw new UsageError(
      `--timeout must be a number of seconds above 0 and at most ${mostSecs}, got ${JSON.stringify(values.timeout)}`,
    );
  }
  const program = await readProgram(file);
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
    const report = process.stdout.isTTY ? printable(outcome.report) : outcome.report;
    await print(values.json ? JSON.stringify(outcome, jsonValue, 2) + '\n' : report);
    return outcome.kind === 'ok' ? 0 : failedCode;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function readProgram(file: string): Promise<Uint8Array> {
  try {
    return file === '-' ? await buffer(process.stdin) : readFileSync(file);
  } catch (error) {
    throw new UsageError(`Cannot read program ${JSON.stringify(file)}: ${(error as Error).message}`);
  }
}

function resolveFolder(folder: string): string {
  const refuse = (reason: string) => new UsageError(`Cannot use --cwd ${JSON.stringify(folder)}: ${reason}`);
  let resolved: string;
  try {
    resolved = realpathSync(folder);
  } catch (error) {
    throw refuse((error as Error).message);
  }
  if (!statSync(resolved).isDirectory()) throw refuse('it is no folder');
  return resolved;
}

/** Fulfilled when standard output has taken the text; rejected if it cannot, as on a full disk. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => error ? reject(error) : resolve());
  });
}

/** For a terminal: what a program printed must not steer it. Line ends and tabs stay. */
const printable = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, '\ufffd');

/** As JSON has neither: a 64-bit integer as text, bytes as `{"base64": ...}`. */
function jsonValue(this: unknown, key: string, value: unknown): unknown {
  const own = (this as Record<string, unknown>)[key];
  if (own instanceof Uint8Array) return { base64: Buffer.from(own).toString('base64') };
  return typeof value === 'bigint' ? String(value) : value;
}
