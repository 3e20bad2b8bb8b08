// Programs as models write them: the three answers, the report, bounds that are no clocks, denials, values.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { answer, type Client, denied, failed } from '../../src/client/client.ts';
import { TestDaemon } from '../helpers/daemon.ts';

let daemon: TestDaemon;
let agent: Client;
const sources: Record<string, string> = {
  'a.rs': 'fn main() {} // TODO',
  'b.rs': 'fn b() {}',
  'c.rs': '// TODO: more',
};

// The example that shows what code mode is for.
const example = `local hits = {}
for _, path in ipairs({"a.rs", "b.rs", "c.rs"}) do
  local text = tool.read_file{path = path}
  if text:find("TODO") then hits[#hits + 1] = path end
end
print(table.concat(hits, "\\n"))
`;

before(async () => {
  daemon = await TestDaemon.start();
  agent = await daemon.connect({
    read_file: {
      class: 'read',
      inputSchema: {
        type: 'object',
        required: ['path'],
        properties: { path: { type: 'string' } },
        additionalProperties: false,
      },
      handler: ({ path }) => sources[path] ?? failed(`no such file: ${path}`),
    },
    edit_file: { class: 'edit', handler: ({ path }) => answer({ content: '', changed_paths: [path] }) },
    build: { class: 'execute', handler: () => failed('exit code 2\nundefined symbol') },
    broken: {
      handler: () => {
        throw new Error('the compiler is not installed');
      },
    },
    forbidden: {
      handler: () => {
        throw denied('the user said no');
      },
    },
    both: { handler: () => answer({ content: 'as text', structured: { rows: [1, 2] } }) },
    table: { handler: () => ({ rows: [1, 2, 3], none: null, empty: [] }) },
    echo: { handler: (args) => args },
    big: { handler: ({ bytes }) => 'x'.repeat(bytes) },
    'my-tool': { handler: () => 'dash' },
    my_tool: { handler: () => 'underscore' },
    'a.b/c': { handler: () => 'path', aliases: ['short'] },
  });
});
after(async () => {
  await agent.close();
  await daemon[Symbol.asyncDispose]();
});

const printed = async (program: string): Promise<string> => {
  const outcome = await agent.runCode(program);
  assert.equal(outcome.kind, 'ok', outcome.report);
  return outcome.output as string;
};

test('the first example runs as it stands against an agent whose read_file returns text', async () => {
  const outcome = await agent.runCode(example);
  assert.match(
    outcome.report,
    /^run_code ok \(3 tool calls, \d+\.\d\ds compute\)\n\noutput:\na\.rs\nc\.rs\n\ncalls:\n {2}1 read_file \{"path":"a\.rs"\} -> ok, 20 bytes\n {2}2 read_file \{"path":"b\.rs"\} -> ok, 9 bytes\n {2}3 read_file \{"path":"c\.rs"\} -> ok, 13 bytes\n$/,
  );
});

test('the first example runs as it stands against the workspace tools', async () => {
  await using own = await TestDaemon.start({ workspace: { tools: true } });
  for (const [name, text] of Object.entries(sources)) writeFileSync(path.join(own.workspace, name), text);
  await using plain = await own.connect();
  const outcome = await plain.runCode(example);
  assert.equal(outcome.output, 'a.rs\nc.rs\n', outcome.report);
  assert.equal(outcome.calls.length, 3);
});

test('a tool that ran and failed answers nil and its message', async () => {
  assert.equal(await printed('print(tool.build{})'), 'nil\texit code 2\nundefined symbol\n');
});

test('a tool that could not be run raises, and pcall catches it', async () => {
  assert.equal(await printed('print(pcall(tool.broken))'), 'false\tthe compiler is not installed\n');
  const outcome = await agent.runCode('\ntool.broken{}');
  assert.equal(outcome.kind, 'error');
  assert.equal(outcome.message, 'program:2: the compiler is not installed');
});

