// What the standard library does in a child that has no files, no environment and no processes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runLua } from '../../helpers/lua_run.ts';

const printed = (source: string, options = {}): string[] => {
  const run = runLua(source, options);
  assert.equal(run.ending, 'ok', run.message);
  return run.printed.split('\n').slice(0, -1);
};

test('print and io.write come out in their order, numbers and metamethods included', () => {
  assert.deepEqual(
    printed(`
      print(1, 1.0, "a", nil, true, -0.0, 1e100, math.mininteger)
      io.write("x", 1, 2.5, "\\n")
      io.stdout:write("y"):write("z\\n")
      io.stderr:write("e\\n")
      print()
      print(setmetatable({}, {__tostring = function() return "mine" end}), setmetatable({}, {__name = "Kind"}) ~= nil)
      io.write("last\\n")
      io.stdout:flush() io.flush()`),
    ['1\t1.0\ta\tnil\ttrue\t-0.0\t1e+100\t-9223372036854775808', 'x12.5', 'yz', 'e', '', 'mine\ttrue', 'last'],
  );
});

test('print of a value whose __tostring fails raises', () => {
  const run = runLua('print("a", setmetatable({}, {__tostring = function() return {} end}))');
  assert.equal(run.ending, 'error');
  assert.match(run.message, /'__tostring' must return a string/);
  assert.equal(run.printed, '');
});

test('print takes many values', () => {
  assert.equal(
    printed('print(table.unpack(setmetatable({}, {__index = function(_, i) return i end}), 1, 200))')[0]?.split('\t')
      .length,
    200,
  );
  assert.equal(
    printed('local t = {} for i = 1, 100000 do t[i] = i end print(table.unpack(t, 1, 100000))')[0]?.split('\t').length,
    100_000,
  );
});

test('reading from standard input is at its end', () => {
  assert.deepEqual(
    printed(`print(io.read()) print(io.read("a")) print(io.read("n")) print(io.stdin:read("l"))
      for line in io.lines() do print("line") end print(io.read(0))`),
    ['nil', '', 'nil', 'nil', 'nil'],
  );
});

test('files, processes and the environment are refused as the operating system refuses them', () => {
  const lines = printed(`
    print(io.open("/etc/passwd"))
    print(io.open("x", "w"))
    print(os.remove("x"))
    print(os.rename("x", "y"))
    print(os.execute("ls"))
    print(os.execute())
    print(os.getenv("PATH"), os.getenv("HOME"))
    print(os.exit, type(os.exit))
    print(pcall(io.lines, "/etc/passwd"))
    print(loadfile("/etc/passwd"))
    print(pcall(dofile, "/etc/passwd"))
    print(pcall(io.popen, "ls"))
    print(pcall(os.tmpname))
    print(pcall(io.tmpfile))
    print((select(2, pcall(require, "x"))):match("^[^\\n]*"))
    print(pcall(io.input, "/etc/passwd"))
    print(pcall(io.output, "/tmp/x"))
    print(package.loadlib("/lib/x.so", "f"))
    print(os.setlocale("C"), os.setlocale("de_DE"))`);
  const refused = 'Operation not permitted';
  for (const [i, line] of lines.entries()) {
    assert.ok(!line.includes('root:'), line);
    assert.ok(!line.startsWith('true\tfile'), `line ${i}: ${line}`);
  }
  assert.equal(lines[0], `nil\t/etc/passwd: ${refused}\t63`);
  assert.equal(lines[1], `nil\tx: ${refused}\t63`);
  assert.equal(lines[2], `nil\tx: ${refused}\t63`);
  assert.equal(lines[3], `nil\t${refused}\t63`);
  assert.equal(lines[4], `nil\t${refused}\t63`);
  assert.equal(lines[5], 'false');
  assert.equal(lines[6], 'nil\tnil');
  assert.equal(lines[7], 'nil\tnil');
  assert.equal(lines[8], `false\tcannot open file '/etc/passwd' (${refused})`);
  assert.equal(lines[9], `nil\tcannot open /etc/passwd: ${refused}`);
  assert.match(lines[10]!, /^false\tcannot open \/etc\/passwd/);
  assert.equal(lines[11], `false\t'popen' not supported`);
  assert.match(lines[12]!, /^false\tunable to generate a unique filename/);
  assert.match(lines[13]!, /^true\tnil\t|^false/);
  assert.match(lines[14]!, /module 'x' not found/);
  assert.match(lines[15]!, /^false\tcannot open file '\/etc\/passwd'/);
  assert.match(lines[16]!, /^false\tcannot open file '\/tmp\/x'/);
  assert.match(lines[17]!, /^nil\tdynamic libraries not enabled/);
});

