// How values and places are written in sentences: quoted, cut to a length that a model reads at a glance, never split
// inside a character. Knows nothing of schemas.

import { type Projected, typeOf, unmarked } from './projected_values.ts';

/** One step down from a value: the unmarked name of a property, or the index of an item. */
export type PathStep = string | number;

const VALUE_LENGTH = 80;
const PATH_LENGTH = 160;
const MESSAGE_LENGTH = 500;

/** The first `length` UTF-16 units of a text, with `...` where something was cut. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text[length - 4] ?? '') ? length - 4 : length - 3;
  return `${text.slice(0, end)}...`;
}

/** A sentence no longer than a message may be (500 UTF-16 units). */
export function cutMessage(sentence: string): string {
  return cut(sentence, MESSAGE_LENGTH);
}

/** A text in double quotes, cut; one that is mostly escapes is cut sooner. */
export function quoted(text: string): string {
  const whole = JSON.stringify(cut(text, VALUE_LENGTH));
  return whole.length <= VALUE_LENGTH * 1.5 ? whole : JSON.stringify(cut(text, VALUE_LENGTH / 4));
}

/** Where a value is, such as `arguments.paths[2]` or `arguments["x y"]`; the middle of a long path is left out. */
export function pathOf(root: string, steps: readonly PathStep[]): string {
  let path = root;
  for (const step of steps) {
    if (typeof step === 'number') path += `[${step}]`;
    else path += /^[A-Za-z_$][\w$-]{0,79}$/.test(step) ? `.${step}` : `[${quoted(step)}]`;
  }
  if (path.length <= PATH_LENGTH) return path;
  return `${path.slice(0, PATH_LENGTH / 2)}...${path.slice(-PATH_LENGTH / 2)}`.toWellFormed();
}

/** A value as JSON, cut; a float beyond 64 bits is written with its exponent. */
export function literal(value: Projected): string {
  return typeof value === 'string' ? quoted(unmarked(value)) : cut(partOf(value, VALUE_LENGTH), VALUE_LENGTH);
}

/** A value with its type, such as `number 5`, `string "abc"`, `null`, `array`, `empty array`. */
export function described(value: Projected): string {
  const type = typeOf(value);
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0 ? `empty ${type}` : type;
  if (type === 'null') return type;
  return `${type === 'integer' ? 'number' : type} ${literal(value)}`;
}

/** JSON of a value, at least `length` long if there is more; never much longer, however large the value. */
function partOf(value: Projected, length: number): string {
  if (typeof value === 'string') return quoted(unmarked(value));
  if (typeof value === 'bigint') {
    return value > -(2n ** 64n) && value < 2n ** 64n ? String(value) : String(Number(value));
  }
  if (typeof value !== 'object' || value === null) return String(value);
  const list = Array.isArray(value);
  let text = list ? '[' : '{';
  // Each item is a character at least, so that this many of them are more than can be shown.
  const keys = list ? value.slice(0, VALUE_LENGTH).keys() : Object.keys(value);
  for (const key of keys) {
    if (text.length > length) break;
    const item = (value as Record<string | number, Projected>)[key]!;
    text += text.length > 1 ? ', ' : '';
    text += typeof key === 'number' ? '' : `${quoted(unmarked(key))}: `;
    text += partOf(item, length - text.length);
  }
  return `${text}${list ? ']' : '}'}`;
}

/** Words as a list in a sentence: `a`, `a or b`, `a, b or c`; long lists are cut and counted. */
export function alternatives(words: readonly string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const word of words) {
    length += word.length + 2;
    if (length > PATH_LENGTH * 1.5 && shown.length > 0) return `${shown.join(', ')}, ... (${words.length} in all)`;
    shown.push(word);
  }
  return shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`;
}
