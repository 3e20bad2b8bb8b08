// The daemon: puts its parts together, listens, and comes to an orderly end.
// Everything that it owns is closed by `close`, in the order in which others depend on it.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { Config } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import { type ChildRuntime, chooseChildRuntime, runtimeVersion } from '../runtime/runtime.ts';
import { Admission } from '../runs/admission.ts';
import { Runs } from '../runs/runs.ts';
import { SpillFolder } from '../runs/spill.ts';
import { systemClock } from '../supervisor/clocks.ts';
import { Pool } from '../supervisor/pool.ts';
import { ArgumentChecker } from '../tools/arguments.ts';
import { builtInTools } from '../tools/providers/workspace.ts';
import { withhold } from '../tools/providers/workspace/confined_files.ts';
import { type Connection, serveConnection } from '../transports/connection.ts';
import { listenUnix, type UnixListener } from '../transports/unix_socket.ts';
import { Agent } from './agent.ts';
import { ownPlaces } from './cwd.ts';
import { prepareLaunches } from './launches.ts';
import { Sessions } from './identity.ts';
import type { DaemonParts } from './parts.ts';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
/** The version of this package. */
export const version: string = manifest.version;

/** Runs are kept in memory, so a daemon does not know the spill files of the one before it. */
const keepSpillDays = 30;

export type DaemonOptions = {
  /** Path of the Unix socket. */
  readonly socket: string;
  /** Folder for what the daemon keeps; made if it is missing, 0700. */
  readonly state: string;
  readonly config: Config;
  readonly log: Log;
  /** Folder for the children's stripped modules; below the state folder unless daemons share it. */
  readonly modules?: string;
};

export class Daemon {
  readonly #parts: DaemonParts;
  readonly #pool: Pool;
  readonly #connections = new Set<Connection>();
  #listener: UnixListener | undefined;
  readonly #withheld: readonly Disposable[];
  #draining = false;
  #closing: Promise<void> | undefined;

  /**
   * Starts and listens.
   * @throws {Error} if the socket or the state folder cannot be had, or no runtime for children is there
   */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const daemon = new Daemon(options);
    try {
      daemon.#listener = await listenUnix({
        file: options.socket,
        mode: 0o600,
        accept: (socket) => daemon.#accept(socket),
      });
    } catch (error) {
      await daemon.close();
      throw error;
    }
    return daemon;
  }

  private constructor({ socket, state, config, log, modules = path.join(state, 'children') }: DaemonOptions) {
    const own = ownPlaces({ socket, folders: [state, modules], roots: config.workspace.roots });
    this.#withheld = own.map(withhold);
    const clock = systemClock;
    const runtime = chooseChildRuntime(config.pool.runtime);
    if (runtime.reason) {
      log.warn({ runtime: runtime.name, reason: runtime.reason }, 'children run on another runtime than Node');
    }
    const launches = prepareLaunches(runtime, modules);
    this.#pool = new Pool({ launch: launches.lua, warm: config.pool.warm, clock, log });
    const checker = new ArgumentChecker({ launch: launches.checker, clock, log });
    const spill = new SpillFolder(state);
    spill.sweep(keepSpillDays).catch((error: Error) =>
      log.warn({ problem: error.message }, 'old spill files could not be removed')
    );
    const runs = new Runs(
      {
        pool: this.#pool,
        clock,
        log,
        spill,
        checkArguments: checker.check,
        version,
        toolTimeoutMs: config.tools.timeoutMs,
        cancelGraceMs: config.cancelGraceMs,
      },
      new Admission(config.admission),
    );
    const sessions = new Sessions(({ owner }) => runs.forget(owner));
    this.#parts = {
      config,
      log,
      clock,
      runs,
      spill,
      sessions,
      checker,
      version,
      runtime: runtimeVersion,
      places: { roots: config.workspace.roots, withheld: own },
      builtIn: config.workspace.tools ? builtInTools : [],
      status: () => this.#status(runtime),
      draining: () => this.#draining,
    };
  }

  /**
   * Takes no more programs, gives those under way `shutdownGraceMs`, ends them, and closes everything.
   * Further calls wait for the first.
   */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { runs, clock, config, checker } = this.#parts;
    this.#draining = true;
    const stop = () => runs.stop({ kind: 'interrupted', message: 'the daemon is shutting down' }, () => true);
    const timer = clock.after(config.shutdownGraceMs, stop);
    await runs.settled();
    timer.cancel();
    // The answers of the last runs go out before their connections end.
    await new Promise((resolve) => setImmediate(resolve));
    for (const connection of this.#connections) connection.end();
    await this.#listener?.close();
    await Promise.all([...this.#connections].map(({ closed }) => closed));
    for (const folder of this.#withheld) folder[Symbol.dispose]();
    await Promise.all([this.#pool[Symbol.asyncDispose](), checker[Symbol.asyncDispose]()]);
  }

  #accept(socket: Parameters<Parameters<typeof listenUnix>[0]['accept']>[0]): void {
    let agent: Agent | undefined;
    const connection = serveConnection({
      socket,
      limits: this.#parts.config.protocol,
      log: this.#parts.log,
      handlers: (peer) => (agent = new Agent(peer, this.#parts)).handlers,
    });
    this.#connections.add(connection);
    connection.closed.then(() => {
      this.#connections.delete(connection);
      agent?.leave();
    });
  }

  #status(runtime: ChildRuntime): object {
    const { runs, sessions } = this.#parts;
    const pool = this.#pool.status();
    return {
      daemon: {
        version,
        runtime: runtimeVersion,
        pid: process.pid,
        uptime_ms: Math.round(process.uptime() * 1000),
        draining: this.#draining,
        memory_bytes: process.memoryUsage.rss(),
      },
      pools: {
        lua: {
          launcher: 'spawn',
          warm: pool.warm,
          starting: pool.starting,
          running: pool.running,
          wanted: pool.wanted,
          started: pool.started,
          problem: pool.problem ?? null,
        },
      },
      containment: {
        runtime: pool.runtime ?? runtime.name,
        reason: runtime.reason ?? null,
        lockdown: pool.lockdown ?? {},
      },
      counts: { ...runs.status(), connections: this.#connections.size, sessions: sessions.size },
    };
  }
}
