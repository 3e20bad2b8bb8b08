// The memory of a Lua program: garbage is no crime, holding too much is final, wherever the program is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { glueFile, okText, runLua } from '../../helpers/lua_run.ts';
import { instantiateGlue } from '../../../src/languages/lua/glue.ts';

const MiB = 1024 * 1024;
const after = 'print("went on")';

test('one huge allocation ends the program, caught or not', () => {
  for (
    const source of [
      'string.rep("x", 6e8)',
      'pcall(string.rep, "x", 6e8)',
      'pcall(function() return ("x"):rep(6e8) end)',
      'local s = string.rep("x", 2 ^ 20) pcall(function() while true do s = s .. s end end)',
      'pcall(table.concat, setmetatable({}, {__index = function() return string.rep("x", 2 ^ 20) end}), "", 1, 1000)',
      'pcall(string.format, "%s%s%s", string.rep("x", 5e7), string.rep("y", 5e7), string.rep("z", 5e7))',
      'pcall(string.gsub, string.rep("x", 2 ^ 20), "x", string.rep("y", 2 ^ 10))',
      'pcall(table.pack, table.unpack({}, 1, 9e5)) local t = {} for i = 1, 1e9 do t[i] = i end',
      'pcall(utf8.char, table.unpack({}, 1, 1)) local s = {} for i = 1, 1e9 do s[i] = ("%d"):format(i) end',
    ]
  ) {
    const run = runLua(`${source} ${after}`);
    assert.equal(run.ending, 'memory', source);
    assert.equal(run.printed, '', source);
  }
});

test('an allocation too large for any machine is an error that can be caught', () => {
  const run = runLua('print(pcall(string.rep, "x", 1 << 40)) print(pcall(string.rep, "x", -1))');
  assert.equal(run.ending, 'ok');
  assert.equal(run.printed, 'false\tresulting string too large\ntrue\t\n');
});

test('memory is final inside coroutines, handlers, finalizers and to-be-closed values', () => {
  const fill = 'local t = {} while true do t[#t + 1] = string.rep("x", 1000) .. #t end';
  const places: Record<string, string> = {
    'main': fill,
    'pcall in a loop': `for i = 1, 100 do pcall(function() ${fill} end) end`,
    'coroutine': `coroutine.resume(coroutine.create(function() ${fill} end))`,
    'wrap': `pcall(coroutine.wrap(function() ${fill} end))`,
    'nested coroutines': `pcall(coroutine.wrap(function() pcall(coroutine.wrap(function() ${fill} end)) end))`,
    'xpcall': `xpcall(function() ${fill} end, function() print("handled") end)`,
    'xpcall handler': `xpcall(error, function() ${fill} end)`,
    '__gc': `setmetatable({}, {__gc = function() ${fill} end}) collectgarbage() collectgarbage()`,
    '__close': `pcall(function() local c <close> = setmetatable({}, {__close = function() ${fill} end}) end)`,
    '__close after': `local c <close> = setmetatable({}, {__close = function() print("closed") end}) ${fill}`,
    '__gc after': `keep = setmetatable({}, {__gc = function() print("finalized") end}) ${fill}`,
    'sort': `pcall(table.sort, {2, 1}, function() ${fill} end)`,
    'gsub': `pcall(string.gsub, "a", "a", function() ${fill} end)`,
    'load': `pcall(load, function() ${fill} end)`,
    'tostring': `pcall(tostring, setmetatable({}, {__tostring = function() ${fill} end}))`,
  };
  for (const [place, source] of Object.entries(places)) {
    const run = runLua(`${source} ${after}`, { memoryBytes: 4 * MiB });
    assert.equal(run.ending, 'memory', `${place}: ${run.message}`);
    assert.equal(run.printed, '', place);
    assert.ok(run.memoryBytes > 2 * MiB, `${place}: ${run.memoryBytes}`);
  }
});

test('where the memory ran out is told', () => {
  const run = runLua(
    'local t = {}\nlocal function grow()\n  t[#t + 1] = string.rep("x", 1e6) .. #t\nend\nwhile true do\n  grow()\nend',
    {
      memoryBytes: 8 * MiB,
    },
  );
  assert.equal(run.ending, 'memory');
  assert.equal(run.message, 'program:3');
  assert.match(run.traceback!, /program:6: in main chunk/);
});

test('gigabytes of garbage within the limit finish', () => {
  const run = runLua(
    'local s, n = string.rep("x", 1e5), 0 for i = 1, 30000 do n = n + #(s .. i) end print(n > 3e9)',
    { memoryBytes: 16 * MiB },
  );
  assert.equal(run.ending, 'ok', run.message);
  assert.equal(run.printed, 'true\n');
  const tables = runLua('for i = 1, 300000 do local t = {i, {i}, tostring(i)} end print("done")', {
    memoryBytes: 2 * MiB,
  });
  assert.equal(tables.printed, 'done\n');
});

