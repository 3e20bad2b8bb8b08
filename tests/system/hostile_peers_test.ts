// Peers that break the protocol: an error or a closed connection for them, nothing for anybody else.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { after, before, beforeEach, test } from 'node:test';
import type { Client } from '../../src/client/client.ts';
import { encode } from '../../src/protocol/wire.ts';
import { TestDaemon, until } from '../helpers/daemon.ts';
import { RawPeer } from '../helpers/raw_peer.ts';

let daemon: TestDaemon;
let bystander: Client;
let peer: RawPeer;

before(async () => {
  daemon = await TestDaemon.start();
  bystander = await daemon.connect({ echo: { handler: ({ text }) => text } });
});
beforeEach(async () => void (peer = await RawPeer.connect(daemon.socket)));
after(async () => {
  await bystander.close();
  await daemon[Symbol.asyncDispose]();
});

async function assertOthersUnharmed(): Promise<void> {
  const outcome = await bystander.runCode('print(tool.echo{text = "fine"})');
  assert.equal(outcome.output, 'fine\n', outcome.report);
  peer.close();
}

const nested = (head: number[], times: number) => Buffer.concat(Array.from({ length: times }, () => Buffer.from(head)));

const broken: Record<string, { bytes: Uint8Array; says: RegExp }> = {
  'a map where a message should be': {
    bytes: encode({ a: 1 }),
    says: /^Cannot read a message that begins with 0x81: it must be an array/,
  },
  'a number where a message should be': { bytes: Buffer.from([0x05]), says: /begins with 0x05/ },
  'text where a message should be': { bytes: Buffer.from('GET / HTTP/1.1\r\n\r\n'), says: /begins with 0x47/ },
  'an array of two': { bytes: encode([0, 1]), says: /it must be \[0, id, method, \[params\]\]/ },
  'an unknown type of message': {
    bytes: encode([3, 1, 'status', [{}]]),
    says: /it must be \[0, id, method, \[params\]\]/,
  },
  'a text of four gigabytes': {
    bytes: Buffer.from([0x94, 0, 1, 0xdb, 0xff, 0xff, 0xff, 0xff]),
    says: /more than 33554432 bytes/,
  },
  'an array of four thousand million': {
    bytes: Buffer.from([0x94, 0, 1, 0xdd, 0xff, 0xff, 0xff, 0xff]),
    says: /more than 33554432 bytes/,
  },
  'a map of four thousand million': {
    bytes: Buffer.from([0x94, 0, 1, 0xdf, 0xff, 0xff, 0xff, 0xff]),
    says: /more than 33554432 bytes/,
  },
  'large arrays in one another': {
    bytes: nested([0xdc, 0xff, 0xff], 24_000),
    says: /more than 1000000 values|deeper than 64 levels/,
  },
  'small arrays in one another': { bytes: nested([0x91], 100), says: /deeper than 64 levels/ },
  'more values than are allowed': {
    bytes: Buffer.concat([Buffer.from([0x94, 0, 1, 0xa1, 0x78, 0xdd, 0, 0x10, 0, 0]), Buffer.alloc(10)]),
    says: /more than 1000000 values/,
  },
  'an extension': { bytes: Buffer.from([0x94, 0, 1, 0xd4, 0x01, 0x00]), says: /an extension \(0xd4\)/ },
  'a large extension': {
    bytes: Buffer.from([0x94, 0, 1, 0xc9, 0xff, 0xff, 0xff, 0xff, 0x01]),
    says: /an extension \(0xc9\)/,
  },
  'a record': { bytes: Buffer.from([0x94, 0, 1, 0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61]), says: /an extension \(0xd4\)/ },
  'a timestamp': { bytes: Buffer.from([0x94, 0, 1, 0xd6, 0xff, 0, 0, 0, 0]), says: /an extension \(0xd6\)/ },
  'the unused type byte': { bytes: Buffer.from([0x94, 0, 1, 0xc1]), says: /the unused type byte \(0xc1\)/ },
  'a response that nobody asked for': {
    bytes: encode([1, 77, null, {}]),
    says: /^Cannot take a response to 77: no request with this id is unanswered$/,
  },
  'an id that is no number': {
    bytes: encode([0, 'one', 'status', [{}]]),
    says: /it must be an unsigned 32-bit integer/,
  },
  'a negative id': { bytes: encode([0, -1, 'status', [{}]]), says: /it must be an unsigned 32-bit integer/ },
  'an id that is a map with an array as its key': {
    bytes: Uint8Array.from([0x94, 0x00, 0x81, 0x90, 0x01, 0xa1, 0x78, 0x90]),
    says: /^Cannot decode a value: /,
  },
  'a type that is a map with a map as its key': {
    bytes: Uint8Array.from([0x94, 0x81, 0x80, 0x01, 0x01, 0xa1, 0x78, 0x90]),
    says: /^Cannot decode a value: /,
  },
  'a method that is no text': { bytes: encode([0, 1, 5, [{}]]), says: /it must be a string/ },
  'parameters that are no map': { bytes: encode([0, 1, 'status', [5]]), says: /they must be an array of one map/ },
};

