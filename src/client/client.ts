// The typed client: connects to a daemon, serves the agent's tools, runs programs. Plain MessagePack-RPC
// underneath; imports protocol/ only, so that it can be taken out of this package.

import { connect as connectSocket } from 'node:net';
import type { Duplex } from 'node:stream';
import { MessageReader } from '../protocol/message_reader.ts';
import { defaultWireBounds, mapEntries, RawValue } from '../protocol/outline.ts';
import { RemoteError, type RpcHandlers, RpcPeer } from '../protocol/rpc.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { decode, decodeIntegers, type IntegerReading } from '../protocol/wire.ts';
import { declarations, toResult } from './answers.ts';
import type {
  AgentTools,
  HelloAnswer,
  Outcome,
  Progress,
  RunDetails,
  RunOptions,
  RunSummary,
  ToolCall,
  ToolResult,
} from './messages.ts';

export type ConnectOptions = {
  /** Path of the daemon's Unix socket. */
  readonly socket: string;
  /** The agent's name. */
  readonly agent: string;
  /** Where programs work: an absolute path below one of the daemon's roots. */
  readonly cwd?: string;
  readonly tools?: AgentTools;
  /** A session of an earlier connection, to see its runs again. */
  readonly session?: { readonly id: string; readonly key: string };
  readonly mode?: 'normal' | 'plan' | 'inspect';
  readonly nativeToolCalling?: boolean;
  /**
   * How integers reach handlers: `auto` gives a number, or a BigInt beyond 2^53 (the default);
   * `number` rounds; `bigint` makes every integer a BigInt.
   */
  readonly integers?: IntegerReading;
  /** Hears that a peer of the connection has broken the protocol or that it has ended. */
  readonly closed?: (reason: string) => void;
};

/** A connection to a daemon, after `hello`. */
export class Client {
  readonly #peer: RpcPeer;
  readonly #socket: Duplex;
  readonly #integers: IntegerReading;
  readonly #progress = new Map<string, (progress: Progress) => void>();
  readonly #open = new Map<string, AbortController>();
  #tools: AgentTools;
  #hello: HelloAnswer | undefined;
  /** Why the connection ended, or will. */
  #reason = 'the connection to the daemon has ended';

