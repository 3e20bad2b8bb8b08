// How every kind of child begins and ends: its parameters, the lock-up, `ready`, and a way out that
// turns no event loop. Nothing is read from the pipe before the lock-up is done.

import { Buffer } from 'node:buffer';
import process from 'node:process';
import { childProtocolVersion, frameKinds, type ReadyHeader } from '../protocol/child_messages.ts';
import { type Native, openNative } from '../runtime/native.ts';
import { runtimeVersion } from '../runtime/runtime.ts';
import { FramePipe } from './frame_pipe.ts';
import { lockDown } from './lockdown.ts';

const pipeDescriptor = 3;
const faultCode = 70;
/** V8 with a program's largest memory needs this much room for data. */
const dataBytes = 1536 * 1024 * 1024;

/** More than the longest compute limit there is; whatever computes longer has escaped its clock. */
const processorSeconds = 4000;

/** What the launcher passes on the command line, as one JSON text behind the parent's process id. */
export type Parameters = { readonly koffi: readonly string[]; readonly glue: string };

/**
 * Prepares the child, locks it up, says `ready`, and serves.
 * @param prepare everything that needs files: done before the lock-up
 * @param serve reads frames until the work is done, or the daemon is gone
 */
export function boot<T>(
  prepare: (parameters: Parameters, pipe: FramePipe) => T,
  serve: (prepared: T, pipe: FramePipe) => void,
): never {
  const parentPid = Number(process.argv[2]);
  const parameters = JSON.parse(process.argv[3]!) as Parameters;
  const native = openNative({ koffi: parameters.koffi });
  const pipe = new FramePipe(pipeDescriptor);
  const prepared = prepare(parameters, pipe);
  warmUp();
  const lockdown = lockDown({ native, parentPid, keep: [pipeDescriptor], limits: { dataBytes, processorSeconds } });
  const ready: ReadyHeader = { protocol: childProtocolVersion, runtime: runtimeVersion, lockdown };
  pipe.write(frameKinds.ready, ready);
  return leave(native, pipe, () => serve(prepared, pipe));
}

/** What reads a file at its first use must have been used before no file can be opened. */
function warmUp(): void {
  new Date().getTimezoneOffset();
  Buffer.from('').toString('latin1');
}

function leave(native: Native, pipe: FramePipe, work: () => void): never {
  try {
    work();
    return native.exit(0);
  } catch (error) {
    const message = error instanceof Error ? error.stack ?? error.message : String(error);
    pipe.write(frameKinds.fault, { message: message.slice(0, 4000) });
    return native.exit(faultCode);
  }
}
