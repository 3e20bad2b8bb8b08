// What agents may ask, to the key: one schema for each request, from which validation and the check of
// docs/protocol.md are made. The public contract: keys are added, never renamed.

import { z } from 'zod';
import { ProtocolError } from './errors.ts';
import { type LimitName, limitNames } from './limits.ts';
import { counted, quotedList, shownValue } from './wording.ts';

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

const limitShape = Object.fromEntries(limitNames.map((name) => [name, z.number().optional()])) as Record<
  LimitName,
  z.ZodOptional<z.ZodNumber>
>;

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
  limits: z.strictObject(limitShape).optional(),
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
  // One problem a key is enough to mend it.
  const first = new Map(
    error.issues.toReversed().map((issue) => [issue.path.join('\0') + (issue.code === 'unrecognized_keys'), issue]),
  );
  const problems = [...first.values()].toReversed().slice(0, 5).map(describeIssue);
  throw new ProtocolError('invalid_params', `Cannot take ${method}: ${problems.join('; ')}`);
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};
const counts: Readonly<Record<string, string>> = { string: ' character', array: ' item' };

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map((step, i) => typeof step === 'number' ? `[${step}]` : (i > 0 ? '.' : '') + String(step))
    .join('');
  if (issue.code === 'unrecognized_keys') {
    return `${path ? `${path} has` : 'the parameters have'} no key ${
      issue.keys.slice(0, 5).map((key) => JSON.stringify(key)).join(', ')
    }`;
  }
  return `${path || 'the parameters'}: ${expectation(issue)}, got ${
    issue.input === undefined ? 'nothing' : shownValue(issue.input, 80)
  }`;
}

function expectation(issue: z.core.$ZodIssue): string {
  const amount = (origin: string, bound: number | bigint) =>
    counts[origin] ? counted(Number(bound), counts[origin].trim()) : String(bound);
  const have = (origin: string) => counts[origin] ? 'must have' : 'must be';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${quotedList(issue.values.map(String))}`;
    case 'too_small':
      return `${have(issue.origin)} ${issue.inclusive ? 'at least' : 'more than'} ${
        amount(issue.origin, issue.minimum)
      }`;
    case 'too_big':
      return `${have(issue.origin)} ${issue.inclusive ? 'at most' : 'less than'} ${
        amount(issue.origin, issue.maximum)
      }`;
    default:
      return issue.message;
  }
}
