// `serve`: the daemon in the foreground, until SIGTERM or SIGINT lets it drain.

import process from 'node:process';
import { parseArgs } from 'node:util';
import { makeConfig } from '../config/config.ts';
import { Daemon } from '../daemon/daemon.ts';
import { createLog, type LogLevel } from '../observe/log.ts';
import { UsageError } from './usage.ts';

const usage = `usage: runwarden serve --socket PATH --state DIR [--log-level LEVEL]

  --socket PATH      the Unix socket that agents connect to; its folder is made, 0700, if it is missing
  --state DIR        what the daemon keeps: prepared modules, spill files
  --log-level LEVEL  debug, info, warn, error or silent (default info); JSON unless standard error is a terminal

SIGTERM drains: no new programs, those under way get five seconds, then they are interrupted.
`;

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export async function serveCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      socket: { type: 'string' },
      state: { type: 'string' },
      'log-level': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (!values.socket || !values.state) {
    throw new UsageError('serve needs --socket PATH and --state DIR; see runwarden serve --help');
  }
  const level = (values['log-level'] ?? 'info') as LogLevel;
  if (!levels.includes(level)) {
    throw new UsageError(`--log-level must be one of ${levels.join(', ')}, got ${JSON.stringify(level)}`);
  }
  // Whatever the daemon makes is its own from the first moment.
  process.umask(0o077);
  const log = createLog({ level, json: !process.stderr.isTTY });
  const asked = Promise.withResolvers<string>();
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.once(signal, () => asked.resolve(signal));
  const daemon = await Daemon.start({ socket: values.socket, state: values.state, config: makeConfig(), log });
  log.info({ socket: values.socket, state: values.state, pid: process.pid }, 'listening');
  const signal = await asked.promise;
  log.info({ signal }, 'draining');
  await daemon.close();
  log.info('stopped');
  return 0;
}
