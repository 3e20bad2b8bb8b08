// One Lua program from source to ending: made ready without it, then loaded, run once, and explained.
// Errors come with position and traceback; a program that was stopped from outside says where it was.

import { Buffer } from 'node:buffer';
import { type Ending, maxMessageChars, type Program, type ProgramHost } from '../language.ts';
import { Lua, luaType, type State } from './binding.ts';
import { instantiateGlue, ProgramEnded } from './glue.ts';
import { type Denial, installLibrary, installSettings, type LibraryState } from './library.ts';
import { strippedSource } from './source.ts';
import { encodeValue } from './values.ts';
import { ValueProblem } from './writer.ts';
import { cut, jsonText } from '../../protocol/json_text.ts';

const maxErrorChars = 2048;
const chunkName = '=program';

export class LuaProgram {
  readonly #lua: Lua;
  readonly #library: LibraryState;
  readonly #collectGarbage: number;
  readonly #stop: number;
  #traceback: string | null = null;
  #over = false;

  /** @param glue the bytes of wasmoon's `glue.wasm` */
  constructor(glue: Uint8Array<ArrayBuffer>, host: ProgramHost) {
    const write = (bytes: Uint8Array) => {
      if (!this.#over) host.print(bytes);
    };
    const lua = new Lua(instantiateGlue(glue, { write }));
    this.#lua = lua;
    this.#library = installLibrary(lua, host);
    // Kept from before the program could replace them; `#whereItWas` needs them.
    lua.getGlobal(lua.main, 'collectgarbage');
    this.#collectGarbage = lua.keep(lua.main);
    lua.pushText(lua.main, 'stop');
    this.#stop = lua.keep(lua.main);
  }

  /** Runs the program to its end. Throws only what stops it from outside, or a fault of the interpreter. */
  run(program: Program): Ending {
    const lua = this.#lua;
    lua.glue.limitMemory(program.settings.memoryBytes);
    try {
      installSettings(lua, program);
      lua.pushFunction(lua.main, (state) => this.#handleError(state));
      const handler = lua.top(lua.main);
      if (!lua.load(lua.main, strippedSource(program.source), chunkName)) {
        return this.#ending('compile', lua.textAt(lua.main, -1));
      }
      if (lua.protectedCall(lua.main, { parameters: 0, results: 0, handler })) return this.#ending('ok', '');
      const message = lua.textAt(lua.main, -1);
      const denied = this.#library.denials.some((denial) => isBy(message, denial));
      return this.#ending(denied ? 'denied' : 'error', message);
    } catch (error) {
      if (error instanceof ProgramEnded) return this.ended(error.reason);
      // V8's own stack ran out below Lua's limits: terminal, since the interpreter was left in the middle.
      if (error instanceof RangeError && error.message.includes('call stack')) {
        return this.#ending('error', 'stack overflow');
      }
      throw error;
    }
  }

  /** The ending of a program that was stopped where it was; `run` did not return. */
  ended(ending: 'memory' | 'final' | 'interrupted'): Ending {
    // Reading the stack can make the interpreter run something of the program: hooks, finalizers, what it has put
    // into the registry. None of that may reach the host any more.
    this.#over = true;
    this.#lua.close(new ProgramEnded('final'));
    this.#traceback = this.#whereItWas();
    return this.#ending(ending, firstPosition(this.#traceback));
  }

  #ending(ending: Ending['ending'], message: string): Ending {
    return {
      ending,
      message: cut(message, maxMessageChars),
      traceback: this.#traceback === null ? null : cut(this.#traceback, maxMessageChars),
      memoryBytes: this.#lua.glue.peakBytes(),
    };
  }

  /** The message handler: keeps the traceback while the stack still stands, and makes text of any error value. */
  #handleError(state: State): number {
    const lua = this.#lua;
    this.#traceback = trimmed(lua.traceback(state, state, 1));
    lua.pushText(state, this.#describeError(state));
    return 1;
  }

  /** A string or number as it is, what `__tostring` says, else a table's data as JSON, so that a model can read it. */
  #describeError(state: State): string {
    const lua = this.#lua;
    const type = lua.typeAt(state, 1);
    if (type === luaType.table && !lua.withCString('__tostring', (name) => hasMetafield(lua, state, name))) {
      try {
        const packed = encodeValue(lua, state, 1, {
          name: 'error',
          maxBytes: 65_536,
          arrayMark: this.#library.arrayMark,
        });
        return `error value ${jsonText(packed, maxErrorChars)}`;
      } catch (error) {
        if (!(error instanceof ValueProblem)) throw error;
      }
    }
    const text = Buffer.from(lua.displayed(state, 1)).toString('utf8');
    return type === luaType.string ? text : `error value ${text}`;
  }

