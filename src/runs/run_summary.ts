// One run in a list, in the shape of the wire.

export type RunSummary = {
  readonly run_id: string;
  readonly agent: string;
  readonly session: string;
  readonly language: string;
  /** `running` or `queued`, and how it ended when it has. */
  readonly kind: string;
  readonly intent: string | null;
  /** Milliseconds since 1970. */
  readonly started_at: number;
  readonly wall_ms: number;
  readonly calls: number;
  readonly changed_paths: readonly string[];
};
