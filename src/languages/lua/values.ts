// Values between Lua's stack and MessagePack, without a JavaScript value between them: strings stay bytes,
// integers stay 64 bits, floats stay floats. A map's keys go out in byte order, so that equal tables give equal bytes.
// What has no counterpart is refused by a sentence that says where it stands.

import { isUtf8 } from 'node:buffer';
import { newHeader, readHeader, readScalar } from '../../protocol/outline.ts';
import { type Lua, luaType, type State } from './binding.ts';
import { isLuaName } from './names.ts';
import { ValueProblem, Writer } from './writer.ts';

/** Nested deeper than this a value is refused: it has to pass the wire's own bound inside a message. */
export const maxValueDepth = 48;
const maxValues = 500_000;

/** How a table goes out, found by one look at its keys. */
type Shape = { readonly kind: 'array'; readonly count: number } | {
  readonly kind: 'map';
  readonly keys: readonly string[];
};

/**
 * Writes the value at `index` as MessagePack. `name` begins the path in messages, for example `arguments`.
 * An empty table is an empty map, unless it is marked as an array (the value kept as `arrayMark`, its metatable).
 * @throws {ValueProblem} for functions, userdata, coroutines, cycles, mixed or sparse tables, keys that are no text, and what is over a bound
 */
export function encodeValue(
  lua: Lua,
  state: State,
  index: number,
  options: { name: string; maxBytes: number; arrayMark: number },
): Uint8Array {
  const writer = new Writer(options.maxBytes);
  const path: (string | number)[] = [];
  const parents: number[] = [];
  let values = 0;
  const { api } = lua;

  const refuse = (problem: string): never => {
    throw new ValueProblem(`${describePath(options.name, path)} ${problem}`);
  };

  const write = (at: number): void => {
    if (++values > maxValues) refuse(`has more than ${maxValues} values in it; send fewer at once`);
    switch (lua.typeAt(state, at)) {
      case luaType.nil:
        return writer.byte(0xc0);
      case luaType.boolean:
        return writer.byte(api.lua_toboolean!(state, at) ? 0xc3 : 0xc2);
      case luaType.lightUserdata:
        return writer.byte(0xc0); // wizard.null: programs can get no other.
      case luaType.number:
        if (api.lua_isinteger!(state, at)) return writer.integer(api.lua_tointegerx!(state, at, 0));
        return writer.float(api.lua_tonumberx!(state, at, 0));
      case luaType.string:
        return writer.text(lua.stringView(state, at));
      case luaType.table:
        return writeTable(at);
      default:
        refuse(
          `is a ${lua.typeName(state, at)}, which cannot be sent; only nil, booleans, numbers, strings and tables can`,
        );
    }
  };

  const writeTable = (relative: number): void => {
    const at: number = api.lua_absindex!(state, relative);
    const identity: number = api.lua_topointer!(state, at);
    if (parents.includes(identity)) refuse('is a table that contains itself');
    if (parents.length >= maxValueDepth) refuse(`is nested deeper than ${maxValueDepth} levels`);
    if (api.lua_checkstack!(state, 4) === 0) refuse('is nested too deeply');
    parents.push(identity);
    const shape = shapeOf(at);
    if (shape.kind === 'array') {
      writer.container('array', shape.count);
      for (let i = 1; i <= shape.count; i++) {
        path.push(i);
        api.lua_rawgeti!(state, at, BigInt(i));
        write(-1);
        lua.pop(state, 1);
        path.pop();
      }
    } else {
      writer.container('map', shape.keys.length);
      for (const key of shape.keys) {
        const bytes = Buffer.from(key, 'latin1');
        if (!isUtf8(bytes)) refuse('has a key that is not valid UTF-8');
        path.push(bytes.toString('utf8'));
        writer.text(bytes);
        lua.pushBytes(state, bytes);
        api.lua_rawget!(state, at);
        write(-1);
        lua.pop(state, 1);
        path.pop();
      }
    }
    parents.pop();
  };

  const shapeOf = (at: number): Shape => {
    const length: bigint = api.lua_rawlen!(state, at);
    const keys: string[] = [];
    let positions = 0;
    api.lua_pushnil!(state);
    while (api.lua_next!(state, at) !== 0) {
      lua.pop(state, 1);
      const type = lua.typeAt(state, -1);
      if (type === luaType.string) keys.push(Buffer.from(lua.stringView(state, -1)).toString('latin1'));
      else if (type === luaType.number && api.lua_isinteger!(state, -1)) {
        const key: bigint = api.lua_tointegerx!(state, -1, 0);
        if (key < 1n || key > length) {
          refuse(
            `has a hole: it holds the index ${key}, but its sequence ends at ${length}; use wizard.null for an empty place`,
          );
        }
        positions++;
      } else refuse(`has a ${lua.typeName(state, -1)} as a key; keys must be strings, or the numbers 1 to n`);
    }
    if (positions > 0 && keys.length > 0) {
      refuse(
        `mixes the key ${
          JSON.stringify(Buffer.from(keys[0]!, 'latin1').toString('utf8'))
        } with numbered items; use one or the other`,
      );
    }
    if (BigInt(positions) !== length) refuse(`has a hole before index ${length}; use wizard.null for an empty place`);
    if (positions > 0 || (keys.length === 0 && isMarkedArray(at))) return { kind: 'array', count: positions };
    return { kind: 'map', keys: keys.sort() };
  };

  const isMarkedArray = (at: number): boolean => {
    if (api.lua_getmetatable!(state, at) === 0) return false;
    lua.pushKept(state, options.arrayMark);
    const same: boolean = api.lua_rawequal!(state, -1, -2) !== 0;
    lua.pop(state, 2);
    return same;
  };

  write(api.lua_absindex!(state, index));
  return writer.bytes.subarray(0, writer.length);
}

