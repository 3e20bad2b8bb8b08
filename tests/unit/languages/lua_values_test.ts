// Values between Lua and the wire: every byte, 64-bit integers, floats, null, lists and maps, and what cannot be sent.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { checkValue, defaultWireBounds, RawValue } from '../../../src/protocol/outline.ts';
import { encode, encodeText } from '../../../src/protocol/wire.ts';
import { fromHex, toHex } from '../../helpers/hex.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';
import { ok, okText, okValue, runLua } from '../../helpers/lua_run.ts';

/** The arguments of the one call that a program makes, as bytes. */
function sent(source: string): string {
  const run = runLua(source);
  assert.equal(run.ending, 'ok', run.message);
  assert.equal(run.asked.length, 1);
  checkValue(run.asked[0]!.arguments, defaultWireBounds);
  return toHex(run.asked[0]!.arguments);
}

/** The message that sending `value` raises. */
function problem(value: string, before = ''): string {
  const run = runLua(`${before} local r = wizard.call("x", {v = ${value}}) print(r.status) print(r.content)`);
  assert.equal(run.asked.length, 0);
  assert.ok(run.printed.startsWith('not_run\nCannot call wizard.call: '), run.printed);
  return run.printed.slice('not_run\nCannot call wizard.call: '.length, -1);
}

test('every byte goes through print, a call and a result unharmed', () => {
  const all = Uint8Array.from({ length: 256 }, (_, i) => i);
  const run = runLua(
    `local all = {}
    for i = 0, 255 do all[#all + 1] = string.char(i) end
    all = table.concat(all)
    local back = tool.x{all = all, [all:sub(1, 128)] = 1}
    print(back == all, #back)
    io.write(all) print(all)
    for i = 0, 255 do if tool.x{s = string.char(i)} ~= string.char(i) then print("differs", i) end end`,
    {
      answer: ({ arguments: args }, call) => {
        if (call === 1) return okText(all);
        const value = args.subarray(args.indexOf(0x73) + 1);
        return ok(value);
      },
    },
  );
  assert.equal(run.ending, 'ok', run.message);
  const bytes = run.printedBytes;
  assert.equal(Buffer.from(bytes.subarray(0, 9)).toString(), 'true\t256\n');
  assert.equal(toHex(bytes.subarray(9, 265)), toHex(all));
  assert.equal(toHex(bytes.subarray(265)), toHex(all) + '0a');
  assert.equal(toHex(run.asked[0]!.arguments.subarray(0, 3)), '82d980');
  assert.ok(toHex(run.asked[0]!.arguments).endsWith(`a3616c6cc50100${toHex(all)}`));
});

test('strings of every length go both ways', () => {
  for (const length of [0, 31, 32, 255, 256, 16_384, 16_385, 65_535, 65_536, 300_000]) {
    const run = runLua(`print(tool.x{s = string.rep("y", ${length})} == string.rep("z", ${length}))`, {
      answer: () => okText('z'.repeat(length)),
    });
    assert.equal(run.printed, 'true\n');
    assert.equal(run.arguments[0].s, 'y'.repeat(length));
  }
});

test('integers go out in 64 bits and floats stay floats', () => {
  const table: Record<string, string> = {
    '0': '00',
    '127': '7f',
    '128': 'cc80',
    '255': 'ccff',
    '256': 'cd0100',
    '65535': 'cdffff',
    '65536': 'ce00010000',
    '4294967295': 'ceffffffff',
    '4294967296': 'cf0000000100000000',
    '-1': 'ff',
    '-32': 'e0',
    '-33': 'd0df',
    '-128': 'd080',
    '-129': 'd1ff7f',
    '-32768': 'd18000',
    '-32769': 'd2ffff7fff',
    '-2147483648': 'd280000000',
    '-2147483649': 'd3ffffffff7fffffff',
    '9007199254740993': 'cf0020000000000001',
    'math.maxinteger': 'cf7fffffffffffffff',
    'math.mininteger': 'd38000000000000000',
    '1.0': 'cb3ff0000000000000',
    '-0.0': 'cb8000000000000000',
    '0.5': 'cb3fe0000000000000',
    '1e308 * 10': 'cb7ff0000000000000',
    '-1e308 * 10': 'cbfff0000000000000',
    '10 / 2': 'cb4014000000000000',
    '7 // 2': '03',
    'true': 'c3',
    'false': 'c2',
    'wizard.null': 'c0',
    '""': 'a0',
    '{}': '80',
    '{1}': '9101',
    '{wizard.null}': '91c0',
    '{wizard.null, wizard.null, 3}': '93c0c003',
    '{a = {b = {}}}': '81a16181a16280',
  };
  for (const [value, hex] of Object.entries(table)) assert.equal(sent(`tool.x{v = ${value}}`), `81a176${hex}`, value);
  assert.match(sent('tool.x{v = 0/0}'), /^81a176cb[7f]ff8000000000000$/);
  assert.equal(sent('tool.x{v = nil}'), '80');
});

