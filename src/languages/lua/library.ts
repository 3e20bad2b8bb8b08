// What a Lua program finds beside the standard library: `tool`, `wizard`, `print`, `args`, `cwd`.
// Turns each call into a request to the host and its answer into the three answers of Lua:
// a value, nil and a message, or an error.

import { Buffer } from 'node:buffer';
import { maxArgumentBytes } from '../../protocol/child_messages.ts';
import type { HostAnswer, Program, ProgramHost } from '../language.ts';
import { loadFunction } from './load.ts';
import { isLuaName } from './names.ts';
import { type HostFunction, type Lua, luaType, type State } from './binding.ts';
import { ProgramEnded } from './glue.ts';
import { encodeValue, pushValue } from './values.ts';
import { ValueProblem } from './writer.ts';

/** What the end of a run has to know: the text of each denial raised so far, and the kept mark of arrays. */
export type LibraryState = { readonly denials: readonly Denial[]; readonly arrayMark: number };

/** A denial as it was raised: `position` is empty where no Lua function made the call. */
export type Denial = { readonly position: string; readonly message: string };

/** More than the longest name of a tool, in bytes. */
const mostNameBytes = 1100;
const newline = Uint8Array.of(10);
const tab = Uint8Array.of(9);

/** Installs what does not depend on the program: done while the child is still waiting for one. */
export function installLibrary(lua: Lua, host: ProgramHost): LibraryState {
  const denials: Denial[] = [];
  const state = lua.main;
  const { api } = lua;
  api.lua_createtable!(state, 0, 0);
  const arrayMark = lua.keep(state);
  // Set once: what a closure made by `tool.NAME` calls, whatever becomes of the globals.
  let ended: ProgramEnded | undefined;
  let toolTable = 0;

  const request = (tool: string, structured: boolean, packed: Uint8Array): HostAnswer => {
    if (ended) throw ended;
    const answer = host.call({ tool, structured, arguments: packed });
    if (answer.status !== 'final') return answer;
    ended = new ProgramEnded('final');
    throw ended;
  };

  /** The arguments at `index` as MessagePack: a table, or nothing for an empty one. */
  const readArguments = (current: State, index: number, example: string): Uint8Array => {
    const type = lua.typeAt(current, index);
    if (type === luaType.table && lua.isKept(current, index, toolTable)) {
      throw new ValueProblem(`is called with a dot, as in ${example}, not with a colon`);
    }
    if (type === luaType.none || type === luaType.nil) return Uint8Array.of(0x80);
    if (type !== luaType.table) {
      throw new ValueProblem(
        `takes one table of named arguments, as in ${example}; got a ${lua.typeName(current, index)}`,
      );
    }
    const packed = encodeValue(lua, current, index, { name: 'arguments', maxBytes: maxArgumentBytes, arrayMark });
    if ((packed[0]! & 0xf0) !== 0x90 && packed[0]! !== 0xdc && packed[0]! !== 0xdd) return packed;
    throw new ValueProblem(`takes named arguments, as in ${example}; got a list`);
  };

  const pushContent = (current: State, { content, structured }: HostAnswer): void => {
    const value = content ?? structured;
    if (value) pushValue(lua, current, value, { arrayMark });
    else lua.pushText(current, '');
  };

  const callTool: HostFunction = (current) => {
    const name = toolName(lua, current, lua.bound(1));
    const shown = isLuaName(name) ? `tool.${name}` : `tool[${JSON.stringify(name)}]`;
    let packed: Uint8Array;
    try {
      packed = readArguments(current, 1, `${shown}{path = "a.txt"}`);
    } catch (error) {
      if (error instanceof ValueProblem) return lua.raise(current, `Cannot call ${shown}: ${error.message}`);
      throw error;
    }
    const answer = request(name, false, packed);
    switch (answer.status) {
      case 'ok':
        pushContent(current, answer);
        return 1;
      case 'failed':
        api.lua_pushnil!(current);
        if (answer.content) pushValue(lua, current, answer.content, { arrayMark });
        else lua.pushText(current, answer.message);
        return 2;
      case 'denied':
        denials.push({ position: lua.where(current), message: answer.message });
        return lua.raise(current, answer.message);
      default:
        return lua.raise(current, answer.message);
    }
  };

  const toolIndex: HostFunction = (current) => {
    if (lua.typeAt(current, 2) !== luaType.string) {
      return lua.raise(current, `Cannot look up a tool by a ${lua.typeName(current, 2)}: its name is a string`);
    }
    api.lua_pushvalue!(current, 2);
    lua.pushFunction(current, callTool, 1);
    api.lua_pushvalue!(current, 2);
    api.lua_pushvalue!(current, -2);
    api.lua_rawset!(current, 1);
    return 1;
  };

  /** `wizard.call(name, args)`: never raises; a table of `ok`, `status`, `content` and, where there is one, `structured`. */
  const wizardCall: HostFunction = (current) => {
    let answer: HostAnswer;
    try {
      if (lua.typeAt(current, 1) !== luaType.string) {
        throw new ValueProblem(`takes the name of a tool first; got a ${lua.typeName(current, 1)}`);
      }
      const name = toolName(lua, current, 1);
      answer = request(name, true, readArguments(current, 2, `wizard.call("${name}", {path = "a.txt"})`));
    } catch (error) {
      if (!(error instanceof ValueProblem)) throw error;
      answer = {
        status: 'not_run',
        message: `Cannot call wizard.call: ${error.message}`,
        content: undefined,
        structured: undefined,
      };
    }
    api.lua_createtable!(current, 0, 4);
    api.lua_pushboolean!(current, answer.status === 'ok' ? 1 : 0);
    lua.setField(current, -2, 'ok');
    lua.pushText(current, answer.status);
    lua.setField(current, -2, 'status');
    if (answer.status === 'ok' || answer.content) pushContent(current, answer);
    else lua.pushText(current, answer.message);
    lua.setField(current, -2, 'content');
    if (answer.structured) {
      pushValue(lua, current, answer.structured, { arrayMark });
      lua.setField(current, -2, 'structured');
    }
    return 1;
  };

  const print: HostFunction = (current) => {
    const parts: Uint8Array[] = [];
    for (let i = 1; i <= lua.top(current); i++) {
      if (i > 1) parts.push(tab);
      parts.push(lua.displayed(current, i));
    }
    parts.push(newline);
    host.print(Buffer.concat(parts));
    return 0;
  };

  const clock: HostFunction = (current) => {
    api.lua_pushnumber!(current, host.cpuMicros() / 1e6);
    return 1;
  };

  lua.pushFunction(state, print);
  lua.setGlobal(state, 'print');

  api.lua_createtable!(state, 0, 0);
  api.lua_createtable!(state, 0, 1);
  lua.pushFunction(state, toolIndex);
  lua.setField(state, -2, '__index');
  api.lua_setmetatable!(state, -2);
  api.lua_pushvalue!(state, -1);
  toolTable = lua.keep(state);
  lua.setGlobal(state, 'tool');

  api.lua_createtable!(state, 0, 8);
  lua.pushFunction(state, wizardCall);
  lua.setField(state, -2, 'call');
  api.lua_pushlightuserdata!(state, 0);
  lua.setField(state, -2, 'null');
  lua.setGlobal(state, 'wizard');

  lua.pushFunction(state, loadFunction(lua));
  lua.setGlobal(state, 'load');

  lua.getGlobal(state, 'os');
  lua.pushFunction(state, clock);
  lua.setField(state, -2, 'clock');
  api.lua_pushnil!(state);
  lua.setField(state, -2, 'exit');
  lua.pop(state, 1);

  nameNull(lua);
  unbuffer(lua);
  return { denials, arrayMark };
}