function describePath(name: string, path: readonly (string | number)[]): string {
  const shown = path.map((step) =>
    typeof step === 'number' ? `[${step}]` : isLuaName(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  );
  const text = name + shown.join('');
  return text.length > 120 ? text.slice(0, 117) + '...' : text;
}

/**
 * Pushes the MessagePack value that begins at `at` of `bytes` (checked by the daemon) and answers where it ends.
 * A null field of an object is left out, a null item of an array is `wizard.null`; arrays carry the mark of arrays.
 */
export function pushValue(
  lua: Lua,
  state: State,
  bytes: Uint8Array,
  options: { at?: number; arrayMark: number },
): number {
  const { api } = lua;
  const header = newHeader();

  const push = (at: number): number => {
    readHeader(bytes, at, bytes.length, header);
    const { size, payload, children, container, text } = header;
    const next = at + size + payload;
    const type = bytes[at]!;
    lua.reserve(state, 4);
    if (container === 'array') return pushArray(next, children);
    if (container === 'map') return pushMap(next, children / 2);
    if (text || (type >= 0xc4 && type <= 0xc6)) lua.pushBytes(state, bytes.subarray(at + size, next));
    else pushScalar(readScalar(bytes, at), type === 0xca || type === 0xcb);
    return next;
  };

  const pushScalar = (value: ReturnType<typeof readScalar>, float: boolean): void => {
    if (value === null) api.lua_pushlightuserdata!(state, 0);
    else if (typeof value === 'boolean') api.lua_pushboolean!(state, value ? 1 : 0);
    else if (float) api.lua_pushnumber!(state, value);
    else if (typeof value === 'number') api.lua_pushinteger!(state, BigInt(value));
    else if (value! < 1n << 63n) api.lua_pushinteger!(state, value);
    // Lua has no unsigned integers: beyond its range a float comes nearest, as for a numeral in source text.
    else api.lua_pushnumber!(state, Number(value));
  };

  const pushArray = (at: number, count: number): number => {
    api.lua_createtable!(state, count, 0);
    lua.pushKept(state, options.arrayMark);
    api.lua_setmetatable!(state, -2);
    for (let i = 1; i <= count; i++) {
      at = push(at);
      api.lua_rawseti!(state, -2, BigInt(i));
    }
    return at;
  };

  const pushMap = (at: number, count: number): number => {
    api.lua_createtable!(state, 0, count);
    for (let i = 0; i < count; i++) {
      at = push(at);
      const empty = bytes[at] === 0xc0 || lua.typeAt(state, -1) === luaType.lightUserdata;
      at = push(at);
      if (empty || isNaNKey()) lua.pop(state, 2);
      else api.lua_rawset!(state, -3);
    }
    return at;
  };

  // Neither NaN nor nil can be a key in Lua.
  const isNaNKey = (): boolean =>
    lua.typeAt(state, -2) === luaType.number && Number.isNaN(api.lua_tonumberx!(state, -2, 0));

  return push(options.at ?? 0);
}
