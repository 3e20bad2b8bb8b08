// Bytes as hexadecimal text, spaces allowed: how tests write MessagePack by hand.

import { Buffer } from 'node:buffer';

export const fromHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replace(/\s+/g, ''), 'hex'));
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
