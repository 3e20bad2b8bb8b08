// Waiting for a condition instead of for a time.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Turns the event loop until `condition` holds. @throws {Error} if it does not within 10 s */
export async function until(condition: () => boolean, what = condition.toString()): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited 10 s in vain for: ${what}`);
    await nextTurn();
  }
}
