// wasmoon's compiled Lua 5.4 (`glue.wasm`), instantiated with imports of our own: no files, no environment,
// no processes, a capped memory, and the setjmp path through which errors travel. Knows the binary by its
// hash, and relies on three facts of it that `instantiateGlue` verifies. No object of ours reaches Lua.

import { createHash } from 'node:crypto';
import { timeImports } from './time.ts';

/** SHA-256 of the one `glue.wasm` whose inner offsets are used here: wasmoon 1.16.0. */
export const glueHash = '95f3f19ddb740125883bc41d5ec670cd0828e7b58c8bdad385323cbff497b55c';

/** Ends a program for good. Lua cannot catch it: the setjmp path passes on everything but its own jump. */
export class ProgramEnded extends Error {
  readonly reason: 'memory' | 'final';
  constructor(reason: 'memory' | 'final') {
    super(`the program has ended: ${reason}`);
    this.name = 'ProgramEnded';
    this.reason = reason;
  }
}

type Pointer = number;
// deno-lint-ignore ban-types -- the exports are the C API of Lua, called by its documented signatures
type Exports = Record<string, Function> & {
  readonly memory: WebAssembly.Memory;
  readonly __indirect_function_table: WebAssembly.Table;
};

export type GlueHost = {
  /** Takes what a program writes to its standard output or error. Valid during the call only. */
  readonly write: (bytes: Uint8Array) => void;
};

/** The C API and its memory.  */
export type Glue = {
  readonly api: Record<string, (...parameters: any[]) => any>;
  readonly bytes: () => Uint8Array;
  readonly words: () => Int32Array;
  /** Makes a C function `int f(lua_State *)` of ours; the answer is its index in the function table. */
  readonly addFunction: (call: (state: Pointer) => number) => number;
  /** The lua_State whose heap is measured. */
  measure: (state: Pointer) => void;
  /** Sets what Lua may hold, in bytes. Takes away the room that the linear memory has beyond that from the start. */
  readonly limitMemory: (bytes: number) => void;
  readonly memoryLimit: () => number;
  /** What Lua says that it holds, garbage included, in bytes. */
  readonly heapBytes: () => number;
  readonly peakBytes: () => number;
};

// Where the pinned binary keeps what the C API does not tell.
const throwWord = 35_120; // __THREW__, the jmp_buf of the jump under way
const jumpStatusOffset = 156; // lua_longjmp.status, behind its jmp_buf
const globalStateOffset = 16; // lua_State.l_G
const totalBytesOffset = 8; // global_State.totalbytes, GCdebt behind it
const [leastStatus, outOfMemory, mostStatus] = [1, 4, 5] as const; // LUA_YIELD, LUA_ERRMEM, LUA_ERRERR

const pageBytes = 65_536;
const leastStep = 16 * pageBytes;
// A growing table needs its old and its new array at once, so the linear memory may reach twice the limit
// while what Lua holds may not; the constant is the allocator's own.
const linearRoom = (memoryLimit: number) => 2 * memoryLimit + 2 * 1024 * 1024;

/** The private value that stands for a C longjmp while it passes through JavaScript. */
const longJump = Symbol('longjmp');

const errno = { perm: 63, spipe: 70 } as const;

/**
 * Compiles and instantiates the interpreter.
 * @param file the bytes of `glue.wasm`
 * @throws {Error} if the file is not the pinned one, or does not keep its state where it is looked for
 */
