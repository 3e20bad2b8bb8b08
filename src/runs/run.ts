// One run: takes a child, gives it the program, serves its calls, turns the clocks, and makes the outcome.
// Why a run ends is written once, before anyone is told to stop; what comes later changes nothing.

import type { AnswerHeader } from '../protocol/child_messages.ts';
import type { ClockName } from '../protocol/failures.ts';
import type { Log } from '../observe/log.ts';
import type { CheckArguments } from '../tools/arguments.ts';
import type { Child, RunHandlers } from '../supervisor/child.ts';
import { type Clock, ComputeClock } from '../supervisor/clocks.ts';
import type { Pool } from '../supervisor/pool.ts';
import { type CallContext, carryOut } from './call.ts';
import { composeOutcome } from './compose.ts';
import { type Cause, type ChildEnd, describeEnding, timeCause } from './endings.ts';
import { Ledger } from './ledger.ts';
import type { CallRecord, Outcome } from './outcome.ts';
import { Printed } from './printed.ts';
import type { RunRequest } from './run_request.ts';
import { nextRunState, type RunEvent, type RunState } from './run_states.ts';
import type { SpillFolder } from './spill.ts';

export type RunServices = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
  readonly spill: SpillFolder;
  readonly checkArguments: CheckArguments;
  readonly version: string;
  readonly toolTimeoutMs: number;
  readonly cancelGraceMs: number;
};

/** Between telling a child to stop and killing it, in milliseconds. */
const stopGraceMs = 250;

export class Run {
  readonly request: RunRequest;
  readonly startedAt = Date.now();
  readonly ledger = new Ledger();
  readonly printed: Printed;
  readonly #services: RunServices;
  readonly #serving = new Set<Promise<void>>();
  /** Calls that are with their providers, and since when, in ms of the clock. */
  readonly #open = new Map<CallRecord, number>();
  readonly #calls: CallContext;
  readonly #stopping = new AbortController();
  readonly #childEnd = Promise.withResolvers<ChildEnd>();
  readonly #timers: { readonly cancel: () => void }[] = [];
  #state: RunState = 'queued';
  #cause: Cause | undefined;
  #child: Child | undefined;
  #compute: ComputeClock | undefined;
  #assignedMs: number | undefined;
  #cpuAtStart = 0;
  #cpuMs = 0;
  #killed = false;
  /** The call that the child waits for. */
  #asked: number | undefined;

  constructor(request: RunRequest, services: RunServices) {
    this.request = request;
    this.#services = services;
    this.printed = new Printed(request.limits.printed_bytes);
    this.#calls = this.#callContext();
  }

  get state(): RunState {
    return this.#state;
  }

  computeMs(): number {
    return this.#compute?.spentMs() ?? 0;
  }

  wallMs(): number {
    return this.#assignedMs === undefined ? 0 : this.#services.clock.now() - this.#assignedMs;
  }

  /** Aborted as soon as the run is to end. */
  get stopSignal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Runs the program to its end, whatever that is; called once, when the run was admitted or has been stopped before that. */
  async execute(): Promise<Outcome> {
    let end: ChildEnd | undefined;
    if (!this.#cause) {
      this.#move('admitted');
      const child = await this.#takeChild();
      if (child && this.#cause) child.kill();
      else if (child) {
        this.#begin(child);
        end = await this.#childEnd.promise;
      }
    }
    return this.#finish(end);
  }

  /**
   * Ends the run for a reason that is not its own; a reason that is already there stays.
   * @returns whether this is the reason now
   */
  stop(cause: Cause): boolean {
    if (this.#cause || this.#state === 'ending' || this.#state === 'ended') return false;
    this.#cause = cause;
    this.#services.log.debug({ run: this.request.runId, kind: cause.kind, message: cause.message }, 'told to stop');
    this.#stopping.abort(new Error(cause.message));
    this.#haltChild();
    return true;
  }

  /** A program that waits in a call is told by the answer, which cannot be missed; one that computes by a signal. */
  #haltChild(): void {
    if (this.#asked === undefined) this.#child?.interrupt();
    else this.#answerFinal(this.#asked);
    this.#killLater();
  }

  async #takeChild(): Promise<Child | undefined> {
    try {
      return await this.#services.pool.take(this.#stopping.signal);
    } catch (error) {
      this.#cause ??= {
        kind: 'crashed',
        message: `no process for the program could be started: ${(error as Error).message}`,
      };
      return undefined;
    }
  }

  #begin(child: Child): void {
    const { request } = this;
    const { clock, version } = this.#services;
    const { limits, catalogue } = request;
    this.#child = child;
    this.#move('assigned');
    this.#cpuAtStart = child.processorTime()?.cpuMs ?? 0;
    this.#assignedMs = clock.now();
    const settings = {
      memoryBytes: limits.memory_bytes,
      printedBytes: limits.printed_bytes,
      cwd: request.cwd ?? null,
      version,
      tools: [...catalogue.tools.keys()],
    };
    const handlers: RunHandlers = {
      printed: (bytes) => {
        this.printed.add(bytes);
        request.progressed(this);
      },
      call: ({ header, arguments: args }) => this.#takeCall({ ...header, arguments: args }),
      ended: (end) => {
        this.#readProcessorTime();
        if (end.ending !== 'crashed') {
          this.printed.droppedBytes += end.droppedBytes;
          this.#cpuMs ||= end.cpuMs;
        }
        this.#childEnd.resolve(end);
      },
    };
    child.assign({ header: settings, source: request.source, handlers });
    const expired = (name: ClockName, limitMs: number, spentMs: number) =>
      this.stop(
        timeCause({ clock: name, limitMs, spentMs, openTools: [...this.#open.keys()].map(({ tool }) => tool) }),
      );
    this.#compute = new ComputeClock({
      clock,
      limitMs: limits.compute_ms,
      expired: () => expired('compute', limits.compute_ms, this.computeMs()),
      processorTime: () => child.processorTime(),
    });
    this.#timers.push(clock.after(limits.wall_ms, () => expired('wall', limits.wall_ms, this.wallMs())));
    request.progressed(this);
  }

