// One program in this child, from its frame to its ending, stoppable from outside at any point:
// the daemon's SIGINT breaks whatever runs, compiled code and blocked reads included.

import vm from 'node:vm';
import { frameKinds, type ProgramHeader } from '../protocol/child_messages.ts';
import type { Ending } from '../languages/language.ts';
import type { LuaProgram } from '../languages/lua/program.ts';
import type { DaemonHost } from './host_calls.ts';
import { type FramePipe, Interrupted } from './frame_pipe.ts';

const interruption = 'ERR_SCRIPT_EXECUTION_INTERRUPTED';

/**
 * Runs `task` so that SIGINT ends it (on Deno, which lacks this, SIGINT ends the process).
 * @returns what it answers, or undefined if it was interrupted
 */
export function runInterruptibly<T>(task: () => T): T | undefined {
  const name = '__runwardenTask';
  Object.defineProperty(globalThis, name, { value: task, configurable: true });
  try {
    return new vm.Script(`${name}()`).runInThisContext({ breakOnSigint: true }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === interruption || error instanceof Interrupted) return undefined;
    throw error;
  }
}

/**
 * Waits for the program, runs it, and sends `finished`.
 * Comes back without having run anything if the stream ends first: the daemon is gone.
 */
export function runProgram(options: { pipe: FramePipe; host: DaemonHost; program: LuaProgram }): void {
  const { pipe, host, program } = options;
  const outcome = runInterruptibly((): Ending | 'no program' => {
    const frame = pipe.read();
    if (!frame) return 'no program';
    if (frame.kind !== frameKinds.program) {
      throw new Error(`Cannot begin: a program was expected, got frame ${frame.kind}`);
    }
    const settings = frame.header as ProgramHeader;
    host.begin(settings.printedBytes);
    return program.run({ source: frame.payload, settings });
  });
  if (outcome === 'no program') return;
  const ending = outcome ?? program.ended('interrupted');
  pipe.write(frameKinds.finished, { ...ending, droppedBytes: host.droppedBytes, cpuMs: host.cpuMicros() / 1000 });
}
