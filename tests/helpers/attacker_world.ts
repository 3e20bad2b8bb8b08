// What an attack is aimed at: a state folder with a journal, a daemon's socket and port, a sibling process,
// and the test itself as the parent. Starts attackers in it and collects what they tell. One world for one
// attacker, so that what is seen in it is that attacker's doing.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { lockdownParts, type LockdownReport } from '../../src/child/lockdown.ts';
import type { Folders } from '../../src/child/landlock.ts';
import { findKoffi } from '../../src/runtime/native.ts';
import { type Guard, secret, type Seen, type Target } from './attacker_attack.ts';
import type { AttackerLine, AttackerOrders } from './attacker_child.ts';

export type RuntimeName = 'node' | 'deno';

export type AttackerEnd = {
  readonly report: LockdownReport | undefined;
  /** The outcome by attack: null for a success, else why not. An attack that never answered is missing. */
  readonly outcomes: ReadonlyMap<string, string | null>;
  readonly lines: readonly any[];
  readonly exit: string;
  readonly diagnostics: string;
};

export type World = AsyncDisposable & { readonly target: Target; readonly seen: Seen };

const root = fileURLToPath(new URL('../..', import.meta.url));
const entry = fileURLToPath(new URL('./attacker_child.ts', import.meta.url));
const longestAttackMs = 4000; // a locked event loop may wait for ever instead of aborting

const flags = {
  node: [
    '--permission',
    `--allow-fs-read=${root}`,
    '--allow-addons',
    '--disallow-code-generation-from-strings',
    '--frozen-intrinsics',
    '--disable-sigusr1',
    '--v8-pool-size=1',
  ],
  deno: [`--allow-read=${root}`, '--allow-ffi'],
} as const;
const always = {
  node: ['--no-warnings'],
  deno: ['run', '--no-prompt', '--no-config', '--cached-only', '--no-check', '--no-code-cache'],
} as const;
const unguarded = { node: [], deno: ['-A'] } as const;

/** The executable of a runtime: this one, or the one that npm installed beside the project. */
export function findRuntime(runtime: RuntimeName): string {
  if (('Deno' in globalThis) === (runtime === 'deno')) return fs.realpathSync(process.execPath);
  return fs.realpathSync(join(root, 'node_modules/.bin', runtime));
}

export async function openWorld(): Promise<World & { received: string[] }> {
  const state = fs.mkdtempSync(join(tmpdir(), 'runwarden-attack-'));
  const [journal, socket, library] = ['journal.sqlite', 'daemon.sock', 'library.so'].map((name) => join(state, name));
  fs.writeFileSync(journal!, secret, { mode: 0o600 });
  const received: string[] = [];
  const serve = async (where: string | number) => {
    const server = createServer((connection) => connection.on('data', (data) => received.push(String(data))));
    server.listen(...(typeof where === 'string' ? [where] : [where, '127.0.0.1'] as any));
    await once(server, 'listening');
    return server;
  };
  const servers: Server[] = [await serve(socket!), await serve(0)];
  const sibling = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
  await once(sibling, 'spawn');
  let signals = 0;
  const countSignal = () => signals++;
  process.on('SIGWINCH', countSignal);
  fs.copyFileSync(findLibrary(), library!);

  const stateOf = (pid: number) => /\) (\S)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '';
  const stack = /^([0-9a-f]+)-.*\[stack\]$/m;
  await until(() => stack.test(fs.readFileSync(`/proc/${sibling.pid}/maps`, 'utf8')));
  return {
    received,
    target: {
      state,
      journal: journal!,
      socket: socket!,
      port: (servers[1]!.address() as { port: number }).port,
      parent: process.pid,
      sibling: sibling.pid!,
      siblingStack: parseInt(stack.exec(fs.readFileSync(`/proc/${sibling.pid}/maps`, 'utf8'))![1]!, 16),
      library: library!,
    },
    seen: {
      received: () => received.join(''),
      signals: () => signals,
      siblingState: () => stateOf(sibling.pid!),
    },
    async [Symbol.asyncDispose]() {
      process.off('SIGWINCH', countSignal);
      const gone = once(sibling, 'exit');
      sibling.kill('SIGKILL');
      await gone;
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      fs.rmSync(state, { recursive: true, force: true });
    },
  };
}

