// The shapes that the client gives and takes: those of docs/protocol.md, as types. Wire spelling in what
// the daemon answers, this package's in what callers write.

export type JsonSchema = Readonly<Record<string, unknown>> | boolean;
export type ToolClass = 'read' | 'edit' | 'execute' | 'other';

/** One call, as a handler sees it. `(runId, call)` never repeats in a session: use it as idempotency key. */
export type ToolCall = {
  readonly runId: string;
  readonly call: number;
  readonly tool: string;
  readonly turn: string;
  readonly intent: string | undefined;
  /** Aborted when the run ends before the handler has answered. */
  readonly signal: AbortSignal;
};

export type AgentTool = {
  readonly description?: string;
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** Default: other. */
  readonly class?: ToolClass;
  readonly aliases?: readonly string[];
  /** Names of the arguments that hold paths. */
  readonly paths?: readonly string[];
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  /** Returns text or bytes, or a structured value, or what `failed` or `answer` made. Throwing means that it could not be run. */
  readonly handler: (args: any, call: ToolCall) => unknown;
};

/** By name. */
export type AgentTools = Readonly<Record<string, AgentTool>>;

/** The answer to `call_tool`. */
export type ToolResult = {
  readonly ok: boolean;
  readonly content: unknown;
  readonly structured?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
  readonly context?: readonly string[];
  readonly changed_paths?: readonly string[];
  readonly complete?: boolean;
};

export type Limits = {
  readonly source_bytes: number;
  readonly calls: number;
  readonly compute_ms: number;
  readonly wall_ms: number;
  readonly memory_bytes: number;
  readonly printed_bytes: number;
  readonly result_bytes: number;
  readonly total_result_bytes: number;
  readonly return_bytes: number | null;
  readonly report_chars: number;
};

export type RunOptions = {
  /** Compute budget in seconds. */
  readonly timeoutSecs?: number;
  readonly intent?: string;
  readonly turn?: string;
  readonly runId?: string;
  readonly cwd?: string;
  /** May only lower what is configured, except compute. */
  readonly limits?: Partial<Limits>;
  /** Cancels the run when aborted. */
  readonly signal?: AbortSignal;
  readonly progress?: (progress: Progress) => void;
};

export type Kind =
  | 'ok'
  | 'compile'
  | 'error'
  | 'denied'
  | 'time'
  | 'memory'
  | 'calls'
  | 'results'
  | 'history'
  | 'interrupted'
  | 'crashed';
export type CallOutcome = 'ok' | 'failed' | 'denied' | 'not_run' | 'unknown';

export type Call = {
  readonly call: number;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly outcome: CallOutcome;
  readonly bytes: number;
  readonly ms: number;
  readonly message: string | null;
};

export type Outcome = {
  readonly run_id: string;
  readonly language: 'lua' | 'javascript';
  readonly kind: Kind;
  readonly fault: boolean;
  readonly message: string;
  readonly recovery: string | null;
  readonly traceback: string | null;
  readonly stopped_by: 'itself' | 'inside' | 'kill';
  readonly clock: 'compute' | 'wall' | null;
  readonly exhausted: {
    readonly name: string;
    readonly used: number;
    readonly limit: number;
    readonly requested: number;
  } | null;
  /** The text for the model. */
  readonly report: string;
  readonly output: string | Uint8Array;
  readonly output_truncated: boolean;
  readonly spill_path: string | null;
  readonly usage: {
    readonly calls: number;
    readonly compute_ms: number;
    readonly cpu_ms: number;
    readonly tool_ms: number;
    readonly wall_ms: number;
    readonly memory_bytes: number;
    readonly printed_bytes: number;
    readonly result_bytes: number;
  };
  readonly limits: Limits;
  readonly calls: readonly Call[];
  readonly context: readonly { readonly call: number; readonly text: string }[];
  readonly warnings: readonly string[];
  readonly response_tokens: number;
  readonly evidence: {
    readonly succeeded: number;
    readonly failed: number;
    readonly denied: number;
    readonly not_run: number;
    readonly unknown: number;
    readonly actions: readonly { readonly call: number; readonly tool: string; readonly outcome: CallOutcome }[];
    readonly changed_paths: readonly string[];
    readonly changed_path_count: number;
    readonly changed_paths_incomplete: boolean;
  };
};

export type Progress = {
  readonly run_id: string;
  readonly intent: string | null;
  readonly state: string;
  readonly calls: number;
  readonly recent: readonly Call[];
  readonly compute_ms: number;
  /** The end of what has been printed, if there is more than before. */
  readonly printed?: string;
};

export type RunSummary = {
  readonly run_id: string;
  readonly agent: string;
  readonly session: string;
  readonly language: string;
  readonly kind: string;
  readonly intent: string | null;
  readonly started_at: number;
  readonly wall_ms: number;
  readonly calls: number;
  readonly changed_paths: readonly string[];
};

export type RunDetails = {
  readonly outcome: Outcome | null;
  readonly calls: readonly (Call & { readonly result: unknown; readonly context: readonly string[] })[];
};

export type HelloAnswer = {
  readonly protocol: number;
  readonly features: readonly string[];
  readonly server: { readonly name: string; readonly version: string; readonly runtime: string };
  readonly session: string;
  readonly session_key: string;
  readonly profile: string;
  readonly code_tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly input_schema: JsonSchema;
    readonly class: ToolClass;
  }[];
  readonly inventory: {
    readonly direct: readonly string[];
    readonly hidden: readonly string[];
    readonly in_code: readonly { readonly name: string; readonly class: ToolClass; readonly provider: string }[];
  };
  readonly limits: { readonly lua: Limits; readonly javascript: Limits };
};
