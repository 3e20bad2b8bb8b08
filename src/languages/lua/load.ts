// `load` for programs: source text only, since bytecode is not checked by the interpreter and can break it.
// Written anew, because the interpreter's own could be had back from wherever a wrapper kept it.

import { Buffer } from 'node:buffer';
import { type HostFunction, type Lua, luaType, type State } from './binding.ts';
import { ProgramEnded } from './glue.ts';

const wholeChunk = '=(load)';

/** `load(chunk [, chunkname [, mode [, env]]])`, in all but bytecode as the manual has it. */
export function loadFunction(lua: Lua): HostFunction {
  const { api } = lua;
  return (state) => {
    const isText = lua.typeAt(state, 1) === luaType.string;
    const given = lua.top(state);
    const mode = lua.typeAt(state, 3) === luaType.string ? lua.textAt(state, 3) : 'bt';
    const named = lua.typeAt(state, 2) === luaType.string;
    const source = isText ? lua.stringAt(state, 1) : readPieces(lua, state);
    if (typeof source === 'string') return refuse(lua, state, source);
    if (source[0] === 0x1b) {
      return refuse(lua, state, 'attempt to load a binary chunk: only source text is loaded here');
    }
    if (!mode.includes('t')) return refuse(lua, state, `attempt to load a text chunk (mode is '${mode}')`);
    const name = named ? lua.stringAt(state, 2) : isText ? source : Buffer.from(wholeChunk);
    if (!lua.load(state, source, chunkName(name))) {
      api.lua_pushnil!(state);
      api.lua_rotate!(state, -2, 1);
      return 2;
    }
    if (given >= 4) {
      api.lua_pushvalue!(state, 4);
      if (api.lua_setupvalue!(state, -2, 1) === 0) lua.pop(state, 1);
    }
    return 1;
  };
}

/** A name that is shown as it is keeps to one line, so that it cannot pass for more of a traceback. */
function chunkName(name: Uint8Array): string {
  const text = Buffer.from(name.subarray(0, 4096)).toString('utf8');
  return /^[=@]/.test(text) ? text.replace(/\p{Cc}/gu, ' ') : text;
}

function refuse(lua: Lua, state: State, message: string): number {
  lua.api.lua_pushnil!(state);
  lua.pushText(state, message);
  return 2;
}

/** What the function at 1 gives, piece by piece until it gives nothing; a string says what else it gave. */
function readPieces(lua: Lua, state: State): Uint8Array | string {
  if (lua.typeAt(state, 1) !== luaType.function) {
    return lua.raise(state, `bad argument #1 to 'load' (function expected, got ${lua.typeName(state, 1)})`);
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    lua.reserve(state, 2);
    lua.api.lua_pushvalue!(state, 1);
    lua.api.lua_callk!(state, 0, 1, 0, 0);
    const type = lua.typeAt(state, -1);
    const piece = type === luaType.string ? lua.stringAt(state, -1) : new Uint8Array(0);
    lua.pop(state, 1);
    if (type !== luaType.string && type !== luaType.nil) return 'reader function must return a string';
    if (piece.length === 0) return Buffer.concat(pieces);
    size += piece.length;
    if (size > lua.glue.memoryLimit()) throw new ProgramEnded('memory');
    pieces.push(piece);
  }
}