test('integers come in with 64 bits and floats come in as floats', () => {
  const values: [unknown, string][] = [
    [0, '0 integer'],
    [-5, '-5 integer'],
    [2n ** 53n + 1n, '9007199254740993 integer'],
    [2n ** 63n - 1n, '9223372036854775807 integer'],
    [-(2n ** 63n), '-9223372036854775808 integer'],
    [2n ** 63n, '9.2233720368548e+18 float'],
    [2n ** 64n - 1n, '1.844674407371e+19 float'],
    [1.5, '1.5 float'],
    [-0, '-0.0 float'],
    [Infinity, 'inf float'],
    [-Infinity, '-inf float'],
    [new RawValue(fromHex('cb3ff0000000000000')), '1.0 float'],
    [new RawValue(fromHex('ca3fc00000')), '1.5 float'],
    [new RawValue(fromHex('d0ff')), '-1 integer'],
    [new RawValue(fromHex('d1fffe')), '-2 integer'],
    [new RawValue(fromHex('cc05')), '5 integer'],
  ];
  const list = encode(values.map(([value]) => value));
  const run = runLua('for _, v in ipairs(tool.x{}) do print(tostring(v) .. " " .. math.type(v)) end', {
    answer: () => ok(undefined, list),
  });
  assert.deepEqual(run.printed.trim().split('\n'), values.map(([, text]) => text));
  const nan = runLua('local v = tool.x{}[1] print(v ~= v, math.type(v))', { answer: () => okValue([NaN]) });
  assert.equal(nan.printed, 'true\tfloat\n');
});

test('an integer that came in goes out as the same integer', () => {
  const random = seededRandom(21);
  const values = Array.from(
    { length: 300 },
    () =>
      BigInt.asIntN(64, (BigInt(random.below(2 ** 32)) << BigInt(random.below(33))) * (random.next() < 0.5 ? 1n : -1n)),
  );
  const run = runLua('tool.y{list = tool.x{}}', { answer: () => okValue(values) });
  assert.deepEqual(run.arguments[1].list.map(BigInt), values);
});

test('a null field is absent, a null element is wizard.null, so that lengths hold', () => {
  const run = runLua(
    `local r = tool.x{}
    print(r.gone, next(r.only), #r.list, r.list[2] == wizard.null, r.list[3], r.deep[1][1] == wizard.null)
    local n = 0 for _ in pairs(r) do n = n + 1 end print(n)
    tool.y(r)`,
    { answer: () => okValue({ gone: null, list: [1, null, 3, null], only: { a: null }, deep: [[null]] }) },
  );
  assert.equal(run.printed, 'nil\tnil\t4\ttrue\t3\ttrue\n3\n');
  assert.deepEqual(run.arguments[1], { list: [1, null, 3, null], only: {}, deep: [[null]] });
});

test('a result that is null as a whole is wizard.null', () => {
  assert.equal(runLua('print(tool.x{} == wizard.null)', { answer: () => okValue(null) }).printed, 'true\n');
});

test('empty lists and maps that came in go out as they came', () => {
  const run = runLua('tool.y{r = tool.x{}}', { answer: () => okValue({ list: [], map: {}, both: [[], {}] }) });
  assert.deepEqual(run.arguments[1].r, { list: [], map: {}, both: [[], {}] });
  const emptied = runLua('local r = tool.x{} table.remove(r.list) tool.y(r)', { answer: () => okValue({ list: [1] }) });
  assert.deepEqual(emptied.arguments[1], { list: [] });
});