test('allocation that is let go again and again does not add up', () => {
  const run = runLua(
    `for round = 1, 40 do
      local t = {}
      for i = 1, 20000 do t[i] = {i} end
      local big = string.rep("x", 3e6)
    end
    print("done")`,
    { memoryBytes: 12 * MiB },
  );
  assert.equal(run.ending, 'ok', run.message);
});

test('a table that grows near the limit ends by memory, and not far beyond it', () => {
  for (const limit of [2, 8, 64]) {
    const run = runLua('local t = {} for i = 1, 1e9 do t[i] = i end', { memoryBytes: limit * MiB });
    assert.equal(run.ending, 'memory');
    assert.ok(
      run.memoryBytes >= 0.4 * limit * MiB && run.memoryBytes <= 2.2 * limit * MiB,
      `${run.memoryBytes / MiB} of ${limit}`,
    );
  }
});

test('a program may hold what is well within the limit', () => {
  const strings = runLua('local t = {} for i = 1, 40 do t[i] = string.rep("x", 1e6) .. i end print(#t)', {
    memoryBytes: 64 * MiB,
  });
  assert.equal(strings.printed, '40\n');
  const numbers = runLua('local t = {} for i = 1, 1e6 do t[i] = i end print(#t)', { memoryBytes: 64 * MiB });
  assert.equal(numbers.printed, '1000000\n');
});

test('a program never holds more than twice its limit, however it asks', () => {
  const limit = 16;
  for (
    const source of [
      // Steps that the collector would let through if only growth of the linear memory were looked at.
      'local t = {} for i = 1, 1000 do t[i] = string.rep("x", 1e5) .. i print(collectgarbage("count")) end',
      'local t = {} for i = 1, 1e7 do t[i] = {} if i % 10000 == 0 then print(collectgarbage("count")) end end',
      'collectgarbage("stop") local t = {} for i = 1, 1e7 do t[i] = {} if i % 10000 == 0 then print(collectgarbage("count")) end end',
      'collectgarbage("generational") local t = {} for i = 1, 1e7 do t[i] = {} if i % 10000 == 0 then print(collectgarbage("count")) end end',
    ]
  ) {
    const run = runLua(source, { memoryBytes: limit * MiB });
    assert.equal(run.ending, 'memory', source);
    const most = Math.max(...run.printed.trim().split('\n').map(Number)) / 1024;
    assert.ok(most >= 0.7 * limit && most <= 2 * limit, `${most} MiB of ${limit}: ${source}`);
  }
});

test('results that are too much to hold end the program by memory', () => {
  const text = 'x'.repeat(1_000_000);
  const run = runLua(`local t = {} for i = 1, 100 do t[i] = tool.x{} .. i end ${after}`, {
    memoryBytes: 8 * MiB,
    answer: () => okText(text),
  });
  assert.equal(run.ending, 'memory');
  assert.ok(run.asked.length >= 4 && run.asked.length < 20, String(run.asked.length));
});

test('printing a large string, and a source of a mebibyte, work', () => {
  const run = runLua('print(string.rep("x", 3e6))', { memoryBytes: 16 * MiB });
  assert.equal(run.printedBytes.length, 3_000_001);
  const source = `local t = {${'1,'.repeat(500_000)}} print(#t)`;
  assert.equal(runLua(source).printed, '500000\n');
});

test('many programs in one process do not disturb one another', () => {
  for (let i = 0; i < 30; i++) {
    const limit = runLua('local t = {} while true do t[#t + 1] = {} end', { memoryBytes: 1 * MiB });
    assert.equal(limit.ending, 'memory');
    assert.equal(runLua(`print(${i})`).printed, `${i}\n`);
  }
});

test('any other file than the pinned interpreter is refused', () => {
  const host = { write: () => {} };
  const changed = Uint8Array.from(glueFile);
  changed[changed.length - 1]! ^= 1;
  const hash = '95f3f19ddb740125883bc41d5ec670cd0828e7b58c8bdad385323cbff497b55c';
  for (const file of [changed, new Uint8Array(0), Uint8Array.from(glueFile.subarray(0, 1000))]) {
    assert.throws(
      () => instantiateGlue(file, host),
      (error: Error) =>
        error.message.startsWith(`Cannot use glue.wasm: its SHA-256 must be ${hash}, got `) &&
        /got [0-9a-f]{64}$/.test(error.message),
    );
  }
  assert.equal(typeof instantiateGlue(Uint8Array.from(glueFile), host).api.lua_pcallk, 'function');
});
