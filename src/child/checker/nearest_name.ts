// Finds the name that was probably meant: same letters in another case or with other separators, else few edits away.

const EDITS_MOST = 3;
const LENGTH_MOST = 64;

/** The known name nearest to `name`, or undefined when none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LENGTH_MOST) return undefined;
  const same = known.find((candidate) => plain(candidate) === plain(name));
  if (same !== undefined) return same;
  // A short name may differ in little: of three letters one.
  let least = Math.min(EDITS_MOST, Math.floor(name.length / 3)) + 1;
  let nearest: string | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = edits(plain(name), plain(candidate));
    if (distance < least) [least, nearest] = [distance, candidate];
  }
  return nearest;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_ .]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one text to the other. */
function edits(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const next = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = last[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swap = swapped ? before[column - 2]! + 1 : Infinity;
      next.push(Math.min(last[column]! + 1, next[column - 1]! + 1, replaced, swap));
    }
    [before, last] = [last, next];
  }
  return last[to.length]!;
}
