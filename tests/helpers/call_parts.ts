// What the pipeline of a call needs, as a test sets it: tools with scripted providers, limits, rows of a ledger.

import { defaultLimits, type Limits } from '../../src/protocol/limits.ts';
import { RawValue } from '../../src/protocol/outline.ts';
import { encode } from '../../src/protocol/wire.ts';
import type { CallContext } from '../../src/runs/call.ts';
import { Ledger } from '../../src/runs/ledger.ts';
import type { CallRecord } from '../../src/runs/outcome.ts';
import { makeCatalogue, type Tool } from '../../src/tools/catalogue.ts';
import { type Provider, succeeded } from '../../src/tools/provider.ts';
import { FakeClock } from './fake_clock.ts';

export const rawOf = (value: unknown): RawValue => new RawValue(encode(value));

export function fakeTool(name: string, options: Partial<Tool> & { call?: Provider['call'] } = {}): Tool {
  const call = options.call ?? (() => Promise.resolve(succeeded({ content: rawOf('done') })));
  return {
    name,
    description: '',
    class: 'other',
    aliases: [],
    inputSchema: undefined,
    outputSchema: undefined,
    paths: [],
    idempotent: false,
    timeoutMs: undefined,
    provider: { kind: 'agent', call },
    ...options,
  };
}

export function callParts(tools: readonly Tool[], options: Partial<CallContext> & { lower?: Partial<Limits> } = {}) {
  const ledger = new Ledger();
  const clock = new FakeClock();
  const opened: CallRecord[] = [];
  const closed: CallRecord[] = [];
  const stopping = new AbortController();
  const context: CallContext = {
    runId: 'run',
    turn: 'turn',
    intent: 'why',
    cwd: '/work',
    catalogue: makeCatalogue(tools),
    limits: { ...defaultLimits('lua'), ...options.lower },
    ledger,
    clock,
    checkArguments: () => Promise.resolve({ ok: true, emptyArrays: [] }),
    defaultTimeoutMs: 5000,
    signal: stopping.signal,
    opened: (record) => void opened.push(record),
    closed: (record) => void closed.push(record),
    ...options,
  };
  return { context, ledger, clock, opened, closed, stopping };
}

export function callRecord(fields: Partial<CallRecord> & { call: number }): CallRecord {
  return {
    tool: 'read',
    class: 'read',
    arguments: rawOf({}),
    outcome: 'ok',
    bytes: 0,
    ms: 0,
    message: undefined,
    content: undefined,
    changedPaths: [],
    context: [],
    ...fields,
  };
}
