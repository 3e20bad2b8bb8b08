// Random numbers that are the same in every run, so that a failure can be had again: mulberry32.

export type Random = {
  /** From 0 up to, but not including, 1. */
  readonly next: () => number;
  /** A whole number from 0 to `below` - 1. */
  readonly below: (below: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  readonly bytes: (count: number) => Uint8Array;
};

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: (items) => items[below(items.length)]!,
    bytes: (count) => Uint8Array.from({ length: count }, () => below(256)),
  };
}