test('keys of every kind that come in are reachable, or left out, and never an error', () => {
  const map = fromHex(
    '88 01 a3696e74 c3 a474727565 c0 a36e696c cb7ff8000000000000 a36e616e cb3ff0000000000000 a3666c74 c401ff a362696e 90 a46c697374 a161 c0',
  );
  const run = runLua(
    'local r = tool.x{} print(r[1], r[true], r["\\xff"], r.a) local n = 0 for _ in pairs(r) do n = n + 1 end print(n)',
    {
      answer: () => ok(undefined, map),
    },
  );
  assert.equal(run.printed, 'flt\ttrue\tbin\tnil\n4\n');
});

test('maps go out with sorted keys, so that equal tables give equal bytes', () => {
  const random = seededRandom(31);
  const keys = ['', 'a', 'ab', 'b', 'Z', '_', 'é', '€', '😀', '1', '10', '2', '\u0000', 'list', 'zz'];
  const bytewise = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const lua = (key: string) =>
    `"${
      [...Buffer.from(key)].map((byte) =>
        `\\${byte}`.padStart(4, '0').replace(/^0*\\/, '\\').replace(/\\(\d+)$/, (_, d) => `\\${d.padStart(3, '0')}`)
      ).join('')
    }"`;
  const results = new Set<string>();
  for (let round = 0; round < 10; round++) {
    const shuffled = [...keys].sort(() => random.next() - 0.5);
    const assignments = shuffled.map((key) => `t[${lua(key)}] = ${keys.indexOf(key)}`).join(' ');
    const run = runLua(`local t = {} ${assignments} tool.x{t = t}`);
    assert.deepEqual(Object.entries(run.arguments[0].t).sort(), bytewise.map((key) => [key, keys.indexOf(key)]).sort());
    results.add(toHex(run.asked[0]!.arguments));
  }
  assert.equal(results.size, 1);
  const order = bytewise.map((key) => toHex(encodeText(Buffer.from(key)).bytes));
  let at = 0;
  for (const key of order) {
    const found = [...results][0]!.indexOf(key, at);
    assert.ok(found >= at, key);
    at = found;
  }
});

test('what cannot be sent is refused by a sentence that says where it stands', () => {
  const kinds = 'which cannot be sent; only nil, booleans, numbers, strings and tables can';
  const hole = 'use wizard.null for an empty place';
  const table: [string, string][] = [
    ['print', `arguments.v is a function, ${kinds}`],
    ['function() end', `arguments.v is a function, ${kinds}`],
    ['coroutine.create(print)', `arguments.v is a thread, ${kinds}`],
    ['io.stdout', `arguments.v is a userdata, ${kinds}`],
    ['{1, {a = print}}', `arguments.v[2].a is a function, ${kinds}`],
    ['{["a b"] = {["é"] = print}}', `arguments.v["a b"]["é"] is a function, ${kinds}`],
    ['{[1] = 1, [3] = 3}', `arguments.v has a hole: it holds the index 3, but its sequence ends at 1; ${hole}`],
    ['{1, 2, nil, 4}', `arguments.v has a hole before index 4; ${hole}`],
    ['{[2] = 1}', `arguments.v has a hole: it holds the index 2, but its sequence ends at 0; ${hole}`],
    ['{1, a = 2}', 'arguments.v mixes the key "a" with numbered items; use one or the other'],
    ['{1, ["é"] = 2}', 'arguments.v mixes the key "é" with numbered items; use one or the other'],
    ['{[true] = 1}', 'arguments.v has a boolean as a key; keys must be strings, or the numbers 1 to n'],
    ['{[1.5] = 1}', 'arguments.v has a number as a key; keys must be strings, or the numbers 1 to n'],
    ['{[{}] = 1}', 'arguments.v has a table as a key; keys must be strings, or the numbers 1 to n'],
    ['{["\\xff"] = 1}', 'arguments.v has a key that is not valid UTF-8'],
  ];
  const wrong: string[] = [];
  for (const [value, message] of table) {
    const told = problem(value);
    if (told !== message) wrong.push(`${value}:\n     ${told}\n     instead of: ${message}`);
  }
  assert.equal(wrong.length, 0, `\n${wrong.join('\n')}`);
});

test('cycles are refused where they close, and a table in two places is not one', () => {
  assert.equal(problem('t', 'local t = {} t.me = t'), 'arguments.v.me is a table that contains itself');
  assert.equal(
    problem('t', 'local t = {{{}}} t[1][1][1] = t[1]'),
    'arguments.v[1][1][1] is a table that contains itself',
  );
  assert.equal(sent('local t = {1} tool.x{a = t, b = {t, t}}'), '82a1619101a1629291019101');
});

