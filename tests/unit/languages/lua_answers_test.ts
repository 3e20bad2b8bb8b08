// The three answers of a Lua program's calls, from wherever a program can be; what a program finds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../../../src/protocol/wire.ts';
import { final, ok, okText, okValue, refused, runLua } from '../../helpers/lua_run.ts';

test('ran and succeeded: the text is returned, one value', () => {
  const run = runLua(
    `
    local t = {}
    table.insert(t, tool.read{path = "a"})
    print(tool.read{path = "b"}, select("#", tool.read{}), #t, t[1])
    print(tool["read"]{} == tool.read{})`,
    { answer: () => okText('text') },
  );
  assert.equal(run.printed, 'text\t1\t1\ttext\ntrue\n');
  assert.deepEqual(run.asked.map(({ tool, structured }) => [tool, structured]), Array(5).fill(['read', false]));
  assert.deepEqual(run.arguments, [{ path: 'a' }, { path: 'b' }, {}, {}, {}]);
  assert.equal(run.ending, 'ok');
});

test('ran and succeeded with no text: the structured value is a table; with nothing: an empty text', () => {
  const run = runLua('local r = tool.x{} print(type(r), r.a, #r.list, r.list[2]) print("[" .. tool.y{} .. "]")', {
    answer: ({ tool }) => tool === 'x' ? okValue({ a: 5, list: [1, 'two'] }) : ok(),
  });
  assert.equal(run.printed, 'table\t5\t2\ttwo\n[]\n');
});

test('ran and failed: nil and the message', () => {
  const run = runLua('print(tool.read{}) print(select("#", tool.read{}))', {
    answer: () => refused('failed', 'no such file'),
  });
  assert.equal(run.printed, 'nil\tno such file\n2\n');
});

test('could not be run: an error with the position of the call, which pcall catches', () => {
  for (const status of ['not_run', 'denied'] as const) {
    const run = runLua('print(pcall(function()\n  tool.read{}\nend))\nprint("on")', {
      answer: () => refused(status, 'not now'),
    });
    assert.equal(run.printed, 'false\tprogram:2: not now\non\n');
    assert.equal(run.ending, 'ok');
  }
});

test('a denial or a refusal that nobody catches ends the program', () => {
  const denied = runLua('\n\ntool.rm{}', { answer: () => refused('denied', 'approval was refused') });
  assert.equal(denied.ending, 'denied');
  assert.equal(denied.message, 'program:3: approval was refused');
  assert.equal(denied.traceback, "stack traceback:\n\t[C]: in field 'rm'\n\tprogram:3: in main chunk");
  const notRun = runLua('tool.rm{}', { answer: () => refused('not_run', 'there is no such tool') });
  assert.equal(notRun.ending, 'error');
  assert.equal(notRun.message, 'program:1: there is no such tool');
});

test('a denial that is raised again, or passed through a coroutine, is still a denial', () => {
  const answer = () => refused('denied', 'approval was refused');
  for (
    const source of [
      'local good, e = pcall(tool.rm, {}) error(e, 0)',
      'local good, e = pcall(tool.rm, {}) error("failed: " .. e)',
      'coroutine.wrap(function() tool.rm{} end)()',
      'assert(pcall(tool.rm, {}))',
      'local good, e = coroutine.resume(coroutine.create(function() tool.rm{} end)) error(e)',
    ]
  ) assert.equal(runLua(source, { answer }).ending, 'denied', source);
});

test('an error that has nothing to do with a denial that was caught is an error', () => {
  for (
    const [message, source] of [
      ['no', 'pcall(tool.rm, {}) error("not found")'],
      ['no', 'pcall(tool.rm, {}) error{no = 1}'],
      ['', 'pcall(tool.rm, {}) error("anything")'],
    ] as const
  ) assert.equal(runLua(source, { answer: () => refused('denied', message) }).ending, 'error', source);
});

