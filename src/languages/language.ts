// What a language asks of its surroundings and what it answers: the same for every language.
// Knows neither pipes nor processes; child/ supplies the host, and sends the ending on.

import type { FinishedHeader, ProgramHeader } from '../protocol/child_messages.ts';

/** The answer to a call. `content` and `structured` are MessagePack values; `final` ends the program for good. */
export type HostAnswer = {
  readonly status: 'ok' | 'failed' | 'denied' | 'not_run' | 'final';
  readonly message: string;
  readonly content: Uint8Array | undefined;
  readonly structured: Uint8Array | undefined;
};

export type ProgramHost = {
  /** Takes printed bytes; they are on their way when it returns. The view is valid during the call only. */
  readonly print: (bytes: Uint8Array) => void;
  /** Blocks until the answer is there. `arguments` is a MessagePack value. */
  readonly call: (
    request: { readonly tool: string; readonly structured: boolean; readonly arguments: Uint8Array },
  ) => HostAnswer;
  /** CPU time of the run so far, in microseconds. */
  readonly cpuMicros: () => number;
};

export type Program = { readonly source: Uint8Array; readonly settings: ProgramHeader };

export type Ending = Pick<FinishedHeader, 'ending' | 'message' | 'traceback' | 'memoryBytes'>;

/** The longest message or traceback that leaves a child, in characters. */
export const maxMessageChars = 8192;
