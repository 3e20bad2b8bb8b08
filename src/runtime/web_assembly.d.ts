// The part of the WebAssembly JavaScript API that is used here: the compiler's own declarations
// come only with those of a whole browser.

declare namespace WebAssembly {
  type Import = Record<string, Record<string, unknown>>;
  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>);
  }
  class Instance {
    constructor(module: Module, imports?: Import);
    readonly exports: Record<string, unknown>;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  interface Table {
    get(index: number): any;
    set(index: number, value: unknown): void;
    grow(count: number): number;
  }
}
