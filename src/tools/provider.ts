// Who carries a tool's calls out, as the pipeline sees it: one function from a request to an answer.
// Values are MessagePack as they came; a provider decodes only what it needs.

import type { RawValue } from '../protocol/outline.ts';

export type ToolClass = 'read' | 'edit' | 'execute' | 'other';
export const toolClasses = ['read', 'edit', 'execute', 'other'] as const satisfies readonly ToolClass[];

export type ToolRequest = {
  readonly runId: string;
  /** From 1; `(runId, call)` never repeats in a session. */
  readonly call: number;
  readonly tool: string;
  readonly arguments: RawValue;
  readonly class: ToolClass;
  readonly turn: string;
  readonly intent: string | undefined;
  readonly cwd: string | undefined;
  /** Largest content that the run can take, in bytes. */
  readonly maxBytes: number;
  /** Aborted when the run ends before the answer: whatever the provider still does is for nobody. */
  readonly signal: AbortSignal;
};

/** `ok` and `failed` ran; `denied` and `not_run` did nothing. `message` says why not `ok`. */
export type ToolAnswer = {
  readonly status: 'ok' | 'failed' | 'denied' | 'not_run';
  readonly message: string;
  /** Text (`str` or `bin`), if there is one. */
  readonly content: RawValue | undefined;
  /** The structured value, if there is one. */
  readonly structured: RawValue | undefined;
  readonly complete: boolean | undefined;
  readonly changedPaths: readonly string[];
  /** For the model after the run; programs never see it. */
  readonly context: readonly string[];
};

/** Thrown by a provider that cannot say any more whether the call was carried out. */
export class AnswerLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AnswerLost';
  }
}

export type Provider = {
  readonly kind: 'agent' | 'workspace';
  readonly call: (request: ToolRequest) => Promise<ToolAnswer>;
};

const nothing = {
  message: '',
  content: undefined,
  structured: undefined,
  complete: undefined,
  changedPaths: [],
  context: [],
} as const;

export const notRun = (message: string): ToolAnswer => ({ ...nothing, status: 'not_run', message });
export const denied = (message: string): ToolAnswer => ({ ...nothing, status: 'denied', message });
export const failed = (message: string): ToolAnswer => ({ ...nothing, status: 'failed', message });
export const succeeded = (answer: Partial<ToolAnswer>): ToolAnswer => ({ ...nothing, ...answer, status: 'ok' });
