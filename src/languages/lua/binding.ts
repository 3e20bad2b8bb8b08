// The C API of Lua as functions over numbers, bytes and text: a state, its stack, host functions, errors.
// Strings are bytes both ways; integers are 64 bits. A host function may raise a Lua error, which leaves
// it as an exception that it must not catch; nothing of JavaScript is ever visible to a program.

import { Buffer } from 'node:buffer';
import { type Glue, ProgramEnded } from './glue.ts';

export type State = number;

export const luaType = {
  none: -1,
  nil: 0,
  boolean: 1,
  lightUserdata: 2,
  number: 3,
  string: 4,
  table: 5,
  function: 6,
  userdata: 7,
  thread: 8,
} as const;

const registryIndex = -1_001_000;
const upvalueIndex = (i: number) => registryIndex - i;
const multipleResults = -1;

/** A function of ours that Lua calls: parameters on the stack of `state`, results pushed; answers how many. */
export type HostFunction = (state: State) => number;

const encoder = new TextEncoder();
const scratchBytes = 16 * 1024;

export class Lua {
  readonly glue: Glue;
  /** The main state; coroutines have states of their own, which host functions are given. */
  readonly main: State;
  readonly #api: Glue['api'];
  readonly #scratch: number;
  readonly #size: number;
  readonly #hostFunctions: HostFunction[] = [];
  readonly #dispatcher: number;
  #over: Error | undefined;