/** Starts an attacker without the guards in `without`; descriptor 4 is a pipe that it was not meant to inherit. */
export function startAttacker(options: {
  runtime: RuntimeName;
  without: readonly Guard[];
  orders: Pick<AttackerOrders, 'attacks' | 'target' | 'folders'>;
  /** The parent that the child expects, if not this process. */
  parentPid?: number;
  /** A descriptor of this process to share as the pipe, instead of a new one. */
  pipe?: number;
}): ChildProcess {
  const { runtime, without } = options;
  const orders: AttackerOrders = {
    ...options.orders,
    parentPid: options.parentPid ?? process.pid,
    koffi: runtime === 'node' ? findKoffi() : [],
    parts: lockdownParts.filter((part) => !without.includes(part)),
  };
  const guarded = without.includes('flags') ? unguarded[runtime] : flags[runtime];
  const args = [...always[runtime], ...guarded, entry, JSON.stringify(orders)];
  const env: Record<string, string> = runtime === 'deno' ? { DENO_DIR: '/dev/null' } : {};
  if (runtime === 'deno' && !('Deno' in globalThis)) env['DENO_EXTRA_STDIO_FDS'] = '3';
  const stdio = ['ignore', 'ignore', 'pipe', options.pipe ?? 'pipe', 'pipe'] as const;
  return spawn(findRuntime(runtime), args, { stdio: [...stdio], detached: true, cwd: '/', env });
}

/** Runs an attacker to its end in `world`. `onLine` gets each line as it comes, to answer it. */
export async function runAttacker(
  world: { target: Target; received: string[] },
  options: Omit<Parameters<typeof startAttacker>[0], 'orders' | 'pipe'> & {
    attacks: readonly string[];
    folders?: Folders;
    onLine?: (line: any, child: ChildProcess) => void;
  },
): Promise<AttackerEnd> {
  const { attacks, folders, onLine } = options;
  const child = startAttacker({ ...options, orders: { attacks, target: world.target, ...(folders && { folders }) } });
  const lines = readLines(child.stdio[3] as Readable, (line) => onLine?.(line, child));
  let diagnostics = '';
  (child.stdio[4] as Readable).on('data', (data) => world.received.push(String(data)));
  child.stderr!.on('data', (data) => (diagnostics += data, world.received.push(String(data))));
  const deadline = setTimeout(
    () => process.kill(child.pid!, 'SIGKILL'),
    longestAttackMs * (attacks.length > 1 ? 4 : 1),
  );
  const [code, signal] = await once(child, 'close');
  clearTimeout(deadline);

  const answers = lines.filter((line): line is AttackerLine => 'attack' in line);
  return {
    report: lines.find((line) => 'report' in line)?.report,
    lines,
    outcomes: new Map(answers.map(({ attack, refusal }) => [attack, refusal])),
    exit: String(signal ?? code),
    diagnostics,
  };
}

/** The lines of JSON that come through `pipe`, growing as they come. */
export function readLines(pipe: Readable, onLine: (line: any) => void): any[] {
  const lines: any[] = [];
  let rest = '';
  pipe.on('data', (data) => {
    const parts = (rest + data).split('\n');
    rest = parts.pop()!;
    for (const line of parts.filter((part) => part !== '').map((part) => JSON.parse(part))) {
      lines.push(line);
      onLine(line);
    }
  });
  return lines;
}

/** Waits until `holds`; false if it does not within two seconds. */
export async function until(holds: () => boolean): Promise<boolean> {
  for (const end = Date.now() + 2000; Date.now() < end;) {
    if (holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return holds();
}

/** A library that loads in both runtimes and in no child before: koffi's binary under another name. */
function findLibrary(): string {
  const files = findKoffi();
  const musl = fs.readdirSync('/lib').some((name) => name.startsWith('ld-musl-'));
  return join(dirname(files[musl ? 1 : 0]!), 'koffi.node');
}