for (const [name, { bytes, says }] of Object.entries(broken)) {
  test(`${name} is answered with an error that names the rule, and the connection is closed`, async () => {
    peer.send(bytes);
    await peer.closed();
    const error = peer.received.map(([type, , third, fourth]) => type === 2 ? (third as object[])[0] : third ?? fourth)
      .at(-1) as { code: string; message: string };
    assert.ok(['invalid_message', 'message_too_large'].includes(error.code), JSON.stringify(peer.received));
    assert.match(error.message, says);
    await assertOthersUnharmed();
  });
}

test('a message that is too large is answered to its request', async () => {
  peer.send(
    Buffer.concat([
      Buffer.from([0x94, 0, 0xcd, 1, 2]),
      encode('run_code'),
      Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff]),
    ]),
  );
  const [, id, error] = await peer.response(258);
  assert.equal(id, 258);
  assert.equal((error as { code: string }).code, 'message_too_large');
  await peer.closed();
  await assertOthersUnharmed();
});

test('a truncated message waits, and is given up with its connection', async () => {
  const whole = Buffer.from(encode([0, 1, 'hello', [{ protocol: 1, agent: 'x' }]]));
  for (let cut = 1; cut < whole.length; cut += 5) {
    const truncated = await RawPeer.connect(daemon.socket);
    truncated.send(whole.subarray(0, cut));
    truncated.socket.end();
    await truncated.closed();
    assert.deepEqual(truncated.received, []);
  }
  await assertOthersUnharmed();
});

test('a message that comes byte by byte is understood', async () => {
  for (const byte of encode([0, 1, 'hello', [{ protocol: 1, agent: 'slow' }]])) {
    await new Promise<void>((resolve) => peer.socket.write(Uint8Array.of(byte), () => resolve()));
  }
  const [, , error, result] = await peer.response(1);
  assert.equal(error, null);
  assert.equal((result as { protocol: number }).protocol, 1);
  await assertOthersUnharmed();
});

test('ten thousand requests at once are each answered', async () => {
  await peer.hello();
  for (let id = 2; id < 10_002; id++) peer.send([0, id, 'status', [{}]]);
  await until(() => peer.received.length === 10_001, 'all are answered', () => String(peer.received.length));
  await assertOthersUnharmed();
});

test('ten thousand programs at once are run, queued or refused as busy, and others get their turn', async () => {
  await peer.hello();
  for (let id = 2; id < 10_002; id++) {
    peer.send([0, id, 'run_code', [{ program: 'while true do end', timeout_secs: 100 }]]);
  }
  await until(
    () => peer.received.filter(([type]) => type === 1).length > 9000,
    'most are refused',
    () => String(peer.received.length),
  );
  const codes = new Set(
    peer.received.filter(([type, id]) => type === 1 && id !== 1).map(([, , error]) => (error as { code: string }).code),
  );
  assert.ok([...codes].every((code) => code === 'busy' || code === 'too_many_requests'), [...codes].join());
  await assertOthersUnharmed();
  await until(
    async () => (await bystander.status()).counts.running === 0,
    'the programs of the closed connection are gone',
  );
});

test('more requests unanswered than are allowed are refused one by one, and the connection stays', async () => {
  await using small = await TestDaemon.start({ protocol: { maxUnanswered: 10 } });
  const many = await RawPeer.connect(small.socket);
  await many.hello([{ name: 'wait' }]);
  for (let id = 2; id < 22; id++) many.send([0, id, 'run_code', [{ program: 'tool.wait{}' }]]);
  await until(() => many.received.filter(([type]) => type === 1).length === 11, 'ten are refused');
  assert.ok(
    many.received.slice(1).filter(([type]) => type === 1).every(([, , error]) =>
      (error as { code: string }).code === 'too_many_requests'
    ),
  );
  many.send([0, 100, 'status', [{}]]);
  assert.equal(((await many.response(100))[2] as { code: string }).code, 'too_many_requests');
  many.close();
});

test('an id that is used twice while it is unanswered closes the connection', async () => {
  await peer.hello([{ name: 'wait' }]);
  peer.send([0, 5, 'run_code', [{ program: 'tool.wait{}' }]], [0, 5, 'status', [{}]]);
  await peer.closed();
  await assertOthersUnharmed();
});