test('a denial ends the run as denied unless the program handles it', async () => {
  const outcome = await agent.runCode('tool.forbidden{}');
  assert.equal(outcome.kind, 'denied');
  assert.equal(outcome.message, 'program:1: the user said no');
  assert.equal(outcome.evidence.denied, 1);
  assert.match(outcome.report, /^run_code denied: program:1: the user said no\n/);
  assert.equal(await printed('print(pcall(tool.forbidden))'), 'false\tthe user said no\n');
  assert.equal(await printed('print(wizard.call("forbidden", {}).status)'), 'denied\n');
  const later = await agent.runCode('pcall(tool.forbidden) error("something else")');
  assert.equal(later.kind, 'error');
});

test('wizard.call never raises and tells the four statuses apart', async () => {
  const program = `
    for _, name in ipairs{"read_file", "build", "broken", "forbidden", "nope"} do
      local r = wizard.call(name, {path = "b.rs"})
      print(name, r.ok, r.status, (tostring(r.content):gsub("\\n.*", "")))
    end
    print(wizard.call(5).status, wizard.call("read_file", "x").status)`;
  assert.equal(
    await printed(program),
    'read_file\ttrue\tok\tfn b() {}\n' +
      'build\tfalse\tfailed\texit code 2\n' +
      'broken\tfalse\tnot_run\tthe compiler is not installed\n' +
      'forbidden\tfalse\tdenied\tthe user said no\n' +
      'nope\tfalse\tnot_run\tCannot call tool "nope": there is no such tool; wizard.tools() lists the tools there are\n' +
      'not_run\tnot_run\n',
  );
});

test('a tool with text and a structured value gives the text, and both by wizard.call', async () => {
  assert.equal(
    await printed('print(tool.both{}) local r = wizard.call("both") print(r.content, r.structured.rows[2])'),
    'as text\nas text\t2\n',
  );
});

test('a tool with a structured value alone gives it as a table', async () => {
  assert.equal(await printed('local t = tool.table{} print(#t.rows, t.none, #t.empty, type(t))'), '3\tnil\t0\ttable\n');
});

test('a call gives exactly one value, so that it can be passed on', async () => {
  assert.equal(
    await printed(
      'local t = {} table.insert(t, tool.read_file{path = "b.rs"}) print(#t, select("#", tool.read_file{path = "b.rs"}))',
    ),
    '1\t1\n',
  );
});

test('names with dashes, dots and twins are each reached, and aliases too', async () => {
  assert.equal(
    await printed('print(tool["my-tool"]{}, tool.my_tool{}, tool["a.b/c"]{}, tool.short{})'),
    'dash\tunderscore\tpath\tpath\n',
  );
});

test('names that programs may never call are refused with a sentence', async () => {
  await using other = await daemon.connect({ publish: { handler: () => 'published', aliases: ['ship'] } });
  const outcome = await other.runCode(
    'print(pcall(tool.publish)) print(pcall(tool.ship)) print(pcall(tool.run_code)) print(#wizard.tools())',
  );
  const sentence = (name: string) =>
    `false\tCannot call tool "${name}": it is never callable from a program; call it directly\n`;
  assert.equal(outcome.output, sentence('publish') + sentence('ship') + sentence('run_code') + '0\n');
});

test('a mistaken name is answered with the nearest', async () => {
  assert.equal(
    await printed('print(pcall(tool.read_fil))'),
    'false\tCannot call tool "read_fil": there is no such tool; did you mean "read_file"\n',
  );
});

test('arguments are held against the schema before anything happens', async () => {
  assert.equal(
    await printed('print(pcall(tool.read_file, {pth = "a.rs"}))'),
    'false\tCannot call tool "read_file": arguments has no property "pth"; did you mean "path"\n',
  );
});

test('64-bit integers, floats, bytes and empty tables go through a call and back unchanged', async () => {
  const program = `
    local sent = {max = math.maxinteger, min = math.mininteger, odd = 9007199254740993, float = 1.0, bytes = "\\xff\\0\\xfe", text = "h\\u{e9}", list = {1, wizard.null, 3}}
    local got = tool.echo(sent)
    for _, key in ipairs{"max", "min", "odd", "float"} do print(key, got[key] == sent[key], math.type(got[key])) end
    print(got.bytes == sent.bytes, got.text == sent.text, got.list[2] == wizard.null, #got.list)`;
  assert.equal(
    await printed(program),
    'max\ttrue\tinteger\nmin\ttrue\tinteger\nodd\ttrue\tinteger\nfloat\ttrue\tinteger\ntrue\ttrue\ttrue\t3\n',
  );
});

