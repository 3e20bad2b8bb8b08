// The report: the text that goes back to the model, of one shape for every kind of ending.
// Header, traceback, recovery advice, warnings, what was printed, the numbered ledger.

import { cut, jsonText } from '../protocol/json_text.ts';
import type { Kind } from '../protocol/failures.ts';
import type { LanguageName } from '../protocol/limits.ts';
import { counted } from '../protocol/wording.ts';
import type { CallRecord, Usage } from './outcome.ts';

const toolNames: Record<LanguageName, string> = { lua: 'run_code', javascript: 'code_mode' };
const maxArgumentChars = 200;
const maxMessageChars = 300;

export type ReportParts = {
  readonly language: LanguageName;
  readonly kind: Kind;
  readonly message: string;
  readonly traceback: string | undefined;
  readonly recovery: string | undefined;
  readonly warnings: readonly string[];
  /** Everything that was printed and held, as text. */
  readonly output: string;
  readonly droppedBytes: number;
  readonly reportChars: number;
  readonly spillPath: string | undefined;
  readonly calls: readonly CallRecord[];
  /** Calls that were not run and have no row. */
  readonly callsLeftOut: number;
  readonly usage: Pick<Usage, 'calls' | 'computeMs'>;
};

export function writeReport(parts: ReportParts): string {
  const sections = [
    header(parts),
    parts.traceback,
    parts.recovery && `recovery: ${parts.recovery}`,
    parts.warnings.length > 0
      ? ['warnings:', ...parts.warnings.map((warning) => `  ${oneLine(warning, 1000)}`)].join('\n')
      : undefined,
    outputSection(parts),
    ledgerSection(parts),
  ];
  return sections.filter((section) => section !== undefined && section !== '').join('\n\n') + '\n';
}

function header({ language, kind, message, usage }: ReportParts): string {
  const name = toolNames[language];
  if (kind !== 'ok') return `${name} ${kind}: ${message}`;
  return `${name} ok (${counted(usage.calls, 'tool call')}, ${(usage.computeMs / 1000).toFixed(2)}s compute)`;
}

function outputSection(parts: ReportParts): string | undefined {
  const { output, droppedBytes, reportChars, spillPath } = parts;
  if (output === '' && droppedBytes === 0) return undefined;
  const dropped = droppedBytes > 0
    ? `\n(${droppedBytes} more ${droppedBytes === 1 ? 'byte was' : 'bytes were'} printed beyond the bound and dropped)`
    : '';
  return `output:\n${shorten(output, reportChars, spillPath).replace(/\n$/, '')}${dropped}`;
}

/** Head and tail, in two thirds and one third of what is allowed, and between them what is missing and where it is. */
function shorten(output: string, most: number, spillPath: string | undefined): string {
  if (output.length <= most) return output;
  const head = cut(output, Math.ceil(most * 2 / 3));
  const from = output.length - Math.floor(most / 3);
  const tail = output.slice(isLowSurrogate(output, from) ? from + 1 : from);
  const missing = output.length - head.length - tail.length;
  const where = spillPath ? `; the whole output is in ${spillPath}` : '';
  return `${head}\n[${counted(missing, 'character')} left out${where}]\n${tail}`;
}

const isLowSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

function ledgerSection({ calls, callsLeftOut }: ReportParts): string | undefined {
  const left = callsLeftOut === 1 ? 'call that was not run' : 'calls that were not run';
  if (calls.length === 0) return callsLeftOut > 0 ? `calls:\n  ${callsLeftOut} ${left}` : undefined;
  const more = callsLeftOut > 0 ? [`  and ${callsLeftOut} more ${left}`] : [];
  return ['calls:', ...calls.map(ledgerRow), ...more].join('\n');
}

function ledgerRow(record: CallRecord): string {
  const { call, tool, outcome, bytes, message } = record;
  const args = jsonText(record.arguments.bytes, maxArgumentChars);
  const size = outcome === 'ok' && bytes > 0 && record.class !== 'edit' ? `, ${counted(bytes, 'byte')}` : '';
  const said = message ? `: ${oneLine(message, maxMessageChars)}` : '';
  return `  ${call} ${oneLine(tool, 100)} ${args} -> ${outcome.replace('_', ' ')}${size}${said}`;
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/\s*[\r\n]+\s*/g, ' ');
  return line.length <= most ? line : cut(line, most - 3) + '...';
}
