// What a tool of the workspace is and what its calls are given and give: the shape that every row of
// workspace_tools.ts has. A call that ran and failed is an answer with a message, never an exception.

/** What a call gives: the text for the model, the same as data, and whether nothing was left out. */
export type WorkspaceAnswer =
  | {
    readonly ok: true;
    /** A file that is not UTF-8 comes as its bytes. */
    readonly content: string | Uint8Array;
    readonly structured: Readonly<Record<string, unknown>>;
    readonly complete: boolean;
  }
  | { readonly ok: false; readonly message: string };

/** Where and within what a call works. */
export type WorkspaceContext = {
  /** Absolute, without symbolic links: the run's working directory. */
  readonly root: string;
  readonly signal: AbortSignal;
  /** Largest content and largest structured value, in bytes of UTF-8: the run's limit of one result. */
  readonly maxBytes: number;
};

export type WorkspaceTool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema that allows no other properties. Text may come as bytes and integers as bigint. */
  readonly inputSchema: object;
  readonly outputSchema: object;
  readonly class: 'read' | 'edit' | 'execute';
  /** Arguments that hold paths. */
  readonly paths: readonly string[];
  /** @throws the signal's reason, once it is aborted; what the operating system says of the daemon (EMFILE, ENOMEM) */
  readonly call: (args: Readonly<Record<string, unknown>>, context: WorkspaceContext) => Promise<WorkspaceAnswer>;
};
