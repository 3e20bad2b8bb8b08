// What agents may ask, to the key: one schema for each request, from which validation and the check of
// docs/protocol.md are made. The public contract: keys are added, never renamed.

import { z } from 'zod';
import { ProtocolError } from './errors.ts';
import { limitNames } from './limits.ts';

export const protocolVersion = 1;
/** What this daemon can do beyond the first version of the protocol; told in the answer to `hello`. */
export const features: readonly string[] = ['lua', 'spill', 'progress'];

const name = z.string().min(1).max(256);
const filePath = z.string().min(1).max(4096);
const sentence = z.string().max(2000);
const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'must be text or bytes');
const text = z.union([z.string(), bytes], 'must be text or bytes');
const mode = z.enum(['normal', 'plan', 'inspect']);
const jsonSchema = z.union([z.record(z.string(), z.unknown()), z.boolean()], 'must be a JSON Schema');

export type Mode = z.infer<typeof mode>;

const toolShape = {
  name,
  description: z.string().max(65_536).optional(),
  input_schema: jsonSchema.nullish(),
  output_schema: jsonSchema.nullish(),
  class: z.enum(['read', 'edit', 'execute', 'other']).optional(),
  aliases: z.array(name).max(64).optional(),
  paths: z.array(name).max(64).optional(),
  idempotent: z.boolean().optional(),
  timeout_ms: z.int().min(1).max(86_400_000).optional(),
};
const maxTools = 2000;

const runId = z.string().regex(
  /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}$/,
  'must be 1 to 128 letters, digits, or any of . _ : -',
);
const programShape = {
  timeout_secs: z.number().positive().optional(),
  intent: sentence.optional(),
  turn: z.string().min(1).max(256).optional(),
  run_id: runId.optional(),
  cwd: filePath.optional(),
  limits: z.record(z.enum(limitNames), z.number()).or(z.partialRecord(z.enum(limitNames), z.number())).optional(),
};

/** The parameters of each request. `hello` ignores keys that it does not know; everywhere else they are refused. */
export const requests = {
  hello: z.object({
    protocol: z.int(),
    agent: name,
    session: z.string().min(1).max(256).optional(),
    session_key: z.string().max(256).optional(),
    cwd: filePath.optional(),
    token: z.string().max(1024).optional(),
    mode: mode.optional(),
    native_tool_calling: z.boolean().optional(),
    serves: z.array(z.enum(['before_tool', 'after_tool', 'assess_result'])).optional(),
    tools: z.array(z.object(toolShape)).max(maxTools).optional(),
    inventory: z.enum(['full', 'compact']).optional(),
  }),
  set_tools: z.strictObject({ tools: z.array(z.strictObject(toolShape)).max(maxTools) }),
  set_mode: z.strictObject({ mode }),
  run_code: z.strictObject({ program: text, ...programShape }),
  cancel: z.strictObject({ run_id: runId, reason: sentence.optional() }),
  run: z.strictObject({ run_id: runId }),
  read_spill: z.strictObject({ run_id: runId, offset: z.int().min(0), bytes: z.int().min(1).max(4 * 1024 * 1024) }),
  runs: z.strictObject({ state: z.enum(['running', 'queued', 'ended']).optional() }),
  status: z.strictObject({}),
} as const;

export type RequestName = keyof typeof requests;
export type RequestParams<Name extends RequestName> = z.infer<typeof requests[Name]>;
export type DeclaredTool = z.infer<z.ZodObject<typeof toolShape>>;

export const isRequestName = (method: string): method is RequestName => Object.hasOwn(requests, method);

/** @throws {ProtocolError} `invalid_params`, naming each key that is wrong, what was expected and what was given */
export function readRequest<Name extends RequestName>(method: Name, params: unknown): RequestParams<Name> {
  const { data, error } = requests[method].safeParse(params, { reportInput: true });
  if (!error) return data as RequestParams<Name>;
  const problems = error.issues.slice(0, 5).map((issue) => describeIssue(issue));
  throw new ProtocolError('invalid_params', `Cannot take ${method}: ${problems.join('; ')}`);
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map((step, i) => typeof step === 'number' ? `[${step}]` : (i > 0 ? '.' : '') + String(step))
    .join('');
  if (issue.code === 'unrecognized_keys') {
    return `${path ? `${path} has` : 'the parameters have'} no key ${
      issue.keys.map((key) => JSON.stringify(key)).join(', ')
    }`;
  }
  const got = issue.input === undefined ? 'nothing' : shown(issue.input);
  const expected = issue.message.replace(/^Invalid (input|option|string): */, '').replace(/, received .*$/, '').replace(
    /^Too (big|small): expected \S+ (to )?/,
    'must ',
  );
  return `${path || 'the parameters'}: ${expected}, got ${got}`;
}

function shown(value: unknown): string {
  const json = JSON.stringify(value, (_, item) => typeof item === 'bigint' ? String(item) : item) ?? String(value);
  return json.length > 80 ? json.slice(0, 77) + '...' : json;
}
