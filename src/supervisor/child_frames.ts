// The frames of a child, checked: a child is never trusted, whatever has become of its program.
// A frame that is not as it should be is an error that costs the child, and its run alone.

import { z } from 'zod';
import {
  type CallHeader,
  childProtocolVersion,
  endings,
  type FaultHeader,
  type FinishedHeader,
  type Frame,
  frameKinds,
  maxArgumentBytes,
  type ReadyHeader,
} from '../protocol/child_messages.ts';
import { checkValue, newHeader, readHeader } from '../protocol/outline.ts';

const text = z.string().max(65_536);
const count = z.int().min(0);
const headers = {
  ready: z.object({ protocol: z.literal(childProtocolVersion), runtime: text, lockdown: z.record(text, text) }),
  call: z.object({ call: count.min(1), tool: text, structured: z.boolean() }),
  fault: z.object({ message: text }),
  finished: z.object({
    ending: z.enum(endings),
    message: text,
    traceback: text.nullable(),
    memoryBytes: count,
    droppedBytes: count,
    cpuMs: z.number().min(0),
  }),
};

export type ChildMessage =
  | { readonly kind: 'ready'; readonly header: ReadyHeader }
  | { readonly kind: 'printed'; readonly bytes: Uint8Array }
  | { readonly kind: 'call'; readonly header: CallHeader; readonly arguments: Uint8Array }
  | { readonly kind: 'finished'; readonly header: FinishedHeader }
  | { readonly kind: 'fault'; readonly header: FaultHeader };

const argumentBounds = { maxMessageBytes: maxArgumentBytes, maxDepth: 56, maxElements: 1_000_000 };

/** @throws {Error} naming what is wrong with the frame */
export function readChildMessage(frame: Frame): ChildMessage {
  switch (frame.kind) {
    case frameKinds.printed:
      return { kind: 'printed', bytes: frame.payload };
    case frameKinds.ready:
      return { kind: 'ready', header: check(headers.ready, frame) };
    case frameKinds.finished:
      return { kind: 'finished', header: check(headers.finished, frame) };
    case frameKinds.fault:
      return { kind: 'fault', header: check(headers.fault, frame) };
    case frameKinds.call: {
      const header = check(headers.call, frame);
      checkValue(frame.payload, argumentBounds);
      const outer = newHeader();
      readHeader(frame.payload, 0, frame.payload.length, outer);
      if (outer.container !== 'map') throw new Error('the arguments of a call must be a map');
      return { kind: 'call', header, arguments: frame.payload };
    }
    default:
      throw new Error(`a frame of kind ${frame.kind} does not exist`);
  }
}

function check<T>(schema: z.ZodType<T>, frame: Frame): T {
  const { data, error } = schema.safeParse(frame.header);
  if (error) throw new Error(`the header of a frame of kind ${frame.kind} is malformed: ${z.prettifyError(error)}`);
  return data as T;
}
