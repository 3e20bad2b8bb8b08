// The daemon's log: tslog, as JSON lines or readable on a terminal, written to one sink.
// Secrets are masked by key. Never a place for what a program printed.

import process from 'node:process';
import { Logger } from 'tslog';

export type LogLevel = 'silly' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
export type Log = Pick<Logger<unknown>, 'debug' | 'info' | 'warn' | 'error'>;

const secretKeys = ['token', 'session_key', 'sessionKey', 'authorization', 'password', 'secret'];

/**
 * @param options.level the least that is written; `silent` writes nothing
 * @param options.json lines of JSON instead of readable ones
 * @param options.write takes each line; by default standard error
 */
export function createLog(options: { level: LogLevel; json: boolean; write?: (line: string) => void }): Log {
  if (!options.write) process.stderr.on('error', () => {}); // Whoever read the log has gone; the daemon stays.
  const write = options.write ?? ((line: string) => void process.stderr.write(line + '\n'));
  const silent = options.level === 'silent';
  return new Logger({
    type: 'hidden',
    minLevel: silent ? 'FATAL' : options.level.toUpperCase() as 'INFO',
    stack: { capture: 'off' },
    mask: { keys: secretKeys },
    attachedTransports: silent
      ? []
      : [{ name: 'sink', format: options.json ? 'json' : 'pretty', write: (_record, line) => write(line) }],
  });
}