test('a peer that does not read what it is sent is closed, and others are served', async () => {
  await using small = await TestDaemon.start({ protocol: { maxMessageBytes: 65_536 } });
  const deaf = await RawPeer.connect(small.socket);
  await deaf.hello();
  deaf.socket.pause();
  const cut = () => small.logged.some((line) => line.includes('a peer does not read what it is sent'));
  for (let id = 2; id < 20_000 && !cut(); id++) {
    deaf.send([0, id, 'status', [{}]]);
    if (id % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await until(cut, 'the peer is cut off');
  await using other = await small.connect();
  assert.equal((await other.runCode('print(1)')).output, '1\n');
  deaf.close();
});

test('every request but hello needs hello first, and an unknown one is told', async () => {
  const code = async (id: number, method: string, params: object = {}) =>
    ((await peer.ask(id, method, params))[2] as { code: string }).code;
  assert.equal(await code(1, 'status'), 'not_hello');
  assert.equal(await code(2, 'run_code', { program: 'print(1)' }), 'not_hello');
  assert.equal(await code(3, 'frobnicate'), 'unknown_method');
  assert.equal(await code(4, 'hello', { protocol: 2, agent: 'x' }), 'unsupported_protocol');
  assert.equal(await code(5, 'hello', { protocol: 1 }), 'invalid_params');
  await assertOthersUnharmed();
});

test('unknown keys are ignored in hello and refused elsewhere, so that a misspelt limit is not overlooked', async () => {
  await peer.hello([], { something_new: 1 });
  const [, , error] = await peer.ask(2, 'run_code', { program: 'print(1)', limit: { calls: 1 } });
  assert.deepEqual(error, {
    code: 'invalid_params',
    message: 'Cannot take run_code: the parameters have no key "limit"',
  });
  const [, , wrong] = await peer.ask(3, 'run_code', { program: 'print(1)', limits: { call: 1 } });
  assert.deepEqual(wrong, { code: 'invalid_params', message: 'Cannot take run_code: limits has no key "call"' });
  await assertOthersUnharmed();
});

test('an agent that answers a call with rubbish hurts its own program only', async () => {
  await peer.hello([{ name: 'odd' }]);
  const answers: [unknown, unknown][] = [
    [null, 5],
    [null, {}],
    [null, { ok: 'yes' }],
    [null, { ok: true, content: null }],
    [null, { ok: true, content: [1, { a: null }] }],
    [null, { ok: false }],
    ['text', null],
    [{ message: 'map' }, null],
    [{ strange: true }, null],
    [[1, 2], null],
    [true, null],
  ];
  peer.send([0, 2, 'run_code', [{
    program: `for i = 1, ${answers.length} do print(pcall(function() return tool.odd{} end)) end`,
  }]]);
  for (const [i, [error, result]] of answers.entries()) {
    const [, id] = await peer.request('call_tool', i);
    peer.send([1, id, error, result]);
  }
  const [, , error, outcome] = await peer.response(2);
  assert.equal(error, null);
  assert.equal((outcome as { kind: string }).kind, 'ok', JSON.stringify(outcome));
  assert.equal(
    (outcome as { output: string }).output.replace(/table: 0x\w+/g, 'a table'),
    [
      "true\tnil\tCannot read the agent's answer of odd: it must be a map with ok true or false, got 5",
      "true\tnil\tCannot read the agent's answer of odd: it must be a map with ok true or false, got {}",
      'true\tnil\tCannot read the agent\'s answer of odd: it must be a map with ok true or false, got {"ok":"yes"}',
      'true\t',
      'true\ta table',
      'true\tnil\tthe tool reported a failure without saying why',
      'false\tprogram:1: text',
      'false\tprogram:1: map',
      'false\tprogram:1: {"strange":true}',
      'false\tprogram:1: [1,2]',
      'false\tprogram:1: true',
      '',
    ].join('\n'),
  );
  await assertOthersUnharmed();
});

test('an answer that comes after its run has ended changes nothing and is no breach', async () => {
  await peer.hello([{ name: 'late' }]);
  peer.send([0, 2, 'run_code', [{ program: 'tool.late{}', limits: { wall_ms: 100 } }]]);
  const [, id] = await peer.request('call_tool');
  const [, , , outcome] = await peer.response(2);
  assert.equal((outcome as { kind: string }).kind, 'time');
  peer.send([1, id, null, { ok: true, content: 'too late' }]);
  const [, , error] = await peer.ask(3, 'status', {});
  assert.equal(error, null);
  await assertOthersUnharmed();
});
