// One line on a terminal that tells how a run goes, overwritten in place and gone at the end.

import type { Progress } from '../client/messages.ts';

type Terminal = { readonly columns?: number; write(text: string): unknown };

const control = /\p{Cc}/gu;

export function progressLine(
  terminal: Terminal,
  enabled: boolean,
): { show: (progress: Progress) => void; clear: () => void } {
  if (!enabled) return { show: () => {}, clear: () => {} };
  const clear = () => void terminal.write('\r\x1b[K');
  return {
    clear,
    show({ calls, compute_ms: computeMs, recent, intent }) {
      const last = recent.at(-1);
      const doing = last ? `${last.tool}${last.outcome === 'unknown' ? ' ...' : ''}` : '';
      const text = `${intent ?? 'program'}: ${calls} calls, ${(computeMs / 1000).toFixed(1)}s compute  ${doing}`
        .replace(control, ' ');
      clear();
      terminal.write(text.slice(0, Math.max(10, (terminal.columns ?? 80) - 1)));
    },
  };
}