  constructor(glue: Glue) {
    this.glue = glue;
    this.#api = glue.api;
    this.main = this.#api.luaL_newstate!();
    this.#scratch = this.#api.malloc!(scratchBytes);
    this.#size = this.#api.malloc!(8);
    // One entry in the function table serves all host functions: the first upvalue says which one is meant.
    this.#dispatcher = glue.addFunction((state) => {
      if (this.#over) throw this.#over;
      const id: number = this.#api.lua_touserdata!(state, upvalueIndex(1));
      // A program can change upvalues by the debug library, and then has changed its own function only.
      const call = this.#hostFunctions[id];
      return call ? call(state) : this.raise(state, 'this function has been broken by a change of its upvalues');
    });
    this.#api.luaL_openlibs!(this.main);
    glue.measure(this.main);
    this.#verifyHeapBytes();
  }

  /** The heap's size is read from where the pinned binary keeps it: it has to be what Lua itself counts. */
  #verifyHeapBytes(): void {
    this.getGlobal(this.main, 'collectgarbage');
    this.pushText(this.main, 'count');
    this.#api.lua_callk!(this.main, 1, 1, 0, 0);
    const counted = 1024 * this.#api.lua_tonumberx!(this.main, -1, 0);
    this.pop(this.main, 1);
    const read = this.glue.heapBytes();
    if (Math.abs(counted - read) > 1024) {
      throw new Error(`Cannot use glue.wasm: Lua counts ${counted} bytes, and ${read} are read`);
    }
  }

  /** Takes every host function away: whatever of the program still runs does nothing outside of it. */
  close(reason: Error): void {
    this.#over = reason;
    this.#api.lua_sethook!(this.main, 0, 0, 0);
  }

  get api(): Glue['api'] {
    return this.#api;
  }

  /** Pushes `call` as a function; `bound` values on top of the stack become its upvalues 1 to `bound`. */
  pushFunction(state: State, call: HostFunction, bound = 0): void {
    let id = this.#hostFunctions.indexOf(call);
    if (id < 0) id = this.#hostFunctions.push(call) - 1;
    this.#api.lua_pushlightuserdata!(state, id);
    if (bound > 0) this.#api.lua_rotate!(state, -1 - bound, 1);
    this.#api.lua_pushcclosure!(state, this.#dispatcher, 1 + bound);
  }

  /** The stack index of a value bound to the running host function, from 1. */
  bound(i: number): number {
    return upvalueIndex(1 + i);
  }

  /** Makes room for `count` more values, or raises. */
  reserve(state: State, count: number): void {
    if (this.#api.lua_checkstack!(state, count) === 0) this.raise(state, 'stack overflow');
  }

  pushBytes(state: State, bytes: Uint8Array): void {
    if (bytes.length <= scratchBytes) {
      this.glue.bytes().set(bytes, this.#scratch);
      this.#api.lua_pushlstring!(state, this.#scratch, bytes.length);
      return;
    }
    // Room from Lua's own heap: it counts against the limit, and garbage is collected for it.
    const room: number = this.#api.lua_newuserdatauv!(state, bytes.length, 0);
    this.glue.bytes().set(bytes, room);
    this.#api.lua_pushlstring!(state, room, bytes.length);
    this.#api.lua_rotate!(state, -2, -1);
    this.pop(state, 1);
  }

  pushText(state: State, text: string): void {
    this.pushBytes(state, encoder.encode(text));
  }

  pushInteger(state: State, value: bigint): void {
    this.#api.lua_pushinteger!(state, value);
  }

  /** The bytes of the string at `index`: a view that the next allocation may move. A number is not converted. */
  stringView(state: State, index: number): Uint8Array {
    const start: number = this.#api.lua_tolstring!(state, index, this.#size);
    const length = this.glue.words()[this.#size >> 2]! >>> 0;
    return this.glue.bytes().subarray(start, start + length);
  }

  stringAt(state: State, index: number): Uint8Array {
    return this.stringView(state, index).slice();
  }

  textAt(state: State, index: number): string {
    return Buffer.from(this.stringView(state, index)).toString('utf8');
  }

  /** What `tostring` makes of the value at `index`: metamethods run, and may raise. */
  displayed(state: State, index: number): Uint8Array {
    this.#api.luaL_tolstring!(state, index, this.#size);
    const bytes = this.stringAt(state, -1);
    this.pop(state, 1);
    return bytes;
  }

  typeAt(state: State, index: number): number {
    return this.#api.lua_type!(state, index);
  }

  typeName(state: State, index: number): string {
    const name: number = this.#api.lua_typename!(state, this.typeAt(state, index));
    return this.#cString(name);
  }

  top(state: State): number {
    return this.#api.lua_gettop!(state);
  }

  pop(state: State, count: number): void {
    this.#api.lua_settop!(state, -1 - count);
  }

  setField(state: State, table: number, key: string): void {
    const absolute: number = this.#api.lua_absindex!(state, table);
    this.pushText(state, key);
    this.#api.lua_rotate!(state, -2, 1);
    this.#api.lua_rawset!(state, absolute);
  }

  setGlobal(state: State, name: string): void {
    this.withCString(name, (pointer) => this.#api.lua_setglobal!(state, pointer));
  }

  getGlobal(state: State, name: string): void {
    this.withCString(name, (pointer) => this.#api.lua_getglobal!(state, pointer));
  }

  /** Raises a Lua error with the position of the caller before the message, as `error` does. */
  raise(state: State, message: string | Uint8Array): never {
    this.#api.luaL_where!(state, 1);
    if (typeof message === 'string') this.pushText(state, message);
    else this.pushBytes(state, message);
    this.#api.lua_concat!(state, 2);
    return this.raiseTop(state);
  }

  /** The position of the caller as `raise` puts it before a message; empty where it is no Lua function. */
  where(state: State): string {
    this.#api.luaL_where!(state, 1);
    const position = this.textAt(state, -1);
    this.pop(state, 1);
    return position;
  }

  /** Raises the value on top of the stack. */
  raiseTop(state: State): never {
    this.#api.lua_error!(state);
    throw new Error('lua_error returned');
  }

  /**
   * Loads source text (never bytecode) and leaves the function, or the message, on the stack.
   * @returns false if it does not compile
   */
  load(state: State, source: Uint8Array, chunkName: string): boolean {
    const start: number = this.#api.malloc!(source.length + 1);
    if (start === 0) throw new ProgramEnded('memory');
    this.glue.bytes().set(source, start);
    const status = this.withCString(
      chunkName,
      (name) => this.withCString('t', (mode) => this.#api.luaL_loadbufferx!(state, start, source.length, name, mode)),
    );
    this.#api.free!(start);
    return status === 0;
  }

  /**
   * Calls the function below `parameters` values; on failure the error value, passed through the handler at `handler`, is left.
   * @returns false if an error was raised
   */
  protectedCall(state: State, options: { parameters: number; results?: number; handler: number }): boolean {
    const { parameters, results = multipleResults, handler } = options;
    return this.#api.lua_pcallk!(state, parameters, results, handler, 0, 0) === 0;
  }

  /** Pushes the traceback of `of` onto `state`, from `level`. */
  traceback(state: State, of: State, level: number): string {
    this.#api.luaL_traceback!(state, of, 0, level);
    const text = this.textAt(state, -1);
    this.pop(state, 1);
    return text;
  }

  /** Keeps the value on top of the stack out of the reach of programs; the answer fetches it again. */
  keep(state: State): number {
    return this.#api.luaL_ref!(state, registryIndex);
  }

  pushKept(state: State, reference: number): void {
    this.#api.lua_rawgeti!(state, registryIndex, BigInt(reference));
  }

  /** Whether the value at `index` is the one kept. */
  isKept(state: State, index: number, reference: number): boolean {
    this.#api.lua_pushvalue!(state, index);
    this.pushKept(state, reference);
    const same: boolean = this.#api.lua_rawequal!(state, -1, -2) !== 0;
    this.pop(state, 2);
    return same;
  }

  withCString<T>(text: string, use: (pointer: number) => T): T {
    const bytes = encoder.encode(text + '\0');
    const pointer: number = this.#api.malloc!(bytes.length);
    if (pointer === 0) throw new ProgramEnded('memory');
    this.glue.bytes().set(bytes, pointer);
    const result = use(pointer);
    this.#api.free!(pointer);
    return result;
  }

  #cString(pointer: number): string {
    const memory = this.glue.bytes();
    return Buffer.from(memory.subarray(pointer, memory.indexOf(0, pointer))).toString('utf8');
  }
}
