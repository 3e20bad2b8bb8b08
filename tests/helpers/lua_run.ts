// Runs a Lua program in this process, with a host that a test scripts, and shows what it did.

import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Ending, HostAnswer, ProgramHost } from '../../src/languages/language.ts';
import { LuaProgram } from '../../src/languages/lua/program.ts';
import { decode, encode, encodeText } from '../../src/protocol/wire.ts';

export const glueFile = readFileSync(fileURLToPath(import.meta.resolve('wasmoon/dist/glue.wasm')));

export type Asked = { readonly tool: string; readonly structured: boolean; readonly arguments: Uint8Array };
export type Answering = (asked: Asked, call: number) => HostAnswer;

const none = { message: '', content: undefined, structured: undefined };
export const ok = (content?: Uint8Array, structured?: Uint8Array): HostAnswer => ({
  ...none,
  status: 'ok',
  content,
  structured,
});
/** Succeeds with a text, or bytes. */
export const okText = (text: string | Uint8Array): HostAnswer =>
  ok(encodeText(typeof text === 'string' ? new TextEncoder().encode(text) : text).bytes);
/** Succeeds with a structured value only, which the run hands over as content where no text is. */
export const okValue = (value: unknown): HostAnswer => ok(undefined, encode(value));
export const refused = (status: 'failed' | 'denied' | 'not_run', message: string): HostAnswer => ({
  ...none,
  status,
  message,
});
export const final: HostAnswer = { ...none, status: 'final' };

export type LuaRun = {
  readonly ending: Ending['ending'];
  readonly message: string;
  readonly traceback: string | null;
  readonly memoryBytes: number;
  readonly printed: string;
  readonly printedBytes: Uint8Array;
  readonly asked: readonly Asked[];
  /** The arguments of each call, decoded. */
  readonly arguments: readonly any[];
};

export type LuaOptions = {
  answer?: Answering;
  memoryBytes?: number;
  tools?: readonly string[];
  cwd?: string | null;
  cpuMicros?: () => number;
};

const MiB = 1024 * 1024;

export function runLua(source: string | Uint8Array, options: LuaOptions = {}): LuaRun {
  const chunks: Uint8Array[] = [];
  const asked: Asked[] = [];
  const host: ProgramHost = {
    print: (bytes) => void chunks.push(bytes.slice()),
    call: (request) => {
      asked.push({ ...request, arguments: request.arguments.slice() });
      return options.answer ? options.answer(asked.at(-1)!, asked.length) : okText('');
    },
    cpuMicros: options.cpuMicros ?? (() => 0),
  };
  const program = new LuaProgram(glueFile, host);
  const { ending, message, traceback, memoryBytes } = program.run({
    source: typeof source === 'string' ? new TextEncoder().encode(source) : source,
    settings: {
      memoryBytes: options.memoryBytes ?? 64 * MiB,
      printedBytes: MiB,
      cwd: options.cwd ?? null,
      version: '1.2.3',
      tools: options.tools ?? ['read', 'write'],
    },
  });
  const printedBytes = Uint8Array.from(Buffer.concat(chunks));
  return {
    ending,
    message,
    traceback,
    memoryBytes,
    printed: Buffer.from(printedBytes).toString('utf8'),
    printedBytes,
    asked,
    arguments: asked.map((call) => decode(call.arguments)),
  };
}
