// Writes the parts of the documents that are made from the source's own tables: failure kinds, limits, error codes.
// A part stands between `<!-- made: NAME -->` and `<!-- end -->`; everything else in a document is kept by hand.
// `node docs/generate.ts` writes, with `--check` it only tells which documents are not current.

import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { argumentBounds, schemaBounds } from '../src/child/checker/schema_bounds.ts';
import { defaultConfig } from '../src/config/config.ts';
import { type ErrorCode, errorCodes } from '../src/protocol/errors.ts';
import { kindTable } from '../src/protocol/failures.ts';
import { type LimitName, limitNames, limitTable } from '../src/protocol/limits.ts';

/** What each error code means, and what its `data` holds. `reserved`: nothing sends it yet. */
const codeMeanings: Record<ErrorCode, { readonly meaning: string; readonly data?: string; readonly reserved?: true }> =
  {
    not_hello: { meaning: 'a request came before `hello`' },
    unsupported_protocol: { meaning: '`hello` asked for a version of the protocol that the daemon does not speak' },
    unauthorized: { meaning: 'a token is missing or wrong', reserved: true },
    invalid_message: {
      meaning:
        'the bytes are no message of this protocol, and the connection is closed after it; or a map in the parameters has a key that is no text, and it stays',
    },
    invalid_params: { meaning: 'the parameters are not as they must be; the message names the key' },
    unknown_method: { meaning: 'there is no request of this name' },
    message_too_large: { meaning: 'a message passes a bound of the wire; the connection is closed after it' },
    too_many_requests: { meaning: 'too many requests of the connection are unanswered' },
    plan_mode: { meaning: 'a program was asked for in plan mode' },
    inspect_only: { meaning: 'a program was asked for by an agent that may only inspect' },
    disabled: { meaning: 'code mode is not offered to this agent' },
    busy: { meaning: 'too many runs wait already', data: '`{what, retry_after_ms}`' },
    duplicate_run: { meaning: 'a run is asked for twice', reserved: true },
    no_such_run: { meaning: 'the session has no run of this id, or it is no longer kept' },
    no_such_turn: { meaning: 'the session has no turn of this name', reserved: true },
    no_such_session: { meaning: 'there is no session of this name', reserved: true },
    forbidden: { meaning: 'the folder or the session is not open to this agent' },
    shutting_down: { meaning: 'the daemon takes no more programs' },
    internal: { meaning: 'a fault of the daemon; its log says more' },
    denied: { meaning: 'sent by agents, as the answer to `call_tool`: a veto' },
  };

/** The codes that nothing sends yet. */
export const reservedCodes: readonly string[] = errorCodes.filter((code) => codeMeanings[code].reserved);

/** What follows when a limit is reached. */
const consequences: Record<LimitName, string> = {
  source_bytes: 'refused before it starts: `invalid_params`',
  calls: 'the run ends as `calls`',
  compute_ms: 'the run ends as `time`, clock `compute`',
  wall_ms: 'the run ends as `time`, clock `wall`',
  memory_bytes: 'the run ends as `memory`',
  printed_bytes: 'the rest is dropped and counted; the program goes on',
  result_bytes: 'the program gets nil and a message, and goes on',
  total_result_bytes: 'the run ends as `results`',
  return_bytes: 'planned, with JavaScript programs',
  report_chars: 'head and tail are shown; the whole output is in a spill file',
};

const units: Readonly<Record<string, readonly [size: number, name: string][]>> = {
  bytes: [[1024 * 1024, 'MiB'], [1024, 'KiB'], [1, 'bytes']],
  ms: [[1000, 's'], [1, 'ms']],
};