test('wizard.call never raises and tells each status', () => {
  const source = `
    for _, name in ipairs{"ok", "failed", "denied", "not_run"} do
      local r = wizard.call(name, {a = 1})
      local keys = {}
      for k in pairs(r) do keys[#keys + 1] = k end
      table.sort(keys)
      print(r.ok, r.status, r.content, r.structured, table.concat(keys, ","))
    end
    print(select("#", wizard.call("ok")))`;
  const run = runLua(source, {
    answer: ({ tool }) => tool === 'ok' ? okText('fine') : refused(tool as 'failed', `because of ${tool}`),
  });
  assert.equal(
    run.printed,
    'true\tok\tfine\tnil\tcontent,ok,status\n' +
      ['failed', 'denied', 'not_run'].map((s) => `false\t${s}\tbecause of ${s}\tnil\tcontent,ok,status\n`).join('') +
      '1\n',
  );
  assert.deepEqual(run.asked.map(({ structured }) => structured), Array(5).fill(true));
});

test('wizard.call has text and structured value side by side, and partial content of a failure', () => {
  const run = runLua('local r = wizard.call("x") print(r.status, r.content, r.structured.n)', {
    answer: () => ok(encode('text'), encode({ n: 7 })),
  });
  assert.equal(run.printed, 'ok\ttext\t7\n');
  const failed = runLua('local r = wizard.call("x") print(r.ok, r.status, r.content, r.structured[1])', {
    answer: () => ({ status: 'failed', message: 'm', content: encode('partial'), structured: encode([8]) }),
  });
  assert.equal(failed.printed, 'false\tfailed\tpartial\t8\n');
  const only = runLua('local r = wizard.call("x") print(type(r.content), r.content.n, r.structured.n)', {
    answer: () => okValue({ n: 9 }),
  });
  assert.equal(only.printed, 'table\t9\t9\n');
});

test('wizard.call with a name or arguments of the wrong kind is not_run, and asks nobody', () => {
  const run = runLua(`
    print(wizard.call().content)
    print(wizard.call(5, {}).content)
    print(wizard.call("x", 5).content)
    print(wizard.call("x", {1, 2}).content)
    print(wizard.call("x", {f = print}).status)
    print(wizard.call("x", {f = print}).content)`);
  assert.equal(
    run.printed,
    'Cannot call wizard.call: takes the name of a tool first; got a no value\n' +
      'Cannot call wizard.call: takes the name of a tool first; got a number\n' +
      'Cannot call wizard.call: takes one table of named arguments, as in wizard.call("x", {path = "a.txt"}); got a number\n' +
      'Cannot call wizard.call: takes named arguments, as in wizard.call("x", {path = "a.txt"}); got a list\n' +
      'not_run\n' +
      'Cannot call wizard.call: arguments.f is a function, which cannot be sent; only nil, booleans, numbers, strings and tables can\n',
  );
  assert.equal(run.asked.length, 0);
});

test('a tool called with anything but one table of named arguments raises a sentence with an example', () => {
  const run = runLua(`
    for _, value in ipairs{5, "text", true, {1, 2}} do print(select(2, pcall(tool.read, value))) end
    print(select(2, pcall(tool["a-b"], 5)))
    print(pcall(tool.read))
    print(pcall(tool.read, nil))
    print(pcall(tool.read, {}))`);
  const example = 'as in tool.read{path = "a.txt"}';
  assert.equal(
    run.printed,
    `Cannot call tool.read: takes one table of named arguments, ${example}; got a number\n` +
      `Cannot call tool.read: takes one table of named arguments, ${example}; got a string\n` +
      `Cannot call tool.read: takes one table of named arguments, ${example}; got a boolean\n` +
      `Cannot call tool.read: takes named arguments, ${example}; got a list\n` +
      'Cannot call tool["a-b"]: takes one table of named arguments, as in tool["a-b"]{path = "a.txt"}; got a number\n' +
      'true\t\ntrue\t\ntrue\t\n',
  );
  assert.equal(run.asked.length, 3);
});