test('all 256 bytes go through print into the output', async () => {
  const outcome = await agent.runCode(
    'local t = {} for i = 0, 255 do t[#t + 1] = string.char(i) end io.write(table.concat(t))',
  );
  assert.deepEqual([...outcome.output as Uint8Array], Array.from({ length: 256 }, (_, i) => i));
});

test('the sixty-fifth call ends the run as calls, and pcall cannot carry on', async () => {
  const outcome = await agent.runCode(
    'for i = 1, 100 do pcall(tool.read_file, {path = "b.rs"}) end print("not reached")',
  );
  assert.equal(outcome.kind, 'calls');
  assert.equal(outcome.stopped_by, 'inside');
  assert.equal(outcome.message, 'the program made more than 64 tool calls, at program:1');
  assert.deepEqual(outcome.exhausted, { name: 'calls', used: 64, limit: 64, requested: 65 });
  assert.equal(outcome.calls.length, 64);
  assert.equal(outcome.output, '');
});

test('calls that are refused before they go out do not use up the limit', async () => {
  const outcome = await agent.runCode('for i = 1, 150 do pcall(tool.nope) end print(tool.read_file{path = "b.rs"})');
  assert.equal(outcome.kind, 'ok', outcome.report);
  assert.equal(outcome.usage.calls, 1);
  assert.equal(outcome.evidence.not_run, 150);
  assert.match(outcome.report, /and 50 more calls that were not run\n$/);
});

test('one result over its bound is an error of its call, all results over theirs end the run', async () => {
  const one = await agent.runCode('print(tool.big{bytes = 2000000}) print(#tool.big{bytes = 1000})');
  assert.equal(one.kind, 'ok', one.report);
  assert.equal(
    one.output,
    'nil\tthe result of tool "big" has 2000000 bytes, and one result may have 1048576; ask it for less\n1000\n',
  );
  const all = await agent.runCode('for i = 1, 10 do pcall(tool.big, {bytes = 1000000}) end');
  assert.equal(all.kind, 'results');
  assert.deepEqual(all.exhausted, {
    name: 'total_result_bytes',
    used: 8_000_000,
    limit: 8_388_608,
    requested: 9_000_000,
  });
});

test('a huge string and allocation caught again and again end as memory', async () => {
  const huge = await agent.runCode('print("first") pcall(string.rep, "x", 6e8) print("not reached")');
  assert.equal(huge.kind, 'memory');
  assert.equal(huge.stopped_by, 'inside');
  assert.equal(huge.message, 'the program held more than 64 MiB, at program:1');
  assert.equal(huge.output, 'first\n');
  const again = await agent.runCode(
    'local t = {} while true do pcall(function() while true do t[#t + 1] = {#t} end end) end',
  );
  assert.equal(again.kind, 'memory', again.report);
  const later = await agent.runCode('print(1)');
  assert.equal(later.output, '1\n');
});

test('gigabytes of garbage within the limit finish', async () => {
  const outcome = await agent.runCode(
    'local n = 0 for i = 1, 3000 do local s = string.rep("0123456789abcdef", 65536) n = n + #s end print(n)',
  );
  assert.equal(outcome.kind, 'ok', outcome.report);
  assert.equal(outcome.output, '3145728000\n');
});

test('a program that does not compile is the one fault', async () => {
  const outcome = await agent.runCode('print("x")\nlocal = 5');
  assert.equal(outcome.kind, 'compile');
  assert.equal(outcome.fault, true);
  assert.equal(outcome.message, "program:2: <name> expected near '='");
  assert.equal(outcome.output, '');
});

test('printed output beyond its bound is dropped and counted, and is no failure', async () => {
  const outcome = await agent.runCode('for i = 1, 100 do print(string.rep("x", 99)) end', {
    limits: { printed_bytes: 1050 },
  });
  assert.equal(outcome.kind, 'ok');
  assert.equal((outcome.output as string).length, 1050);
  assert.equal(outcome.output_truncated, true);
  assert.equal(outcome.usage.printed_bytes, 10_000);
  assert.match(outcome.report, /\(8950 more bytes were printed beyond the bound and dropped\)/);
});

