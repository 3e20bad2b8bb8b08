// How Lua programs fail: error values of every kind, positions and tracebacks, sources that do not compile.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { strippedSource } from '../../../src/languages/lua/source.ts';
import { maxMessageChars } from '../../../src/languages/language.ts';
import { runLua } from '../../helpers/lua_run.ts';

/** The message of a program that ends by `error`. */
function failure(source: string): string {
  const run = runLua(source);
  assert.equal(run.ending, 'error', `${source}: ${run.ending}`);
  return run.message;
}

test('each kind of error value becomes a message', () => {
  const table: [string, string][] = [
    ['error("text")', 'program:1: text'],
    ['error("text", 0)', 'text'],
    ['error("", 0)', ''],
    ['error(42)', 'error value 42'],
    ['error(1.0)', 'error value 1.0'],
    ['error(nil)', 'error value nil'],
    ['error()', 'error value nil'],
    ['error(true)', 'error value true'],
    ['error({code = 1, list = {1, 2}})', 'error value {"code":1,"list":[1,2]}'],
    ['error({})', 'error value {}'],
    ['error({2, 1})', 'error value [2,1]'],
    ['error({message = "no", nested = {a = {b = true}}})', 'error value {"message":"no","nested":{"a":{"b":true}}}'],
    ['error(setmetatable({}, {__tostring = function() return "mine" end}))', 'error value mine'],
    ['error(setmetatable({a = 1}, {}))', 'error value {"a":1}'],
    ['local e = {} e.me = e error(e)', 'error value table: 0x'],
    ['error({f = print})', 'error value table: 0x'],
    ['error(print)', 'error value function: '],
    ['error(coroutine.create(print))', 'error value thread: 0x'],
    ['error(io.stdout)', 'error value file (0x'],
    ['error(wizard.null)', 'error value null'],
    ['error("\\xff\\xfe", 0)', '\ufffd\ufffd'],
    ['local x = nil; x.y = 1', "program:1: attempt to index a nil value (local 'x')"],
    ['local t = {} t.a.b = 1', "program:1: attempt to index a nil value (field 'a')"],
    ['undefined()', "program:1: attempt to call a nil value (global 'undefined')"],
    ['return 1 + {}', 'program:1: attempt to perform arithmetic on a table value'],
    ['return {} < {}', 'program:1: attempt to compare two table values'],
    ['return 1 // 0', 'program:1: attempt to divide by zero'],
    ['return ("x").y.z', "program:1: attempt to index a nil value (field 'y')"],
    ['assert(false)', 'program:1: assertion failed!'],
    ['assert(nil, "because")', 'program:1: because'],
    ['assert(false, {a = 1})', 'error value {"a":1}'],
    ['string.rep()', "program:1: bad argument #1 to 'rep' (string expected, got no value)"],
    ['require("socket")', "program:1: module 'socket' not found:"],
  ];
  for (const [source, message] of table) {
    const told = failure(source);
    if (/(0x|: |:)$/.test(message) && told !== message) assert.ok(told.startsWith(message), `${source}: ${told}`);
    else assert.equal(told, message, source);
  }
});

test('an error in __tostring, or a __tostring that returns no text, is still an ending', () => {
  for (
    const source of [
      'error(setmetatable({}, {__tostring = function() error("inner") end}))',
      'error(setmetatable({}, {__tostring = function() return 5 end}))',
      'error(setmetatable({}, {__tostring = function() return nil end}))',
      'error(setmetatable({}, {__tostring = function(t) return tostring(t) end}))',
      'error(setmetatable({}, {__name = 5}))',
      'local t = setmetatable({}, {}) getmetatable(t).__tostring = function() error(t) end error(t)',
    ]
  ) {
    const run = runLua(source);
    assert.equal(run.ending, 'error', source);
    assert.ok(run.message.length > 0 && run.message.length < 300, `${source}: ${run.message.slice(0, 200)}`);
  }
});