test('any name can be looked up and is asked for as it is; anything but a name raises', () => {
  const run = runLua(`
    tool["a-b.c/d"]{} tool["é"]{} tool[""]{} tool.call{}
    print(pcall(function() return tool[5] end))
    print(pcall(function() return tool[nil] end))
    print(pcall(function() return tool[{}] end))`);
  assert.deepEqual(run.asked.map(({ tool }) => tool), ['a-b.c/d', 'é', '', 'call']);
  assert.equal(
    run.printed,
    'false\tprogram:3: Cannot look up a tool by a number: its name is a string\n' +
      'false\tprogram:4: Cannot look up a tool by a nil: its name is a string\n' +
      'false\tprogram:5: Cannot look up a tool by a table: its name is a string\n',
  );
});

test('calls work from everywhere that a program can be', () => {
  const run = runLua(
    `
    local function ask(n) return tool.x{n = n} end
    print("coroutine", coroutine.wrap(function() return ask("a") end)())
    print("nested", coroutine.wrap(function() return coroutine.wrap(function() return ask("b") end)() end)())
    print("gsub", (("1 2"):gsub("%d", ask)))
    local list = {3, 1, 2}
    table.sort(list, function(a, b) ask("sort") return a < b end)
    print("sort", table.concat(list, ","))
    local mt = {__index = function(_, k) return ask(k) end, __add = function() return ask("add") end,
      __tostring = function() return ask("tostring") end, __call = function(_, v) return ask(v) end,
      __eq = function() ask("eq") return true end, __lt = function() ask("lt") return true end,
      __len = function() return ask("len") end, __concat = function() return ask("concat") end,
      __newindex = function(_, k) ask(k) end}
    local o, p = setmetatable({}, mt), setmetatable({}, mt)
    o.set = 1
    print("meta", o.field, o + 1, tostring(o), o("call"), o == p, o < p, #o, o .. "x")
    local function iterator(_, i) if i < 2 then return i + 1, ask("iter") end end
    for i, v in iterator, nil, 0 do print("iterator", i, v) end
    print("xpcall", xpcall(error, function(e) return e .. ask("handler") end, "e"))
    do local c <close> = setmetatable({}, {__close = function() ask("close") end}) end
    setmetatable({}, {__gc = function() ask("gc") end})
    collectgarbage() collectgarbage()
    print("load", load("return tool.x{n = 'load'}")())
    print("pairs", pcall(function() for k in pairs(setmetatable({}, {__pairs = function() return next, {}, ask("pairs") and nil end})) do end end))
    print("tail", (function() return tool.x{n = "tail"} end)())
    print(print == print, select(2, pcall(string.rep, "x", 3)), ("x"):rep(2, tool.x{n = "sep"}))`,
    { answer: (_, call) => okText(`<${call}>`) },
  );
  assert.equal(run.ending, 'ok', run.message);
  const names = run.arguments.map(({ n }) => n);
  for (
    const name of [
      'a',
      'b',
      '1',
      '2',
      'sort',
      'field',
      'set',
      'add',
      'tostring',
      'call',
      'eq',
      'lt',
      'len',
      'concat',
      'iter',
      'handler',
      'close',
      'gc',
      'load',
      'pairs',
      'tail',
      'sep',
    ]
  ) assert.ok(names.includes(name), name);
  assert.match(run.printed, /^coroutine\t<1>\nnested\t<2>\ngsub\t<3> <4>\nsort\t1,2,3\n/);
});

