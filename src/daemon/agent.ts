// One connected agent: who it is, what it may do now, and the requests that it makes. Everything that
// differs between connections is here; what they share is the daemon's.

import { randomUUID } from 'node:crypto';
import {
  features,
  isRequestName,
  type Mode,
  protocolVersion,
  readRequest,
  type RequestName,
  type RequestParams,
} from '../protocol/agent_messages.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { lowerLimits } from '../protocol/limits.ts';
import { mapEntries, type RawValue, textBytes } from '../protocol/outline.ts';
import type { RpcHandlers, RpcPeer } from '../protocol/rpc.ts';
import { decode } from '../protocol/wire.ts';
import { outcomeToWire } from '../runs/outcome.ts';
import type { Owner } from '../runs/runs.ts';
import { type Catalogue, makeCatalogue } from '../tools/catalogue.ts';
import { luaDefinition } from '../tools/definition.ts';
import { agentProvider } from '../tools/providers/agent.ts';
import { resolveCwd } from './cwd.ts';
import { declareTools } from './declared_tools.ts';
import type { Session } from './identity.ts';
import { progressNotifier } from './progress.ts';
import { describeRun, readSpill } from './run_answers.ts';
import type { DaemonParts } from './parts.ts';

/** `names`: the agent's own tools, those included that no program may call. */
type Declared = { readonly catalogue: Catalogue; readonly names: readonly string[] };
type Known = { readonly session: Session; readonly owner: Owner };

export class Agent {
  readonly #parts: DaemonParts;
  readonly #peer: RpcPeer;
  /** Marks the runs that this connection asked for: they end with it. */
  readonly #connection = randomUUID();
  #known: Known | undefined;
  #left = false;
  #mode: Mode = 'normal';
  #nativeToolCalling = true;
  #cwd: string | undefined;
  #declared: Declared;
  /** What was asked before and changes tools: later requests wait for it. */
  #settling: Promise<unknown> | undefined;

  constructor(peer: RpcPeer, parts: DaemonParts) {
    this.#peer = peer;
    this.#parts = parts;
    this.#declared = { catalogue: makeCatalogue(parts.builtIn), names: [] };
  }

  get handlers(): RpcHandlers {
    return {
      request: (method, params) => this.#take(method, params).catch((error: unknown) => this.#refuse(method, error)),
      notification: () => {}, // None is defined from agents; later ones are ignored by this version.
      fault: (error, method) => this.#fault(method, error),
    };
  }