test('nested errors keep the message of the innermost that was not caught', () => {
  assert.equal(failure('local _, e = pcall(error, "inner")\nerror("outer: " .. e)'), 'program:2: outer: inner');
  assert.equal(failure('xpcall(error, function() error("in handler") end, "x") error("after", 0)'), 'after');
  assert.equal(
    failure(
      'local c <close> = setmetatable({}, {__close = function(_, e) error("closing: " .. e, 0) end}) error("body", 0)',
    ),
    'closing: body',
  );
});

test('an error is told with its line and the way there', () => {
  const source = [
    'local function inner(n)',
    '  if n == 0 then',
    '    error("deep")',
    '  end',
    '  inner(n - 1)',
    'end',
    'local t = {method = function() inner(2) return 1 end}',
    'print("before")',
    't.method()',
  ].join('\n');
  const run = runLua(source);
  assert.equal(run.message, 'program:3: deep');
  assert.equal(
    run.traceback,
    [
      'stack traceback:',
      "\t[C]: in function 'error'",
      "\tprogram:3: in upvalue 'inner'",
      "\tprogram:5: in upvalue 'inner'",
      "\tprogram:5: in upvalue 'inner'",
      "\tprogram:7: in field 'method'",
      '\tprogram:9: in main chunk',
    ].join('\n'),
  );
  assert.equal(run.printed, 'before\n');
});

test('an error that comes out of a coroutine keeps its own position', () => {
  const wrapped = runLua('local co = coroutine.wrap(function()\n  error("inside")\nend)\n\nco()');
  // Lua itself puts the position of the resumption before.
  assert.equal(wrapped.message, 'program:5: program:2: inside');
  assert.match(wrapped.traceback!, /program:5: in main chunk$/);
  const resumed = runLua(
    'local co = coroutine.create(function()\n  local x = nil + 1\nend)\nlocal ok, e = coroutine.resume(co)\nerror(e, 0)',
  );
  assert.equal(resumed.message, 'program:2: attempt to perform arithmetic on a nil value');
});

test('errors of loaded chunks name their chunk', () => {
  assert.equal(failure('load("error([[x]])", "=mine")()'), 'mine:1: x');
  assert.equal(failure('load("\\nerror([[x]])")()'), '[string "..."]:2: x');
  assert.equal(runLua('print(load("return +"))').printed, `nil\t[string "return +"]:1: unexpected symbol near '+'\n`);
});

test('endless recursion is an error and not the end of the process', () => {
  const lua = runLua('local function f() return 1 + f() end print(pcall(f)) print("on")');
  assert.match(lua.printed, /^false\tprogram:1: stack overflow/);
  assert.match(lua.printed, /on\n$/);
  for (
    const source of [
      'local function f() return pcall(f) end f()',
      'local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k] end print(t.x)',
      'local function f(x) return (string.gsub("a", "a", f)) end f()',
      'local function f() return coroutine.wrap(f)() end f()',
      'local s = string.rep("(", 1000) .. "1" .. string.rep(")", 1000) assert(load("return " .. s))',
      'local function f(a, b) table.sort({1, 2}, f) end f()',
      'tool = setmetatable({}, {__index = function(t, k) return t[k] end}) tool.x{}',
    ]
  ) {
    const run = runLua(source);
    assert.ok(run.ending === 'error' || run.ending === 'ok', `${source}: ${run.ending}`);
    if (run.ending === 'error') {
      assert.match(run.message, /overflow|levels|recursion|C stack|error in error handling/, source);
    }
  }
});

test('a source that does not compile is told with its line, and nothing of it runs', () => {
  const table: [string, string][] = [
    ['print("x")\nlocal = 5', "program:2: <name> expected near '='"],
    ['if true then', "program:1: 'end' expected near <eof>"],
    ['print("x', 'program:1: unfinished string near <eof>'],
    ['x = = 1', "program:1: unexpected symbol near '='"],
    ['goto nowhere', "program:1: no visible label 'nowhere' for <goto> at line 1"],
    ['break', 'program:1: break outside loop at line 1'],
    ['local x <const> = 1 x = 2', "program:1: attempt to assign to const variable 'x'"],
    ['\n\n\n!', "program:4: unexpected symbol near '!'"],
    ['\x1bLua', "attempt to load a binary chunk (mode is 't')"],
  ];
  for (const [source, message] of table) {
    const run = runLua(source);
    assert.equal(run.ending, 'compile', source);
    assert.equal(run.message, message);
    assert.equal(run.traceback, null);
    assert.equal(run.printed, '');
  }
});

