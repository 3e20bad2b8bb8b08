// The names of tools: which may never be called from a program, and which known name comes nearest to a mistaken one.

/** Never callable from a program: programs do not nest, delegate, or steer the session they run in. */
export const forbiddenNames: ReadonlySet<string> = new Set([
  'run_code',
  'code_mode',
  'spawn_subagent',
  'evolve',
  'publish',
  'exit_plan',
  'interview',
  'run_command',
  'magi_control',
]);

export const maxNameChars = 256;
/** Names are compared by so many characters, and so many of them: a mistake must not hold up the daemon. */
const comparedChars = 64;
const mostCompared = 5000;

/** At most `most` of `names`, nearest first, that could have been meant by `wrong`. */
export function nearestNames(wrong: string, names: Iterable<string>, most = 3): string[] {
  const target = fold(wrong);
  const scored: { name: string; score: number }[] = [];
  let compared = 0;
  for (const name of names) {
    if (++compared > mostCompared) break;
    const candidate = fold(name);
    const contained = target.length >= 3 && (candidate.includes(target) || target.includes(candidate));
    const score = contained ? 1 : distance(target, candidate);
    if (score <= Math.max(2, Math.floor(target.length / 3))) scored.push({ name, score });
  }
  return scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1)).slice(0, most).map(({ name }) => name);
}

/** Names that differ in case, dashes, dots or underscores only are the same here. */
const fold = (name: string): string => name.slice(0, comparedChars).toLowerCase().replace(/[-_.\s/]+/g, '_');

/** Levenshtein's distance, in time and space of the product and of the shorter length. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + change));
    }
    previous = row;
  }
  return previous[b.length]!;
}
