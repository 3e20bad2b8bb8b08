// Daemons for system tests: in this process, or as a process of its own where its death is the point.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Client, type ConnectOptions } from '../../src/client/client.ts';
import type { AgentTools } from '../../src/client/messages.ts';
import { type Config, makeConfig } from '../../src/config/config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { createLog } from '../../src/observe/log.ts';

export type Given = { readonly [Key in keyof Config]?: Partial<Config[Key]> };

/** Stripped modules are shared by all daemons of the tests: they are found by their content. */
const modules = path.join(tmpdir(), `runwarden-tests-${process.getuid?.() ?? 0}`);

export class TestDaemon {
  readonly folder: string;
  readonly workspace: string;
  readonly socket: string;
  readonly state: string;
  readonly logged: string[] = [];
  #daemon: Daemon | undefined;

  private constructor() {
    this.folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'rw-')));
    this.workspace = path.join(this.folder, 'workspace');
    this.socket = path.join(this.folder, 's', 'rw.sock');
    this.state = path.join(this.folder, 'state');
    mkdirSync(this.workspace);
  }

  static async start(given: Given = {}): Promise<TestDaemon> {
    const test = new TestDaemon();
    const config = makeConfig({ ...given, workspace: { roots: [test.folder], ...given.workspace } });
    const log = createLog({ level: 'debug', json: true, write: (line) => void test.logged.push(line) });
    test.#daemon = await Daemon.start({ socket: test.socket, state: test.state, config, log, modules });
    return test;
  }

  connect(tools: AgentTools = {}, options: Partial<ConnectOptions> = {}): Promise<Client> {
    return Client.connect({ socket: this.socket, agent: 'tester', cwd: this.workspace, tools, ...options });
  }

  /** The processes that have been given a program, in order, from the daemon's own log. */
  assigned(): number[] {
    return this.logged.filter((line) => line.includes('"event":"assigned"') && line.includes('"pid"')).map((line) =>
      JSON.parse(line).pid
    );
  }

  /** The process of the next program that starts, once it is on a processor. */
  async nextComputing(start: () => unknown): Promise<number> {
    const before = this.assigned().length;
    start();
    await until(() => this.assigned().length > before, 'a child has its program');
    const pid = this.assigned()[before]!;
    const from = cpuMs(pid);
    await until(() => cpuMs(pid) > from + 30, 'the program computes');
    return pid;
  }

  async stop(): Promise<void> {
    await this.#daemon?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const projectFolder = fileURLToPath(new URL('../..', import.meta.url));
const mainModule = path.join(projectFolder, 'src/cli/main.ts');

/** The command line of this runtime for a module of the project. */
export function commandFor(...args: readonly string[]): [string, string[]] {
  const deno = 'deno' in process.versions;
  return [process.execPath, deno ? ['run', '-A', '--no-check', mainModule, ...args] : [mainModule, ...args]];
}

/** `runwarden ...` as a process; standard output and error are collected. */
export function runCommand(
  args: readonly string[],
  options: { input?: string; cwd?: string; env?: Record<string, string> } = {},
) {
  const [executable, line] = commandFor(...args);
  const child = spawn(executable, line, {
    cwd: options.cwd ?? projectFolder,
    env: { ...process.env, ...options.env } as Record<string, string>,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => stdout += chunk);
  child.stderr.on('data', (chunk) => stderr += chunk);
  child.stdin.end(options.input ?? '');
  const ended = new Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>(
    (resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
    },
  );
  return { child: child as ChildProcess, ended, stderr: () => stderr };
}

/** A daemon in a process of its own, listening. */
export async function spawnDaemon(folder: string) {
  const socket = path.join(folder, 's', 'rw.sock');
  const running = runCommand(['serve', '--socket', socket, '--state', path.join(folder, 'state')], {
    env: { HOME: folder },
  });
  await until(() => running.stderr().includes('listening'), 'the daemon listens', () => running.stderr());
  return { ...running, socket, pid: running.child.pid! };
}

/** Waits for a condition; fails with what it was waiting for. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  more: () => string = () => '',
): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}; ${more()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Process ids of the direct children of a process, zombies included. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((candidate) =>
    parentOf(candidate) === pid
  );
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

function cpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
}
