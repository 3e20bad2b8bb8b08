// The errors of the wire: a fixed list of codes, and the map `{code, message, data}` in which they travel.
// Made where a request is refused; turned into a response by rpc.ts. Never used for how a program ends.

import { shownValue } from './wording.ts';

/** The most of a peer's error of a strange shape that is shown, in characters. */
const mostErrorChars = 8192;

/** Every code that an error response may carry; `denied` comes from agents only. */
export const errorCodes = [
  'not_hello',
  'unsupported_protocol',
  'unauthorized',
  'invalid_message',
  'invalid_params',
  'unknown_method',
  'message_too_large',
  'too_many_requests',
  'plan_mode',
  'inspect_only',
  'disabled',
  'busy',
  'duplicate_run',
  'no_such_run',
  'no_such_turn',
  'no_such_session',
  'forbidden',
  'shutting_down',
  'internal',
  'denied',
] as const;

export type ErrorCode = typeof errorCodes[number];

/** A refusal that the peer is told. `data` is plain data; its shape depends on the code (see docs/protocol.md). */
export class ProtocolError extends Error {
  readonly code: ErrorCode;
  readonly data: unknown;
  constructor(code: ErrorCode, message: string, data?: unknown) {
    super(message);
    this.name = 'ProtocolError';
    this.code = code;
    this.data = data;
  }
}

/** The map in which an error travels. */
export type ErrorMap = { readonly code: string; readonly message: string; readonly data?: unknown };

export function toErrorMap(error: unknown): ErrorMap {
  if (error instanceof ProtocolError) {
    return { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) };
  }
  return { code: 'internal', message: error instanceof Error ? error.message : String(error) };
}

/** Reads a peer's error, which may have any shape: one that is not our map is taken by its text. */
export function fromErrorValue(value: unknown): ErrorMap {
  if (typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string') {
    const code = 'code' in value && typeof value.code === 'string' ? value.code : 'error';
    return { code, message: value.message, ...('data' in value ? { data: value.data } : {}) };
  }
  if (typeof value === 'string') return { code: 'error', message: value };
  return { code: 'error', message: shownValue(value, mostErrorChars) };
}