test('programs cannot load bytecode, which the interpreter does not check', () => {
  const run = runLua(`
    local code = string.dump(function() return 1 end)
    print(load(code))
    print(load(code, "x", "b"))
    print(load(code, "x", "bt"))
    print(load(function() local c = code code = nil return c end))`);
  assert.equal(run.ending, 'ok', run.message);
  for (const line of run.printed.trim().split('\n')) assert.match(line, /^nil\tattempt to load a binary chunk/);
});

test('a message and a traceback that are too long are cut', () => {
  const run = runLua('error(string.rep("x", 100000), 0)');
  assert.equal(run.message, 'x'.repeat(maxMessageChars));
  const deep = runLua('local function f(n) if n == 0 then error("deep") end f(n - 1) return 1 end f(5000)');
  assert.ok(deep.traceback!.length <= maxMessageChars);
  const object = runLua('error({text = string.rep("x", 100000)})');
  assert.ok(object.message.length < 2200, String(object.message.length));
});

test('a message that is cut never ends in half of a character', () => {
  for (let shift = 0; shift < 2; shift++) {
    const run = runLua(`error(string.rep("a", ${shift}) .. string.rep("😀", 10000), 0)`);
    assert.ok(run.message.isWellFormed());
  }
});

test('what models put round a program is forgiven, and line numbers are those inside it', () => {
  const bom = '\ufeff';
  const failing = 'local a = 1\nerror("x")';
  const table: Record<string, string> = {
    [failing]: 'program:2: x',
    [`${bom}${failing}`]: 'program:2: x',
    [`#!/usr/bin/lua\n${failing}`]: 'program:3: x',
    [`${bom}#!/usr/bin/lua\n${failing}`]: 'program:3: x',
    [`\`\`\`lua\n${failing}\n\`\`\``]: 'program:2: x',
    [`\`\`\`\n${failing}\n\`\`\`\n`]: 'program:2: x',
    [`\n\n\`\`\`lua\r\n${failing}\r\n\`\`\`\n\n`]: 'program:2: x',
    [`${bom}\`\`\`lua\n#!/usr/bin/lua\n${failing}\n\`\`\``]: 'program:3: x',
    [`# a comment of another language\n${failing}`]: 'program:3: x',
    ['local a = 1\r\nerror("x")']: 'program:2: x',
    ['local a = 1\rerror("x")']: 'program:2: x',
  };
  for (const [source, message] of Object.entries(table)) assert.equal(failure(source), message, JSON.stringify(source));
});

test('fences that are part of the program stay in it, and its bytes stay as they are', () => {
  const text = (source: string) => Buffer.from(strippedSource(new TextEncoder().encode(source))).toString('utf8');
  const program = 'print([[\n```lua\nx\n```\n]])';
  assert.equal(text(program), program);
  assert.equal(text(`\`\`\`lua\n${program}\n\`\`\``), program);
  assert.equal(text('```lua\n```'), '');
  assert.equal(text('```lua\n\n```'), '');
  assert.equal(text('```lua\nprint(1)'), '```lua\nprint(1)');
  assert.equal(text('print(1)\n```'), 'print(1)\n```');
  assert.equal(text(''), '');
  assert.equal(text('-- é€😀'), '-- é€😀');
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => 255 - i);
  assert.deepEqual(Uint8Array.from(strippedSource(bytes)), bytes);
  assert.equal(runLua('```lua\nprint("é")\n```').printed, 'é\n');
});

test('a large source with many fences is stripped in time that grows with its size', () => {
  const hostile = '```lua\n' + '```          x\n'.repeat(60_000);
  const began = performance.now();
  strippedSource(new TextEncoder().encode(hostile));
  assert.ok(performance.now() - began < 1000);
});

test('an empty program, and one of comments only, is ok', () => {
  for (const source of ['', '\n', '-- nothing', '--[[ x ]]', ';', 'return', 'return 1, 2']) {
    assert.equal(runLua(source).ending, 'ok');
  }
});
