// Holds the arguments of calls against the schemas of tools, off the daemon's loop and in processes that can be
// ended: one for schemas that have proved quick, one where new and slow ones are tried. So a hostile schema
// delays only itself and those who try new ones, and never for longer than a deadline.

import { ProtocolError } from '../protocol/errors.ts';
import type { Log } from '../observe/log.ts';
import type { RawValue } from '../protocol/outline.ts';
import type { Clock } from '../supervisor/clocks.ts';
import type { Launch } from '../supervisor/launcher.ts';
import { schemaKey } from './checker.ts';
import { CheckerLane } from './checker_lane.ts';

export type Verdict =
  /** `emptyArrays`: offsets in the arguments of empty maps (0x80) that the schema wants as arrays (0x90). */
  | { readonly ok: true; readonly emptyArrays: readonly number[] }
  | { readonly ok: false; readonly message: string };

/** @param args the arguments as MessagePack, a map */
export type CheckArguments = (schema: RawValue, args: Uint8Array) => Promise<Verdict>;

/** Processor time for one check of a schema that has proved quick, and for one in the other lane, in milliseconds. */
const quickMs = 150;
const slowMs = 500;
const mostRemembered = 20_000;

export class ArgumentChecker {
  readonly #quick: CheckerLane;
  readonly #slow: CheckerLane;
  /** Keys of schemas that compiled in time: true if their checks have been quick so far. */
  readonly #vetted = new Map<string, boolean>();

  constructor(options: { launch: Launch; clock: Clock; log: Log }) {
    this.#quick = new CheckerLane(options);
    this.#slow = new CheckerLane(options);
  }

  /**
   * Tries whether a schema compiles.
   * @param owner whose schema it is: owners are served in turn
   * @returns what is wrong with it, as a sentence, or undefined
   * @throws {ProtocolError} `internal` if it could not be tried
   */
  async vet(owner: string, schema: RawValue): Promise<string | undefined> {
    const key = schemaKey(schema);
    if (this.#vetted.has(key)) return undefined;
    this.#quick.warm();
    const end = await this.#slow.run({ schema, args: undefined, owner, deadlineMs: slowMs });
    if (end === 'late') return `the schema takes more than ${slowMs} ms to compile; make it simpler`;
    if ('fault' in end) throw new ProtocolError('internal', `Cannot try a schema: ${end.fault}`);
    if (!end.ok) return end.message;
    this.#remember(key);
    return undefined;
  }

  check: CheckArguments = async (schema, args) => {
    const key = schemaKey(schema);
    if (this.#vetted.get(key) ?? false) {
      const end = await this.#quick.run({ schema, args, owner: key, deadlineMs: quickMs });
      if (end !== 'late') return verdict(end);
      this.#vetted.set(key, false);
    }
    const end = await this.#slow.run({ schema, args, owner: key, deadlineMs: slowMs });
    if (end === 'late') {
      return {
        ok: false,
        message: `its arguments took more than ${slowMs} ms to check: the schema of the tool is too costly`,
      };
    }
    // A schema of ours, which nobody had to vet, has proved itself by its first check.
    if (!('fault' in end) && !this.#vetted.has(key)) this.#remember(key);
    return verdict(end);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#quick[Symbol.asyncDispose](), this.#slow[Symbol.asyncDispose]()]);
  }

  #remember(key: string): void {
    if (this.#vetted.size >= mostRemembered) this.#vetted.clear();
    this.#vetted.set(key, true);
  }
}

function verdict(end: { fault: string } | { ok: boolean; message: string; emptyArrays: readonly number[] }): Verdict {
  if ('fault' in end) return { ok: false, message: `its arguments cannot be checked: ${end.fault}` };
  return end.ok ? { ok: true, emptyArrays: end.emptyArrays } : { ok: false, message: end.message };
}
