// MessagePack values as JSON text for people and models: one pass over the bytes, cut at a bound,
// so that a large value costs no more than what is shown of it. Never used to send a value on.

import { Buffer, isUtf8 } from 'node:buffer';
import { newHeader, readHeader, readScalar } from './outline.ts';

/**
 * The checked MessagePack value as JSON. 64-bit integers are written in full, bytes that are no text as `"<12 bytes>"`.
 * @param most characters; what is longer ends with `...`
 */
export function jsonText(bytes: Uint8Array, most: number): string {
  let text = '';
  const header = newHeader();
  const add = (part: string) => {
    text += part;
  };
  const write = (at: number): number => {
    readHeader(bytes, at, bytes.length, header);
    const { size, payload, children, container, text: isText } = header;
    const next = at + size + payload;
    if (text.length > most) return next;
    const type = bytes[at]!;
    if (container) return writeContainer(container, next, children);
    if (isText || (type >= 0xc4 && type <= 0xc6)) add(quoted(bytes.subarray(at + size, next)));
    else add(scalar(readScalar(bytes, at)));
    return next;
  };
  const writeContainer = (container: 'array' | 'map', at: number, children: number): number => {
    add(container === 'array' ? '[' : '{');
    for (let i = 0; i < children && text.length <= most; i++) {
      if (i > 0) add(container === 'map' && i % 2 === 1 ? ':' : ',');
      at = write(at);
    }
    add(container === 'array' ? ']' : '}');
    return at;
  };
  const quoted = (part: Uint8Array): string => {
    const room = Math.max(0, most - text.length) + 8;
    if (!isUtf8(part)) return `"<${part.length} bytes>"`;
    return JSON.stringify(Buffer.from(part.subarray(0, 4 * room)).toString('utf8'));
  };
  write(0);
  return text.length <= most ? text : cut(text, Math.max(0, most - 3)) + '...';
}

const scalar = (value: unknown): string =>
  typeof value === 'number' && !Number.isFinite(value) ? `"${value}"` : String(value);

/** The first `most` characters, never half of a surrogate pair. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