  #fault(method: string, error: unknown): void {
    this.#parts.log.error({ method, problem: (error as Error).stack ?? String(error) }, 'a request failed');
  }

  /** Errors that are not meant for agents stay in the log: their words may tell of what is none of theirs. */
  #refuse(method: string, error: unknown): never {
    if (error instanceof ProtocolError) throw error;
    this.#fault(method, error);
    throw new ProtocolError('internal', `Cannot carry out ${method}: the daemon failed; its log says why`);
  }

  /** The connection has ended: its runs with it. */
  leave(): void {
    this.#left = true;
    const known = this.#known;
    if (!known) return;
    const cause = { kind: 'interrupted', message: 'the agent disconnected' } as const;
    this.#parts.runs.stop(cause, (run) => run.request.origin === this.#connection);
    this.#parts.sessions.leave(known.session);
  }

  async #take(method: string, raw: RawValue): Promise<unknown> {
    if (!isRequestName(method)) {
      throw new ProtocolError(
        'unknown_method',
        `Cannot take ${JSON.stringify(method.slice(0, 100))}: there is no such request`,
      );
    }
    if (method === 'hello') return this.#inOrder(() => this.#hello(readRequest('hello', decode(raw.bytes)), raw));
    // Only what has to wait does, so that requests keep their order.
    if (this.#settling && (!this.#known || method === 'run_code')) await this.#settling;
    this.#requirePresence();
    const known = this.#known;
    if (!known) throw new ProtocolError('not_hello', `Cannot take ${method}: hello must come first`);
    return this.#answer(method, raw, known);
  }

  /** What waited may come to its turn when nobody is there any more to be answered. */
  #requirePresence(): void {
    if (this.#left) throw new ProtocolError('shutting_down', 'Cannot go on: the connection has ended');
  }

  /** Carries out what changes this agent's tools, one after the other. */
  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    const done = (this.#settling ?? Promise.resolve()).then(change);
    const settled = done.then(() => {}, () => {}).then(() => {
      if (this.#settling === settled) this.#settling = undefined;
    });
    this.#settling = settled;
    return done;
  }

  #answer(method: Exclude<RequestName, 'hello'>, raw: RawValue, known: Known): Promise<unknown> | object {
    const { runs, status } = this.#parts;
    const { owner } = known;
    const params = <Name extends RequestName>(name: Name): RequestParams<Name> => readRequest(name, decode(raw.bytes));
    switch (method) {
      case 'set_tools':
        return this.#inOrder(() => this.#setTools(params('set_tools'), raw));
      case 'set_mode':
        return this.#inOrder(() => this.#setMode(params('set_mode').mode));
      case 'run_code':
        return this.#runCode(params('run_code'), raw, known);
      case 'cancel':
        return this.#cancel(owner, params('cancel'));
      case 'run':
        return describeRun(runs.find(owner, params('run').run_id));
      case 'read_spill':
        return readSpill(this.#parts, owner, params('read_spill'));
      case 'runs': {
        const { state } = params('runs');
        const found = runs.summaries(owner);
        return state
          ? found.filter(({ kind }) => (kind === 'running' || kind === 'queued' ? kind : 'ended') === state)
          : found;
      }
      case 'status':
        params('status');
        return status();
    }
  }

  async #hello(params: RequestParams<'hello'>, raw: RawValue): Promise<object> {
    const { config, sessions } = this.#parts;
    if (params.protocol !== protocolVersion) {
      throw new ProtocolError(
        'unsupported_protocol',
        `Cannot speak protocol ${params.protocol}: this daemon speaks ${protocolVersion}`,
      );
    }
    if (params.serves && params.serves.length > 0) {
      // An agent that trusts in its vetoes must not be left without being asked.
      throw new ProtocolError(
        'invalid_params',
        `Cannot take hello: this daemon does not ask agents for ${params.serves.join(', ')}`,
      );
    }
    const cwd = params.cwd === undefined ? this.#cwd : resolveCwd(params.cwd, this.#parts.places);
    // The owner of schemas that are tried before there is a session is the connection.
    const declared = params.tools && await this.#read(params.tools, mapEntries(raw)!.get('tools')!);
    this.#requirePresence();
    if (!this.#known) {
      const session = sessions.open({ session: params.session, key: params.session_key });
      this.#known = { session, owner: { key: session.owner, session: session.id, agent: params.agent } };
      this.#nativeToolCalling = params.native_tool_calling ?? true;
    }
    // All or nothing: whatever could be refused has been by now.
    this.#cwd = cwd;
    this.#mode = params.mode ?? this.#mode;
    if (declared) this.#declared = declared;
    const { session } = this.#known;
    return {
      protocol: protocolVersion,
      features,
      server: { name: 'runwarden', version: this.#parts.version, runtime: this.#parts.runtime },
      session: session.id,
      session_key: session.key,
      profile: 'default',
      ...this.#offer(),
      limits: { lua: config.limits.lua, javascript: config.limits.javascript },
    };
  }

  async #setTools({ tools }: RequestParams<'set_tools'>, raw: RawValue): Promise<object> {
    this.#declared = await this.#read(tools, mapEntries(raw)!.get('tools')!);
    return this.#offer();
  }

  async #read(declared: RequestParams<'set_tools'>['tools'], raw: RawValue): Promise<Declared> {
    const { checker, builtIn } = this.#parts;
    const provider = agentProvider(this.#peer);
    const catalogue = await declareTools({
      declared,
      raw,
      provider,
      checker,
      owner: this.#connection,
      beside: builtIn,
    });
    return { catalogue, names: declared.map(({ name }) => name) };
  }

  async #setMode(mode: Mode): Promise<object> {
    this.#mode = mode;
    return { mode, ...this.#offer() };
  }

  /** What the agent can offer its model now. */
  #offer(): object {
    const { config } = this.#parts;
    const offered = this.#nativeToolCalling && this.#mode !== 'inspect';
    const tools = [...this.#declared.catalogue.tools.values()];
    const definition = luaDefinition({
      catalogue: this.#declared.catalogue,
      limits: config.limits.lua,
      mostComputeMs: config.limits.mostComputeMs,
    });
    return {
      code_tools: offered ? [definition] : [],
      inventory: {
        direct: this.#declared.names,
        hidden: [],
        in_code: tools.map(({ name, class: kind, provider }) => ({ name, class: kind, provider: provider.kind })),
      },
    };
  }

  #runCode(params: RequestParams<'run_code'>, raw: RawValue, { owner }: Known): Promise<object> {
    const { config, runs, clock } = this.#parts;
    this.#requireMode();
    const source = textBytes(mapEntries(raw)!.get('program')!)!;
    const mostSecs = Math.max(config.limits.mostComputeMs, config.limits.lua.compute_ms) / 1000;
    if (params.timeout_secs !== undefined && params.timeout_secs > mostSecs) {
      throw new ProtocolError(
        'invalid_params',
        `Cannot run program: timeout_secs must be at most ${mostSecs}, got ${params.timeout_secs}`,
      );
    }
    const budgetMs = params.timeout_secs === undefined
      ? undefined
      : Math.max(1, Math.round(params.timeout_secs * 1000));
    // Where both are given the smaller holds.
    const asked = budgetMs === undefined
      ? {}
      : { compute_ms: Math.min(budgetMs, params.limits?.compute_ms ?? budgetMs) };
    const limits = lowerLimits(
      config.limits.lua,
      { ...params.limits as Record<string, number>, ...asked },
      config.limits.mostComputeMs,
    );
    if (source.length > limits.source_bytes) {
      throw new ProtocolError(
        'invalid_params',
        `Cannot run program: its source must have at most ${limits.source_bytes} bytes, got ${source.length}`,
      );
    }
    const runId = params.run_id ?? randomUUID();
    const request = {
      runId,
      language: 'lua',
      // A copy: the message that it came in is not kept for it.
      source: new Uint8Array(source),
      intent: params.intent,
      turn: params.turn ?? runId,
      cwd: params.cwd === undefined ? this.#cwd : resolveCwd(params.cwd, this.#parts.places),
      limits,
      catalogue: this.#declared.catalogue,
      origin: this.#connection,
      progressed: progressNotifier(clock, (progress) => this.#peer.notify('run_progress', progress)),
    } as const;
    return runs.start(owner, request).then(outcomeToWire);
  }

  #requireMode(): void {
    if (this.#parts.draining()) {
      throw new ProtocolError('shutting_down', 'Cannot run program: the daemon is shutting down');
    }
    if (this.#mode === 'plan') {
      throw new ProtocolError('plan_mode', 'Cannot run program in plan mode: leave it with exit_plan first');
    }
    if (this.#mode === 'inspect') {
      throw new ProtocolError('inspect_only', 'Cannot run program: this agent may only inspect');
    }
    if (!this.#nativeToolCalling) {
      throw new ProtocolError(
        'disabled',
        'Cannot run program: code mode is not offered to a model without native tool calling',
      );
    }
  }

  async #cancel(owner: Owner, { run_id: runId, reason }: RequestParams<'cancel'>): Promise<object> {
    const { runs } = this.#parts;
    // The run may have been asked for just before, and wait for the tools that it is to have.
    if (!runs.has(owner, runId)) await this.#settling;
    return { cancelled: runs.cancel(owner, runId, reason) };
  }
}
