// A child without a process: the streams and events that a supervisor sees, moved by a test.

import { Buffer } from 'node:buffer';
import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { duplexPair, PassThrough } from 'node:stream';
import { encodeFrame, type FinishedHeader, frameKinds, makePackets } from '../../src/protocol/child_messages.ts';
import type { Launch, Launched } from '../../src/supervisor/launcher.ts';

/** No process of this machine has such an id, so that a signal to its group reaches nobody. */
let nextPid = 2 ** 30;

export const lockdown = { seccomp: 'on' };

export class FakeChild {
  readonly process: EventEmitter & { pid: number | undefined; kill: (signal: string) => boolean };
  /** Our end of the pipe: what is written here reaches the supervisor. */
  readonly end;
  readonly launched: Extract<Launched, { pipe: unknown }>;
  readonly signals: string[] = [];
  readonly #received: Buffer[] = [];
  #packets = 0;

  constructor(options: { pid?: number | undefined } = { pid: nextPid++ }) {
    const [ours, theirs] = duplexPair();
    this.end = ours;
    ours.on('error', () => {});
    ours.on('data', (chunk: Buffer) => void this.#received.push(chunk));
    this.process = Object.assign(new EventEmitter(), {
      pid: options.pid,
      kill: (signal: string) => this.signals.push(signal) > 0,
    });
    this.launched = {
      process: this.process as unknown as ChildProcess,
      pipe: theirs,
      diagnostics: new PassThrough(),
    };
  }

  /** What the supervisor has written, as bytes. */
  get received(): Buffer {
    return Buffer.concat(this.#received);
  }

  send(...parameters: Parameters<typeof encodeFrame>): void {
    this.sendBytes(encodeFrame(...parameters));
  }

  /** Bytes of frames as they go out: in packets. */
  packed(bytes: Uint8Array): Uint8Array {
    const packets = [...makePackets(bytes, this.#packets)];
    this.#packets += packets.length;
    return Buffer.concat(packets);
  }

  sendBytes(bytes: Uint8Array): void {
    this.end.write(this.packed(bytes));
  }

  ready(): void {
    this.send(frameKinds.ready, { protocol: 1, runtime: 'fake 1', lockdown });
  }

  finish(header: Partial<FinishedHeader> = {}): void {
    this.send(frameKinds.finished, {
      ending: 'ok',
      message: '',
      traceback: null,
      memoryBytes: 1,
      droppedBytes: 0,
      cpuMs: 0,
      ...header,
    });
  }

  say(text: string): void {
    (this.launched.diagnostics as PassThrough).write(text);
  }

  /** The process is gone and its end of the pipe with it. */
  exit(code: number | null, signal: string | null = null): void {
    this.end.end();
    this.process.emit('exit', code, signal);
  }

  /** The process is gone, but somebody else holds its end of the pipe. */
  exitHoldingPipe(code: number | null, signal: string | null = null): void {
    this.process.emit('exit', code, signal);
  }
}

/** A launch whose children a test moves. */
export function fakeLaunch(onStart: (child: FakeChild) => void = () => {}): { launch: Launch; children: FakeChild[] } {
  const children: FakeChild[] = [];
  return {
    children,
    launch: () => {
      const child = new FakeChild();
      children.push(child);
      queueMicrotask(() => onStart(child));
      return child.launched;
    },
  };
}