test('a bound that has fired ends the program for good, wherever it is', () => {
  const after = 'print("went on")';
  const places: Record<string, string> = {
    'main': `tool.x{} ${after}`,
    'wizard.call': `wizard.call("x") ${after}`,
    'pcall': `print(pcall(tool.x, {})) ${after}`,
    'xpcall': `xpcall(tool.x, function() print("handled") end) ${after}`,
    'xpcall handler': `xpcall(error, function() tool.x{} end) ${after}`,
    'nested pcall': `pcall(pcall, pcall, tool.x, {}) ${after}`,
    'coroutine': `coroutine.resume(coroutine.create(function() tool.x{} end)) ${after}`,
    'wrap in pcall': `pcall(coroutine.wrap(function() tool.x{} end)) ${after}`,
    'coroutine.close':
      `local co = coroutine.create(function() local c <close> = setmetatable({}, {__close = function() tool.x{} end}) coroutine.yield() end) coroutine.resume(co) pcall(coroutine.close, co) ${after}`,
    '__close': `pcall(function() local c <close> = setmetatable({}, {__close = function() tool.x{} end}) end) ${after}`,
    '__close after': `local c <close> = setmetatable({}, {__close = function() print("closed") end}) tool.x{} ${after}`,
    '__gc': `setmetatable({}, {__gc = function() tool.x{} end}) collectgarbage() collectgarbage() ${after}`,
    '__gc after':
      `setmetatable({}, {__gc = function() print("finalized") end}) pcall(tool.x, {}) collectgarbage() ${after}`,
    'gsub': `pcall(string.gsub, "a", "a", function() tool.x{} end) ${after}`,
    'sort': `pcall(table.sort, {2, 1}, function() tool.x{} end) ${after}`,
    'metamethod': `pcall(function() return setmetatable({}, {__index = function() tool.x{} end}).a end) ${after}`,
    'tostring': `pcall(print, setmetatable({}, {__tostring = function() tool.x{} end})) ${after}`,
    'error value': `pcall(error, setmetatable({}, {__tostring = function() tool.x{} end})) tool.x{} ${after}`,
    'load': `pcall(load, function() tool.x{} end) ${after}`,
    'require': `pcall(function() package.searchers[1] = function() tool.x{} end require("z") end) ${after}`,
    'debug hook': `debug.sethook(function() debug.sethook() tool.x{} end, "l")\nlocal a = 1 ${after}`,
  };
  for (const [place, source] of Object.entries(places)) {
    let calls = 0;
    const run = runLua(source, { answer: () => (calls++, final) });
    assert.equal(run.ending, 'final', place);
    assert.equal(run.printed, '', place);
    assert.equal(calls, 1, place);
    assert.match(run.message, /^(program:1)?$/, place);
  }
});

test('where a stopped program was is told, through coroutines', () => {
  const run = runLua(
    'local function inner()\n  tool.x{}\nend\nlocal co = coroutine.wrap(function()\n  inner()\nend)\nlocal function outer()\n  co()\nend\nouter()',
    { answer: () => final },
  );
  assert.equal(run.ending, 'final');
  assert.equal(run.message, 'program:2');
  for (
    const line of [
      'program:2: in upvalue',
      'program:5: in function',
      'program:8: in local',
      'program:10: in main chunk',
    ]
  ) {
    assert.ok(run.traceback?.includes(line), `${line} in ${run.traceback}`);
  }
});

test('what a program finds: names, version, args, cwd', () => {
  const run = runLua(
    `print(wizard.runtime, wizard.version, cwd, #args, next(args), type(tool), _VERSION)
    local names = wizard.tools()
    print(#names, table.concat(names, ","), names ~= wizard.tools())
    print(tostring(wizard.null), type(wizard.null), wizard.null == wizard.null, wizard.null == nil)`,
    { cwd: '/wörk', tools: ['b', 'a-b', 'é'] },
  );
  assert.equal(
    run.printed,
    'Lua 5.4\t1.2.3\t/wörk\t0\tnil\ttable\tLua 5.4\n3\tb,a-b,é\ttrue\nnull\tuserdata\ttrue\tfalse\n',
  );
  assert.equal(runLua('print(cwd, #wizard.tools())', { cwd: null, tools: [] }).printed, 'nil\t0\n');
});

test('replacing globals changes nothing for what was taken before', () => {
  const run = runLua(
    `local x = tool.x
    tool, wizard, error, pcall, print, tostring = nil
    x{a = 1}
    io.write("done\\n")`,
  );
  assert.equal(run.printed, 'done\n');
  assert.equal(run.asked.length, 1);
});
