// Small pieces of sentences for people and models: counted nouns, lists of alternatives.

/** `1 call`, `2 calls`: for nouns whose plural is made by an s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `"a", "b" or "c"`. */
export function quotedList(names: readonly string[]): string {
  const quoted = names.map((name) => JSON.stringify(name));
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}
