// A log that keeps what it was told, for tests.

import type { Log } from '../../src/observe/log.ts';

export type LogLine = { readonly level: string; readonly message: string; readonly data: Record<string, unknown> };

export function recordedLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const writer = (level: string) => (data: unknown, message: unknown) => {
    lines.push({ level, message: String(message), data: data as Record<string, unknown> });
    return undefined;
  };
  const log = { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
  return { log: log as unknown as Log, lines };
}