  private constructor(socket: Duplex, options: ConnectOptions) {
    this.#socket = socket;
    this.#integers = options.integers ?? 'auto';
    this.#tools = options.tools ?? {};
    const handlers: RpcHandlers = {
      request: (method, params) => this.#take(method, params),
      notification: (method, params) => this.#hear(method, params),
      fault: () => {}, // Sent back as the error of the call; the program is told.
    };
    this.#peer = new RpcPeer({ send: (bytes) => void socket.write(bytes), handlers, maxUnanswered: 65_536 });
    const reader = new MessageReader({
      ...defaultWireBounds,
      maxMessageBytes: 256 * 1024 * 1024,
      maxElements: 50_000_000,
    });
    socket.on('data', (chunk: Uint8Array) => {
      try {
        for (const message of reader.feed(chunk)) this.#peer.receive(message);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (error) => this.#reason = `the connection to the daemon failed: ${error.message}`);
    socket.once('close', () => {
      for (const controller of this.#open.values()) controller.abort(new Error(this.#reason));
      this.#peer.close(this.#reason);
      options.closed?.(this.#reason);
    });
  }

  /**
   * Connects and says hello.
   * @throws {Error} of the socket if nobody listens; {RemoteError} if the daemon refuses
   */
  static async connect(options: ConnectOptions): Promise<Client> {
    const socket = connectSocket(options.socket);
    const client = new Client(socket, options);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    try {
      client.#hello = await client.#request<HelloAnswer>('hello', {
        protocol: 1,
        agent: options.agent,
        cwd: options.cwd,
        mode: options.mode,
        native_tool_calling: options.nativeToolCalling,
        session: options.session?.id,
        session_key: options.session?.key,
        tools: declarations(client.#tools),
      });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return client;
  }

  /** What the daemon answered to hello. */
  get hello(): HelloAnswer {
    return this.#hello!;
  }

  /** The session of this connection, to be given to a later one. */
  get session(): { readonly id: string; readonly key: string } {
    return { id: this.hello.session, key: this.hello.session_key };
  }

  /** The definitions to hand to a model, as they are now: changed by `setTools` and `setMode`. */
  get codeTools(): HelloAnswer['code_tools'] {
    return this.hello.code_tools;
  }

  /**
   * Runs a Lua program to its end. Programs that fail are outcomes too; look at `kind`.
   * @param program source text, or its bytes
   * @throws {RemoteError} if the daemon refuses it before it starts, or the connection ends
   */
  async runCode(program: string | Uint8Array, options: RunOptions = {}): Promise<Outcome> {
    const {
      signal,
      progress,
      timeoutSecs,
      runId = crypto.randomUUID(),
      ...rest
    } = options;
    const cancel = () => void this.cancel(runId, reasonOf(signal)).catch(() => {}); // It has ended by itself meanwhile.
    if (progress) this.#progress.set(runId, progress);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const asked = this.#request<Outcome>('run_code', { program, run_id: runId, timeout_secs: timeoutSecs, ...rest });
      if (signal?.aborted) cancel();
      return await asked;
    } finally {
      this.#progress.delete(runId);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** @returns whether the run was still under way */
  async cancel(runId: string, reason?: string): Promise<boolean> {
    return (await this.#request<{ cancelled: boolean }>('cancel', { run_id: runId, reason })).cancelled;
  }

  /** Replaces the agent's tools; programs that are under way keep those that they began with. */
  async setTools(tools: AgentTools): Promise<void> {
    const offered = await this.#request<Partial<HelloAnswer>>('set_tools', { tools: declarations(tools) });
    // Programs under way may still call the tools that they began with.
    this.#tools = { ...this.#tools, ...tools };
    this.#hello = { ...this.hello, ...offered };
  }

  async setMode(mode: 'normal' | 'plan' | 'inspect'): Promise<void> {
    this.#hello = { ...this.hello, ...await this.#request<Partial<HelloAnswer>>('set_mode', { mode }) };
  }

  runs(state?: 'running' | 'queued' | 'ended'): Promise<RunSummary[]> {
    return this.#request('runs', { state });
  }

  run(runId: string): Promise<RunDetails> {
    return this.#request('run', { run_id: runId });
  }

  /** A part of the whole output of a run whose report names a spill file. */
  readSpill(runId: string, offset = 0, bytes = 65_536): Promise<{ data: Uint8Array; next: number | null }> {
    return this.#request('read_spill', { run_id: runId, offset, bytes });
  }

  status(): Promise<Record<string, any>> {
    return this.#request('status', {});
  }

  /** Ends the connection, and with it the runs that it has under way. */
  async close(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = new Promise((resolve) => this.#socket.once('close', resolve));
    this.#socket.end();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #request<T>(method: string, params: object): Promise<T> {
    const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
    const result = await this.#peer.request(method, given);
    return decode(result.bytes) as T;
  }

  async #take(method: string, params: RawValue): Promise<ToolResult> {
    if (method !== 'call_tool') {
      throw new ProtocolError('unknown_method', `Cannot take ${method}: this agent serves call_tool only`);
    }
    const entries = mapEntries(params)!;
    const read = (key: string): any => entries.has(key) ? decode(entries.get(key)!.bytes) : undefined;
    const name = read('tool') as string;
    const tool = Object.hasOwn(this.#tools, name) ? this.#tools[name] : undefined;
    if (!tool) {
      throw new ProtocolError(
        'invalid_params',
        `Cannot call tool ${JSON.stringify(name)}: this agent has no such tool any more`,
      );
    }
    const key = callKey(read('run_id'), read('call'));
    const controller = new AbortController();
    this.#open.set(key, controller);
    const call: ToolCall = {
      runId: read('run_id'),
      call: read('call'),
      tool: name,
      turn: read('turn'),
      intent: read('intent'),
      signal: controller.signal,
    };
    try {
      const args = decodeIntegers(entries.get('arguments')!.bytes, this.#integers);
      return toResult(await tool.handler(args, call));
    } finally {
      this.#open.delete(key);
    }
  }

  #hear(method: string, params: RawValue): void {
    const news = decode(params.bytes);
    if (method === 'run_progress') this.#progress.get(news.run_id)?.(news);
    else if (method === 'error') this.#reason = `the daemon closed the connection: ${news.message}`;
    else if (method === 'cancel_call') {
      this.#open.get(callKey(news.run_id, news.call))?.abort(new Error('the run has ended'));
    }
  }
}

const callKey = (runId: string, call: number): string => `${runId}\0${call}`;
const reasonOf = (signal: AbortSignal | undefined): string | undefined =>
  signal?.reason instanceof Error ? signal.reason.message : undefined;

// This module is what agents import: what their handlers need comes with it.
export { answer, denied, failed } from './answers.ts';
export { RemoteError };