/** 65536 bytes as `64 KiB`, 30000 ms as `30 s`, other counts with their thousands apart. */
export function amount(value: number | null, unit: string): string {
  if (value === null) return 'none';
  const [size, name] = units[unit]?.find(([size]) => value % size === 0) ?? [1, ''];
  return `${(value / size).toLocaleString('en-US')} ${value === 1 && name === 'bytes' ? 'byte' : name}`.trim();
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const code = (text: string): string => '`' + text + '`';

function kinds(): string {
  const rows = Object.entries(kindTable).map(([kind, { fault, meaning, recovery }]) => [
    code(kind),
    meaning,
    fault ? 'yes' : 'no',
    recovery ?? '–',
  ]);
  return table(['kind', 'meaning', 'fault', 'advice in the report'], rows);
}

function codes(): string {
  const rows = errorCodes.map((name) => {
    const { meaning, data = '–', reserved } = codeMeanings[name];
    return [code(name), reserved ? `${meaning} (reserved: not sent yet)` : meaning, data];
  });
  return table(['code', 'meaning', 'data'], rows);
}

function limits(): string {
  const rows = limitNames.map((name) => {
    const { unit, lua, javascript, least, most, meaning } = limitTable[name];
    const of = (value: number | null) => amount(value, unit);
    return [code(name), meaning, of(lua), of(javascript), `${of(least)} to ${of(most)}`, consequences[name]];
  });
  return table(['limit', 'of what', 'Lua', 'JavaScript', 'can be', 'past it'], rows);
}

function inShort(): string {
  const shown: readonly LimitName[] = [
    'compute_ms',
    'wall_ms',
    'memory_bytes',
    'calls',
    'result_bytes',
    'printed_bytes',
  ];
  const rows = shown.map((name) => [
    limitTable[name].meaning,
    amount(limitTable[name].lua, limitTable[name].unit),
    consequences[name],
  ]);
  return table(['of what', 'by default', 'past it'], rows);
}

function daemonBounds(): string {
  const { admission, protocol, tools, limits, shutdownGraceMs, cancelGraceMs } = defaultConfig();
  const rows: readonly (readonly [string, string, string])[] = [
    ['runs at once', amount(admission.maxRunning, ''), 'others wait in line'],
    ['runs at once of one session', amount(admission.maxRunningPerAgent, ''), 'others wait in line, sessions in turn'],
    ['runs waiting', amount(admission.maxQueued, ''), 'refused: `busy`'],
    ['runs waiting of one session', amount(admission.maxQueuedPerAgent, ''), 'refused: `busy`'],
    ['compute that a request may ask for', amount(limits.mostComputeMs, 'ms'), 'refused: `invalid_params`'],
    ['one message', amount(protocol.maxMessageBytes, 'bytes'), '`message_too_large`, connection closed'],
    ['values in one message', amount(protocol.maxElements, ''), '`message_too_large`, connection closed'],
    ['nesting of one message', `${protocol.maxDepth} levels`, '`invalid_message`, connection closed'],
    ['unanswered requests of one side', amount(protocol.maxUnanswered, ''), '`too_many_requests`'],
    ['one call of a tool without a timeout', amount(tools.timeoutMs, 'ms'), 'the call failed, its outcome is unknown'],
    ['calls open at the end of a run', amount(cancelGraceMs, 'ms'), 'their outcomes are unknown'],
    ['runs under way when the daemon stops', amount(shutdownGraceMs, 'ms'), 'the run ends as `interrupted`'],
  ];
  return table(['of what', 'at most', 'past it'], rows);
}

function schemas(): string {
  const rows = (bounds: Readonly<Record<string, { most: number; unit: string; why: string }>>, of: string) =>
    Object.values(bounds).map(({ most, unit, why }) => [of, `${most.toLocaleString('en-US')} ${unit}`, why]);
  return table(['of', 'at most', 'holds down'], [
    ...rows(schemaBounds, 'a schema'),
    ...rows(argumentBounds, 'arguments'),
  ]);
}

type Part = { readonly file: string; readonly name: string; readonly text: () => string };

const parts: readonly Part[] = [
  { file: 'docs/failures.md', name: 'kinds', text: kinds },
  { file: 'docs/failures.md', name: 'codes', text: codes },
  { file: 'docs/limits.md', name: 'limits', text: limits },
  { file: 'docs/limits.md', name: 'daemon', text: daemonBounds },
  { file: 'docs/limits.md', name: 'schemas', text: schemas },
  { file: 'docs/protocol.md', name: 'code names', text: () => errorCodes.map(code).join(' ') },
  { file: 'README.md', name: 'limits in short', text: inShort },
];

/**
 * Puts a part in its place.
 * @throws {Error} if the document has no place for it
 */
export function fill(document: string, name: string, text: string): string {
  const begin = `<!-- made: ${name} -->\n`;
  const from = document.indexOf(begin);
  const to = document.indexOf('<!-- end -->', from);
  if (from < 0 || to < 0) throw new Error(`Cannot fill in ${JSON.stringify(name)}: the document has no place for it`);
  return `${document.slice(0, from)}${begin}\n${text}\n\n${document.slice(to)}`;
}

/** The documents that hold made parts: as they are, and as they should be. */
export function documents(): { readonly file: string; readonly found: string; readonly wanted: string }[] {
  return [...new Set(parts.map(({ file }) => file))].map((file) => {
    const found = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    const own = parts.filter((part) => part.file === file);
    return { file, found, wanted: own.reduce((text, part) => fill(text, part.name, part.text()), found) };
  });
}

if (import.meta.main) {
  for (const { file, found, wanted } of documents()) {
    if (found === wanted) continue;
    if (process.argv.includes('--check')) {
      process.stderr.write(`${file} is not current: run npm run docs\n`);
      process.exitCode = 1;
    } else writeFileSync(new URL(`../${file}`, import.meta.url), wanted);
  }
}