/** The name of a tool, cut where it is longer than any can be: so it stays unknown, and costs nothing. */
function toolName(lua: Lua, state: State, index: number): string {
  return Buffer.from(lua.stringView(state, index).subarray(0, mostNameBytes)).toString('utf8');
}

/** `tostring(wizard.null)` is "null": the one light userdata that programs meet. */
function nameNull(lua: Lua): void {
  const state = lua.main;
  lua.api.lua_pushlightuserdata!(state, 0);
  lua.api.lua_createtable!(state, 0, 2);
  lua.pushFunction(state, (current) => {
    lua.pushText(current, 'null');
    return 1;
  });
  lua.setField(state, -2, '__tostring');
  lua.pushText(state, 'null');
  lua.setField(state, -2, '__metatable');
  lua.api.lua_setmetatable!(state, -2);
  lua.pop(state, 1);
}

/** Lets `io.write` and `io.stderr:write` come out at once, in order with `print`. */
function unbuffer(lua: Lua): void {
  const source = new TextEncoder().encode('io.stdout:setvbuf("no") io.stderr:setvbuf("no")');
  const loaded = lua.load(lua.main, source, '=setup');
  if (!loaded || !lua.protectedCall(lua.main, { parameters: 0, results: 0, handler: 0 })) {
    throw new Error('Cannot set up io');
  }
}

/** Installs what the program's own settings decide. */
export function installSettings(lua: Lua, { settings }: Program): void {
  const state = lua.main;
  const { api } = lua;
  api.lua_createtable!(state, 0, 0);
  lua.setGlobal(state, 'args');
  if (settings.cwd !== null) {
    lua.pushText(state, settings.cwd);
    lua.setGlobal(state, 'cwd');
  }
  lua.getGlobal(state, 'wizard');
  lua.pushText(state, 'Lua 5.4');
  lua.setField(state, -2, 'runtime');
  lua.pushText(state, settings.version);
  lua.setField(state, -2, 'version');
  lua.pushFunction(state, (current) => {
    api.lua_createtable!(current, settings.tools.length, 0);
    settings.tools.forEach((name, i) => {
      lua.pushText(current, name);
      api.lua_rawseti!(current, -2, BigInt(i + 1));
    });
    return 1;
  });
  lua.setField(state, -2, 'tools');
  lua.pop(state, 1);
}
