// The limits of a run: one table row each, with its default per language, its bounds and its unit.
// Validation, the limits that agents are told, and documentation are all made from the rows.

import { ProtocolError } from './errors.ts';

export type LanguageName = 'lua' | 'javascript';

type LimitRow = {
  readonly unit: 'bytes' | 'ms' | 'calls' | 'characters';
  readonly lua: number | null;
  readonly javascript: number;
  readonly least: number;
  readonly most: number;
  readonly meaning: string;
};

const KiB = 1024;
const MiB = 1024 * KiB;

/** A `null` default: the limit does not exist for that language. */
export const limitTable = {
  source_bytes: {
    unit: 'bytes',
    lua: 64 * KiB,
    javascript: 64 * KiB,
    least: 1,
    most: MiB,
    meaning: 'source text of a program',
  },
  calls: { unit: 'calls', lua: 64, javascript: 200, least: 1, most: 1000, meaning: 'tool calls of a run' },
  compute_ms: {
    unit: 'ms',
    lua: 30_000,
    javascript: 60_000,
    least: 1,
    most: 3_600_000,
    meaning: 'time with no call open, waiting for a processor not counted',
  },
  wall_ms: {
    unit: 'ms',
    lua: 600_000,
    javascript: 3_600_000,
    least: 1,
    most: 86_400_000,
    meaning: 'time from start to end, never extended',
  },
  memory_bytes: {
    unit: 'bytes',
    lua: 64 * MiB,
    javascript: 32 * MiB,
    least: MiB,
    most: 256 * MiB,
    meaning: "the program's heap",
  },
  printed_bytes: {
    unit: 'bytes',
    lua: 8 * MiB,
    javascript: 8 * MiB,
    least: 1,
    most: 64 * MiB,
    meaning: 'printed output held; what is beyond is dropped and counted',
  },
  result_bytes: {
    unit: 'bytes',
    lua: MiB,
    javascript: MiB,
    least: 1,
    most: 16 * MiB,
    meaning: 'one result; a larger one is withheld, and its call told as failed',
  },
  total_result_bytes: {
    unit: 'bytes',
    lua: 8 * MiB,
    javascript: 8 * MiB,
    least: 1,
    most: 64 * MiB,
    meaning: 'all results of a run',
  },
  return_bytes: {
    unit: 'bytes',
    lua: null,
    javascript: 256 * KiB,
    least: 1,
    most: 4 * MiB,
    meaning: 'the value that a program returns',
  },
  report_chars: {
    unit: 'characters',
    lua: 30_000,
    javascript: 30_000,
    least: 1,
    most: MiB,
    meaning: 'printed output shown in the report; the whole is in the spill file',
  },
} as const satisfies Record<string, LimitRow>;

export type LimitName = keyof typeof limitTable;
/** Every limit of a run, by its wire name; `null` where the language has none. Units as in `limitTable`. */
export type Limits = { readonly [Name in LimitName]: Name extends 'return_bytes' ? number | null : number };

export const limitNames = Object.keys(limitTable) as LimitName[];

export function defaultLimits(language: LanguageName): Limits {
  return Object.freeze(Object.fromEntries(limitNames.map((name) => [name, limitTable[name][language]]))) as Limits;
}

/** How many runs there may be at once, overall and for one agent. */
export type AdmissionLimits = {
  readonly maxRunning: number;
  readonly maxRunningPerAgent: number;
  readonly maxQueued: number;
  readonly maxQueuedPerAgent: number;
};

/** How much compute time a request may ask for at most, unless configured otherwise. */
export const defaultMostComputeMs = 120_000;

/**
 * The limits of one run: the configured ones, lowered as the request says. Only compute may be raised, to `mostComputeMs`.
 * @param asked limits by wire name, as the request gave them
 * @throws {ProtocolError} `invalid_params` naming the limit, what is allowed and what was given
 */
export function lowerLimits(
  configured: Limits,
  asked: Readonly<Record<string, number>>,
  mostComputeMs: number,
): Limits {
  const limits: Record<string, number | null> = { ...configured };
  for (const [name, value] of Object.entries(asked)) {
    const held = Object.hasOwn(configured, name) ? configured[name as LimitName] : undefined;
    if (held === undefined) refuse(`limits.${name} is no limit; the limits are ${limitNames.join(', ')}`);
    if (held === null) refuse(`limits.${name} does not apply to this language`);
    const { least } = limitTable[name as LimitName];
    if (!Number.isInteger(value) || value < least) {
      refuse(`limits.${name} must be a whole number of at least ${least}, got ${value}`);
    }
    const most = name === 'compute_ms' ? Math.max(held, mostComputeMs) : held;
    if (value > most) {
      refuse(
        `limits.${name} must be at most ${most}, got ${value}${
          name === 'compute_ms' ? '' : '; a request may only lower it'
        }`,
      );
    }
    limits[name] = value;
  }
  return Object.freeze(limits) as Limits;
}

function refuse(reason: string): never {
  throw new ProtocolError('invalid_params', `Cannot run program: ${reason}`);
}
