// Small pieces of sentences for people and models: counted nouns, lists of alternatives.

/** `1 call`, `2 calls`: for nouns whose plural is made by an s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `"a", "b" or "c"`. */
export function quotedList(names: readonly string[]): string {
  const quoted = names.map((name) => JSON.stringify(name));
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}

/** Plain data as JSON for a sentence, cut at `most` characters; costs no more than what is shown, however large the value. */
export function shownValue(value: unknown, most: number): string {
  const text = typeof value === 'bigint' ? String(value) : JSON.stringify(sample(value, most, 0)) ?? String(value);
  return text.length > most ? `${text.slice(0, most - 3)}...` : text;
}

const mostItems = 20;
const mostLevels = 4;

/** As much of a value as can matter for a text of `most` characters. */
function sample(value: unknown, most: number, level: number): unknown {
  if (typeof value === 'string') return value.slice(0, most);
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return `<${value.length} bytes>`;
  if (typeof value !== 'object' || value === null) return value;
  if (level === mostLevels) return '...';
  if (Array.isArray(value)) return value.slice(0, mostItems).map((item) => sample(item, most, level + 1));
  const entries = Object.entries(value).slice(0, mostItems);
  return Object.fromEntries(entries.map(([key, item]) => [key.slice(0, most), sample(item, most, level + 1)]));
}