test('output over the cap of the report is cut in the middle and whole in a spill file', async () => {
  const outcome = await agent.runCode('for i = 1, 20000 do print(i) end');
  assert.equal(outcome.kind, 'ok');
  const whole = Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join('');
  assert.equal(readFileSync(outcome.spill_path!, 'utf8'), whole);
  assert.ok(
    outcome.report.includes(`[78894 characters left out; the whole output is in ${outcome.spill_path}]`),
    outcome.report.slice(19_900, 20_300),
  );
  assert.ok(outcome.report.length < 31_000);
  let read = '';
  for (let offset: number | null = 0; offset !== null;) {
    const part = await agent.readSpill(outcome.run_id, offset, 50_000);
    read += new TextDecoder().decode(part.data);
    offset = part.next;
  }
  assert.equal(read, whole);
});

test('a spill file that cannot be written costs the file, and the outcome says so', async () => {
  await using own = await TestDaemon.start();
  writeFileSync(path.join(own.state, 'spill'), 'a file where the folder should be');
  await using other = await own.connect();
  const outcome = await other.runCode('print(string.rep("x", 40000))');
  assert.equal(outcome.kind, 'ok');
  assert.equal(outcome.spill_path, null);
  assert.match(outcome.warnings[0]!, /^the whole output could not be written to a file: E/);
});

test('limits may be lowered by a request, and only compute raised', async () => {
  const refused = (limits: object) =>
    assert.rejects(agent.runCode('print(1)', { limits }), (error: { code?: string; message: string }) => {
      assert.equal(error.code, 'invalid_params');
      return true;
    });
  await refused({ memory_bytes: 300_000_000 });
  await refused({ calls: 65 });
  await refused({ compute_ms: 120_001 });
  await refused({ calls: 0 });
  const outcome = await agent.runCode('print(1)', { limits: { compute_ms: 120_000, calls: 3 } });
  assert.equal(outcome.limits.compute_ms, 120_000);
  assert.equal(outcome.limits.calls, 3);
});

test('changed paths and context reach the outcome', async () => {
  await using other = await daemon.connect({
    write: {
      class: 'edit',
      handler: ({ n }) => answer({ content: 'done', changed_paths: [`/w/${n}`], context: [`note ${n}`] }),
    },
  });
  const outcome = await other.runCode('for i = 1, 60 do tool.write{n = i} end');
  assert.equal(outcome.evidence.changed_path_count, 60);
  assert.equal(outcome.evidence.changed_paths.length, 50);
  assert.deepEqual(outcome.context[1], { call: 2, text: 'note 2' });
  assert.match(outcome.report, /\n {2}1 write \{"n":1\} -> ok\n/);
});

test('a tool with a timeout of its own answers as failed, stays unknown, and is cancelled', async () => {
  let aborted = false;
  await using other = await daemon.connect({
    slow: {
      timeoutMs: 100,
      handler: (_args, { signal }) => {
        signal.addEventListener('abort', () => aborted = true);
        return new Promise(() => {});
      },
    },
  });
  const outcome = await other.runCode('print(tool.slow{})');
  assert.equal(outcome.output, 'nil\ttool "slow" gave no answer in time; it may still be running\n');
  assert.equal(outcome.calls[0]!.outcome, 'unknown');
  assert.equal(aborted, true);
});

test('nothing survives a run: globals of one are not in the next', async () => {
  await agent.runCode('leaked = 1 string.leaked = 2');
  assert.equal(await printed('print(leaked, string.leaked)'), 'nil\tnil\n');
});

test('a program sees its cwd and nothing of the host', async () => {
  mkdirSync(path.join(daemon.workspace, 'sub'), { recursive: true });
  const outcome = await agent.runCode(
    'print(cwd) print(next(args)) print(os.getenv("HOME"), io.open("/etc/passwd")) print(os.execute("true")) print(os.exit)',
    { cwd: path.join(daemon.workspace, 'sub') },
  );
  assert.equal(
    outcome.output,
    `${daemon.workspace}/sub\nnil\nnil\tnil\t/etc/passwd: Operation not permitted\t63\nnil\tOperation not permitted\t63\nnil\n`,
  );
});