export function instantiateGlue(file: Uint8Array<ArrayBuffer>, host: GlueHost): Glue {
  const hash = createHash('sha256').update(file).digest('hex');
  if (hash !== glueHash) throw new Error(`Cannot use glue.wasm: its SHA-256 must be ${glueHash}, got ${hash}`);

  let bytes = new Uint8Array(0);
  let words = new Int32Array(0);
  let state: Pointer = 0;
  let peak = 0;
  let memoryLimit = Infinity;
  let linearCap = Infinity;
  const refresh = () => {
    bytes = new Uint8Array(exports.memory.buffer);
    words = new Int32Array(exports.memory.buffer);
  };
  const heapBytes = () => {
    if (state === 0) return 0;
    const global = words[(state + globalStateOffset) >> 2]! + totalBytesOffset;
    return words[global >> 2]! + words[(global >> 2) + 1]!;
  };
  const functions: ((a: number, b: number) => void)[] = [];
  const refuse = () => -errno.perm;
  const abort = () => {
    throw new Error('the interpreter aborted');
  };

  const imports = {
    invoke_vii(index: number, a: number, b: number) {
      const stack = exports.stackSave!();
      try {
        (functions[index] ??= exports.__indirect_function_table.get(index))(a, b);
      } catch (error) {
        if (error !== longJump) throw error;
        exports.stackRestore!(stack);
        exports.setThrew!(1, 0);
      }
    },
    _emscripten_throw_longjmp() {
      const jump = words[throwWord >> 2]!;
      const status = words[(jump + jumpStatusOffset) >> 2]!;
      if (status === outOfMemory) throw new ProgramEnded('memory');
      if (status < leastStatus || status > mostStatus) {
        throw new Error(`glue.wasm does not keep the status of a jump where it is looked for: ${status}`);
      }
      throw longJump;
    },
    emscripten_resize_heap(needed: number) {
      const size = exports.memory.buffer.byteLength;
      const held = heapBytes();
      peak = Math.max(peak, held);
      // Refusing makes Lua collect all its garbage and ask again: then `held` is what is alive.
      if (needed >>> 0 > linearCap || held > memoryLimit) return 0;
      // Small steps near the limit, since what Lua holds is looked at only here.
      const step = Math.min(size >> 2, Math.max(leastStep, (memoryLimit - held) / 2));
      const wanted = Math.min(linearCap, Math.max(needed >>> 0, size + step));
      try {
        exports.memory.grow(Math.ceil((wanted - size) / pageBytes));
      } catch {
        return 0; // The host has no memory left: to Lua it is the same as the cap.
      }
      refresh();
      return 1;
    },
    abort,
    exit: abort,
    system(command: Pointer) {
      words[exports.__errno_location!() >> 2] = errno.perm;
      return command === 0 ? 0 : -1;
    },
    emscripten_date_now: () => Date.now(),
    _emscripten_get_now_is_monotonic: () => 1,
    __syscall_openat: refuse,
    __syscall_fcntl64: refuse,
    __syscall_ioctl: refuse,
    __syscall_dup3: refuse,
    __syscall_unlinkat: refuse,
    __syscall_rmdir: refuse,
    __syscall_renameat: refuse,
    __syscall_readlinkat: refuse,
    fd_write(descriptor: number, vectors: Pointer, count: number, written: Pointer) {
      let total = 0;
      for (let i = 0; i < count; i++) {
        const start = words[(vectors >> 2) + 2 * i]!;
        const length = words[(vectors >> 2) + 2 * i + 1]!;
        if (descriptor <= 2) host.write(bytes.subarray(start, start + length));
        total += length;
      }
      words[written >> 2] = total;
      return 0;
    },
    fd_read(_descriptor: number, _vectors: Pointer, _count: number, read: Pointer) {
      words[read >> 2] = 0;
      return 0;
    },
    fd_close: () => 0,
    fd_seek: () => errno.spipe,
    environ_sizes_get(count: Pointer, size: Pointer) {
      words[count >> 2] = 0;
      words[size >> 2] = 0;
      return 0;
    },
    environ_get: () => 0,
    ...timeImports({ bytes: () => bytes, words: () => words }),
  };

  const module = new WebAssembly.Module(file);
  const exports = new WebAssembly.Instance(module, { env: imports, wasi_snapshot_preview1: imports })
    .exports as unknown as Exports;
  const glue: Glue = {
    api: exports as unknown as Glue['api'],
    bytes: () => bytes,
    words: () => words,
    addFunction: (call) => addToTable(exports.__indirect_function_table, call),
    measure: (measured) => {
      state = measured;
    },
    memoryLimit: () => memoryLimit,
    limitMemory(limit) {
      memoryLimit = limit;
      const used = exports.emscripten_stack_get_base!() + heapBytes();
      const ballast = Math.max(0, exports.memory.buffer.byteLength - used - limit);
      if (ballast > 0) exports.malloc!(ballast);
      linearCap = used + ballast + linearRoom(limit);
    },
    heapBytes,
    peakBytes: () => peak = Math.max(peak, heapBytes()),
  };
  refresh();
  exports.emscripten_stack_init!();
  exports.__wasm_call_ctors!();
  verifyThrowWord(exports, words);
  return glue;
}

function verifyThrowWord(exports: Exports, words: Int32Array): void {
  exports.setThrew!(0x5eed, 0);
  const found = words[throwWord >> 2] === 0x5eed;
  exports.setThrew!(0, 0);
  if (!found) throw new Error('Cannot use glue.wasm: its setjmp state is not where the pinned version keeps it');
}

/** A module of one import and one export of the type (i32) -> i32: what makes a JavaScript function a table entry. */
const adapter = Uint8Array.of(
  0,
  0x61,
  0x73,
  0x6d,
  1,
  0,
  0,
  0, // magic, version
  1,
  6,
  1,
  0x60,
  1,
  0x7f,
  1,
  0x7f, // type 0: (i32) -> i32
  2,
  7,
  1,
  1,
  0x65,
  1,
  0x66,
  0,
  0, // import "e" "f" of type 0
  7,
  5,
  1,
  1,
  0x66,
  0,
  0, // export "f", function 0
);

function addToTable(table: WebAssembly.Table, call: (state: Pointer) => number): number {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(adapter), { e: { f: call } });
  const index = table.grow(1);
  table.set(index, instance.exports.f);
  return index;
}
