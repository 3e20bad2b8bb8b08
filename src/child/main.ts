// The child of a Lua program: gets its interpreter ready, locks itself up, runs one program, and is gone.

import { readFileSync } from 'node:fs';
import { LuaProgram } from '../languages/lua/program.ts';
import { boot } from './boot.ts';
import { DaemonHost } from './host_calls.ts';
import { runProgram } from './run_program.ts';

boot(
  ({ glue }, pipe) => {
    const host = new DaemonHost(pipe);
    return { host, program: new LuaProgram(readFileSync(glue), host) };
  },
  ({ host, program }, pipe) => runProgram({ pipe, host, program }),
);