test('nesting is allowed to 48 levels and refused beyond', () => {
  const nested = (levels: number) => `(function() local t = {} for i = 2, ${levels} do t = {t} end return t end)()`;
  // The arguments are a level of their own.
  assert.equal(runLua(`tool.x{v = ${nested(47)}}`).asked.length, 1);
  assert.match(problem(nested(48)), /^arguments\.v(\[1\])+\[?\.\.\. is nested deeper than 48 levels$/);
  assert.match(problem(nested(100_000)), /^arguments\.v(\[1\])+\[?\.\.\. is nested deeper than 48 levels$/);
});

test('what is too large is refused before it is sent', () => {
  assert.equal(
    problem('string.rep("x", 9 * 1024 * 1024)'),
    'the value is larger than 8388608 bytes; send less at once',
  );
  assert.equal(
    problem('t', 'local t = {} for i = 1, 500001 do t[i] = 1 end'),
    'arguments.v[499999] has more than 500000 values in it; send fewer at once',
  );
});

test('wide and deep data comes in within the stack of Lua', () => {
  let deep: unknown = 'bottom';
  for (let i = 0; i < 60; i++) deep = i % 2 ? [deep] : { k: deep };
  const run = runLua(
    `local r = tool.x{} local depth = 0
    while type(r.deep) == "table" do r.deep = r.deep.k or r.deep[1] depth = depth + 1 end
    print(depth, r.deep, #r.wide, r.wide[100000])`,
    { answer: () => okValue({ deep, wide: Array.from({ length: 100_000 }, (_, i) => i + 1) }) },
  );
  assert.equal(run.printed, '60\tbottom\t100000\t100000\n');
});

test('metamethods of a table are not run when it is sent', () => {
  const run = runLua(
    `local hidden = setmetatable({a = 1}, {__index = function() print("index") end, __len = function() print("len") return 5 end,
      __pairs = function() print("pairs") return next, {} end, __name = "array"})
    tool.x{v = hidden}
    local list = setmetatable({1, 2}, {__len = function() return 9 end})
    tool.x{v = list}`,
  );
  assert.equal(run.printed, '');
  assert.deepEqual(run.arguments, [{ v: { a: 1 } }, { v: [1, 2] }]);
});

test('numbers as strings stay strings, strings with numbers stay strings', () => {
  assert.equal(sent('tool.x{v = "5"}'), '81a176a135');
  const run = runLua('local r = tool.x{} print(type(r.v), r["1"], r[1])', {
    answer: () => okValue({ v: '5', '1': 'one' }),
  });
  assert.equal(run.printed, 'string\tone\tnil\n');
});

test('random data comes in and goes out as the same bytes', () => {
  const random = seededRandom(41);
  const make = (depth: number): unknown => {
    switch (random.below(depth > 5 ? 5 : 8)) {
      case 0:
        return random.next() < 0.5;
      case 1:
        return random.below(2 ** 32) - 2 ** 31;
      case 2:
        return random.next() + 0.1;
      case 3:
        // As Lua writes it: the codec of the daemon would write a signed integer.
        return new RawValue(Uint8Array.of(0xcf, 0x40, ...random.bytes(7)));
      case 4:
        return encodeText(random.bytes(random.below(50)));
      case 5:
        return Array.from({ length: random.below(20) }, () => random.next() < 0.1 ? null : make(depth + 1));
      default: {
        const keys = [...new Set(Array.from({ length: random.below(20) }, () => `k${random.below(1000)}`))].sort();
        return Object.fromEntries(keys.map((key) => [key, make(depth + 1)]));
      }
    }
  };
  const values = Array.from({ length: 150 }, () => encode({ r: make(0) }));
  const run = runLua(`for i = 1, ${values.length} do tool.back(tool.get{}) end`, {
    answer: ({ tool }, call) => tool === 'get' ? ok(undefined, values[(call - 1) / 2]!) : ok(),
  });
  assert.equal(run.ending, 'ok', run.message);
  const back = run.asked.filter(({ tool }) => tool === 'back').map(({ arguments: args }) => toHex(args));
  const changed = values.map(toHex).flatMap((value, i) => back[i] === value ? [] : [`value ${i}`]);
  assert.deepEqual(changed, []);
});