test('the clock of os.clock is the time that the host counts', () => {
  let micros = 0;
  assert.deepEqual(printed('print(os.clock()) print(os.clock())', { cpuMicros: () => micros += 1_500_000 }), [
    '1.5',
    '3.0',
  ]);
});

test('os.time is the time now, in whole seconds', () => {
  const before = Math.floor(Date.now() / 1000);
  const [told, difference] = printed('print(os.time()) print(os.difftime(os.time() + 5, os.time()))');
  assert.ok(Number(told) >= before && Number(told) <= Date.now() / 1000 + 1);
  assert.equal(difference, '5.0');
});

test('the whole library is there, and os.exit is not', () => {
  const names = printed(`
    for _, lib in ipairs{"string", "table", "math", "os", "io", "coroutine", "utf8", "debug", "package"} do
      local keys = {}
      for k in pairs(_G[lib]) do keys[#keys + 1] = k end
      table.sort(keys)
      print(lib .. ": " .. table.concat(keys, " "))
    end`);
  const have = Object.fromEntries(names.map((line) => line.split(': ') as [string, string]));
  assert.equal(have.os, 'clock date difftime execute getenv remove rename setlocale time tmpname');
  assert.equal(have.coroutine, 'close create isyieldable resume running status wrap yield');
  assert.equal(have.utf8, 'char charpattern codepoint codes len offset');
  assert.ok(have.string?.includes('format') && have.string.includes('pack') && have.table?.includes('move'));
});

test('numbers are formatted and read as Lua has it', () => {
  assert.deepEqual(
    printed(`
      print(("%d %5.2f %s %q %x %g"):format(42, 3.14159, "s", "a\\nb", 255, 1e20))
      print(tonumber("0x10"), tonumber("1e3"), tonumber("  5  "), tonumber("z", 36), tonumber("nope"))
      print(10 / 2, 7 // 2, 7 % 3, -7 // 2, 2 ^ 10, 1e15, 123456789012345678)
      print(math.maxinteger + 1 == math.mininteger, 1 == 1.0, math.type(1), math.type(1.0))
      print(string.pack(">I4", 1):byte(1, -1))`),
    [
      '42  3.14 s "a\\',
      'b" ff 1e+20',
      '16\t1000.0\t5\t35\tnil',
      '5.0\t3\t1\t-4\t1024.0\t1e+15\t123456789012345678',
      'true\ttrue\tinteger\tfloat',
      '0\t0\t0\t1',
    ],
  );
});

test('a string library pattern of every kind works on bytes', () => {
  assert.deepEqual(
    printed(`
      print(("key = value"):match("^(%w+)%s*=%s*(%w+)$"))
      print(#("\\0\\255x"), ("\\0\\255x"):find("\\255", 1, true), #("é"), utf8.len("é"), utf8.len("\\xff"))
      for w in ("one two"):gmatch("%a+") do io.write(w, ";") end print()
      print(("abc"):gsub("", "-"))`),
    ['key\tvalue', '3\t2\t2\t1\tnil\t1', 'one;two;', '-a-b-c-\t4'],
  );
});