  /** The traceback of a stopped program: of the coroutine that was running, then of those that resumed it. */
  #whereItWas(): string | null {
    const lua = this.#lua;
    try {
      // No finalizer of the program may run while its stack is read.
      lua.pushKept(lua.main, this.#collectGarbage);
      lua.pushKept(lua.main, this.#stop);
      lua.api.lua_callk!(lua.main, 1, 0, 0, 0);
      const states = [lua.main, ...resumedStates(lua)].reverse();
      return trimmed(states.map((state) => lua.traceback(lua.main, state, 0)).join('\n'));
    } catch {
      // The program was stopped in the middle of a change to its own heap: then there is no traceback to be had.
      return null;
    }
  }
}

function hasMetafield(lua: Lua, state: State, name: number): boolean {
  if (lua.api.luaL_getmetafield!(state, 1, name) === luaType.nil) return false;
  lua.pop(state, 1);
  return true;
}

/** The coroutines that stand between the main state and the point where the program was, outermost first. */
function resumedStates(lua: Lua): State[] {
  const { api } = lua;
  const record: number = api.malloc!(256); // lua_Debug
  const states: State[] = [];
  let state = lua.main;
  while (api.lua_getstack!(state, 0, record) !== 0) {
    // A state that has resumed another stands in `coroutine.resume` or in the function that
    // `coroutine.wrap` made: the coroutine is the first value of its frame, or its first upvalue.
    const next = resumedBy(lua, state, record);
    if (next === 0 || next === lua.main || states.includes(next)) break;
    states.push(next);
    state = next;
  }
  api.free!(record);
  return states;
}

function resumedBy(lua: Lua, state: State, record: number): State {
  const { api } = lua;
  let found: State = 0;
  lua.withCString('f', (what) => api.lua_getinfo!(state, what, record));
  const inC = api.lua_iscfunction!(state, -1) !== 0;
  if (inC && api.lua_getupvalue!(state, -1, 1) !== 0) {
    found = api.lua_tothread!(state, -1);
    lua.pop(state, 1);
  }
  lua.pop(state, 1);
  if (inC && found === 0 && api.lua_getlocal!(state, record, 1) !== 0) {
    found = api.lua_tothread!(state, -1);
    lua.pop(state, 1);
  }
  // One that waits to be resumed is not the one that was running.
  return found !== 0 && api.lua_status!(found) === 0 ? found : 0;
}

/** Whether an error is a denial that was raised, as it was or with words before and behind it. */
const isBy = (message: string, { position, message: said }: Denial): boolean =>
  position === '' ? said !== '' && message.endsWith(said) : message.includes(position + said);

/** Without the frames that are ours, and without the line that every traceback ends with. */
function trimmed(traceback: string): string {
  return traceback.split('\n').filter((line, i) =>
    line.trim() !== '[C]: in ?' && (i === 0 || line !== 'stack traceback:')
  ).join('\n');
}

/** `program:12` of the innermost line of the program in a traceback; empty if there is none. */
function firstPosition(traceback: string | null): string {
  return traceback?.match(/^\s*(program:\d+):/m)?.[1] ?? '';
}