  #takeCall(asked: { call: number; tool: string; structured: boolean; arguments: Uint8Array }): void {
    this.#asked = asked.call;
    // The program is being stopped: nothing that it still asks for happens.
    if (this.#cause) return this.#answerFinal(asked.call);
    // From here to the answer a call is open: what checking and carrying it out take is not compute.
    this.#compute?.pause();
    const serving = this.#serve(asked).catch((error: Error) => {
      // A fault of ours costs this run, and is told as what it is.
      this.#services.log.error({ run: this.request.runId, problem: error.stack }, 'a call could not be carried out');
      this.stop({ kind: 'crashed', message: `the daemon could not carry out call ${asked.call}: ${error.message}` });
    }).finally(() => this.#serving.delete(serving));
    this.#serving.add(serving);
  }

  async #serve(asked: { call: number; tool: string; structured: boolean; arguments: Uint8Array }): Promise<void> {
    const { call } = asked;
    const end = await carryOut(asked, this.#calls);
    if (this.#cause || this.#state !== 'running') return;
    if ('final' in end) return void this.stop(end.final);
    const { status, message, content, structured } = end.answer;
    const first = content ?? (asked.structured ? undefined : structured);
    const second = asked.structured ? structured : undefined;
    // A failure whose words are its content is told by that, byte for byte.
    this.#answer({ call, status, message: content ? '' : message, contentBytes: first?.bytes.length ?? 0 }, [
      first?.bytes,
      second?.bytes,
    ]);
  }

  #answerFinal(call: number): void {
    this.#answer({ call, status: 'final', message: '', contentBytes: 0 }, []);
  }

  #answer(header: AnswerHeader, payload: readonly (Uint8Array | undefined)[]): void {
    this.#asked = undefined;
    if (!this.#cause && this.#state === 'running') this.#compute?.resume();
    this.#child?.answer(header, ...payload.filter((part) => part !== undefined));
  }

  #callContext(): CallContext {
    const { request } = this;
    const { clock, checkArguments, toolTimeoutMs } = this.#services;
    return {
      runId: request.runId,
      turn: request.turn,
      intent: request.intent,
      cwd: request.cwd,
      catalogue: request.catalogue,
      limits: request.limits,
      ledger: this.ledger,
      clock,
      checkArguments,
      defaultTimeoutMs: toolTimeoutMs,
      signal: this.#stopping.signal,
      opened: (record) => {
        this.#open.set(record, clock.now());
        request.progressed(this);
      },
      closed: (record) => {
        this.#open.delete(record);
        request.progressed(this);
      },
    };
  }

  #killLater(): void {
    const child = this.#child;
    if (!child) return;
    this.#timers.push(this.#services.clock.after(stopGraceMs, () => {
      this.#readProcessorTime();
      this.#killed = true;
      child.kill();
    }));
  }

  #readProcessorTime(): void {
    const time = this.#child?.processorTime();
    if (time) this.#cpuMs = time.cpuMs - this.#cpuAtStart;
  }

  async #finish(end: ChildEnd | undefined): Promise<Outcome> {
    const { request } = this;
    const { clock, spill, cancelGraceMs } = this.#services;
    const wallMs = this.wallMs();
    const computeMs = this.computeMs();
    this.#move('stopped');
    this.#compute?.pause();
    for (const timer of this.#timers) timer.cancel();
    const ending = describeEnding({ cause: this.#cause, end, killed: this.#killed, limits: request.limits });
    this.#stopping.abort(new Error(`run ${request.runId} has ended`));
    const warnings = await this.#settleCalls(clock, cancelGraceMs);
    this.#move('settled');
    const memoryBytes = end === undefined || end.ending === 'crashed' ? 0 : end.memoryBytes;
    const usage = { computeMs, cpuMs: this.#cpuMs, wallMs, memoryBytes };
    return composeOutcome({ request, ending, printed: this.printed, ledger: this.ledger, usage, warnings }, spill);
  }

  /** Gives calls that are still open a moment to answer; what they leave unknown is told. */
  async #settleCalls(clock: Clock, graceMs: number): Promise<string[]> {
    if (this.#serving.size > 0) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = clock.after(graceMs, resolve);
      await Promise.race([Promise.allSettled(this.#serving), late]);
      timer.cancel();
    }
    for (const [record, since] of this.#open) record.ms = clock.now() - since;
    return [...this.#open.keys()].map(({ call, tool }) =>
      `call ${call} of ${JSON.stringify(tool)} gave no answer before the end; it may still be running`
    );
  }

  #move(event: RunEvent): void {
    const next = nextRunState(this.#state, event);
    this.#services.log.debug({ run: this.request.runId, from: this.#state, to: next, event }, 'run');
    this.#state = next;
  }
}
