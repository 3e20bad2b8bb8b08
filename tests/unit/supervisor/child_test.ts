// One child through its life, with a process that the test moves: frames, crashes, strangers and last words.

import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { encodeFrame, frameKinds, readFrame } from '../../../src/protocol/child_messages.ts';
import { Child, type RunHandlers } from '../../../src/supervisor/child.ts';
import type { ChildMessage } from '../../../src/supervisor/child_frames.ts';
import { FakeChild, lockdown } from '../../helpers/fake_child.ts';
import { recordedLog } from '../../helpers/recorded_log.ts';
import { until } from '../../helpers/until.ts';

const settings = { memoryBytes: 1, printedBytes: 1, cwd: null, version: '1', tools: [] };
const source = new TextEncoder().encode('print(1)');
const callHeader = { call: 1, tool: 'read', structured: false };

type End = Parameters<RunHandlers['ended']>[0];

function start(fake = new FakeChild()) {
  const { log, lines } = recordedLog();
  const child = new Child(() => fake.launched, log);
  const printed: string[] = [];
  const calls: Extract<ChildMessage, { kind: 'call' }>[] = [];
  const ends: End[] = [];
  const handlers: RunHandlers = {
    printed: (bytes) => void printed.push(new TextDecoder().decode(bytes)),
    call: (call) => void calls.push(call),
    ended: (end) => void ends.push(end),
  };
  return { fake, child, lines, printed, calls, ends, handlers };
}

async function running(fake?: FakeChild) {
  const all = start(fake);
  all.fake.ready();
  await all.child.ready;
  all.child.assign({ header: settings, source, handlers: all.handlers });
  return all;
}

test('a child is warm when it says ready, and gets its program once', async () => {
  const { fake, child, handlers } = start();
  assert.equal(child.state, 'starting');
  fake.ready();
  assert.deepEqual(await child.ready, { protocol: 1, runtime: 'fake 1', lockdown });
  assert.equal(child.state, 'warm');
  child.assign({ header: settings, source, handlers });
  assert.equal(child.state, 'running');
  await until(() => fake.received.length > 0);
  const { frame } = readFrame(fake.received)!;
  assert.equal(frame.kind, frameKinds.program);
  assert.deepEqual(frame.header, settings);
  assert.equal(new TextDecoder().decode(frame.payload), 'print(1)');
  assert.throws(
    () => child.assign({ header: settings, source, handlers }),
    new Error('Cannot move a child that is running by assigned: no such move'),
  );
  fake.exit(0);
  await child.exited;
});

test('printed output, calls and answers go their ways while it runs', async () => {
  const { fake, child, printed, calls, ends } = await running();
  fake.send(frameKinds.printed, undefined, new TextEncoder().encode('hello'));
  fake.send(frameKinds.call, callHeader, Uint8Array.of(0x81, 0xa1, 0x61, 1));
  await until(() => calls.length === 1);
  assert.deepEqual(printed, ['hello']);
  assert.deepEqual(calls[0]!.header, callHeader);
  assert.deepEqual([...calls[0]!.arguments], [0x81, 0xa1, 0x61, 1]);
  const before = fake.received.length;
  child.answer({ call: 1, status: 'ok', message: '', contentBytes: 1 }, Uint8Array.of(0xc0), Uint8Array.of(5));
  await until(() => fake.received.length > before);
  const { frame } = readFrame(fake.received.subarray(before))!;
  assert.equal(frame.kind, frameKinds.answer);
  assert.deepEqual([...frame.payload], [0xc0, 5]);
  fake.finish({ message: 'done' });
  await until(() => ends.length === 1);
  assert.equal(child.state, 'stopping');
  fake.exit(0);
  assert.deepEqual(await child.exited, { words: 'it left with code 0', signal: null });
  assert.equal(child.state, 'dead');
  assert.equal(ends.length, 1);
});

test('frames in chunks of one byte are the same', async () => {
  const { fake, printed, ends, child } = await running();
  const bytes = Buffer.concat([
    encodeFrame(frameKinds.printed, undefined, new TextEncoder().encode('abc')),
    encodeFrame(frameKinds.finished, {
      ending: 'ok',
      message: '',
      traceback: null,
      memoryBytes: 0,
      droppedBytes: 0,
      cpuMs: 0,
    }),
  ]);
  for (const byte of fake.packed(bytes)) fake.end.write(Uint8Array.of(byte));
  await until(() => ends.length === 1);
  assert.deepEqual(printed, ['abc']);
  fake.exit(0);
  await child.exited;
});

test('a packet that comes twice is taken once, and one out of its turn is malformed', async () => {
  const { fake, child, printed, ends } = await running();
  const packet = fake.packed(encodeFrame(frameKinds.printed, undefined, new TextEncoder().encode('once ')));
  fake.end.write(packet);
  fake.end.write(packet);
  fake.send(frameKinds.printed, undefined, new TextEncoder().encode('next'));
  await until(() => printed.length === 2);
  assert.deepEqual(printed, ['once ', 'next']);
  fake.packed(Uint8Array.of(1));
  fake.send(frameKinds.printed, undefined, new TextEncoder().encode('lost'));
  await until(() => fake.signals.length > 0);
  fake.exit(null, 'SIGKILL');
  await child.exited;
  assert.match(JSON.stringify(ends), /packet \d+ came where \d+ was due/);
});

test('a child that dies before it is ready rejects, with what it said', async () => {
  const { fake, child } = start();
  fake.say('cannot find module\n');
  await until(() => fake.launched.diagnostics.readableLength === 0);
  fake.exit(1);
  await assert.rejects(
    child.ready,
    new Error('a child ended before it was ready: it left with code 1; it said: cannot find module'),
  );
  assert.equal((await child.exited).signal, null);
});

test('a child that dies while it runs has crashed, with the output that was still in the pipe', async () => {
  const { fake, child, printed, ends } = await running();
  fake.send(frameKinds.printed, undefined, new TextEncoder().encode('last words'));
  fake.process.emit('exit', null, 'SIGSEGV');
  fake.end.end();
  await child.exited;
  assert.deepEqual(printed, ['last words']);
  assert.deepEqual(ends, [{ ending: 'crashed', exit: { words: 'it was ended by SIGSEGV', signal: 'SIGSEGV' } }]);
});

test('an outcome that was in the pipe when the child died is the outcome', async () => {
  const { fake, child, ends } = await running();
  fake.finish({ ending: 'memory', message: 'program:1' });
  fake.exit(0);
  await child.exited;
  assert.equal(ends.length, 1);
  assert.equal(ends[0]!.ending, 'memory');
});

test('a stranger that holds the pipe does not delay the end', async () => {
  const { fake, child, ends } = await running();
  fake.exitHoldingPipe(1);
  const exit = await child.exited;
  assert.equal(exit.words, 'it left with code 1');
  assert.equal(ends.length, 1);
  assert.equal(child.state, 'dead');
  fake.finish();
});

test('a child that has finished and lingers is killed', async () => {
  const { fake, child, ends } = await running();
  fake.finish();
  await until(() => ends.length === 1);
  assert.deepEqual(fake.signals, []);
  // Its group does not exist, so that the signal to the process itself follows.
  await until(() => fake.signals.length > 0);
  assert.deepEqual(fake.signals, ['SIGKILL']);
  assert.equal(ends.length, 1);
  fake.exit(null, 'SIGKILL');
  await child.exited;
});

test('a child that leaves after it has finished is not killed', async () => {
  const { fake, child, ends } = await running();
  fake.finish();
  await until(() => ends.length === 1);
  fake.exit(0);
  await child.exited;
  const end = performance.now() + 300;
  await until(() => performance.now() > end);
  assert.deepEqual(fake.signals, []);
});

test('a malformed frame costs the child, and its run ends once', async () => {
  const table: [string, Uint8Array, string][] = [
    ['length', Uint8Array.of(0, 0, 0, 0), 'a frame must hold 5 to 41943040 bytes, got 0'],
    ['kind', encodeFrame(99 as 2, {}), 'a frame of kind 99 does not exist'],
    [
      'arguments',
      encodeFrame(frameKinds.call, callHeader, Uint8Array.of(0x90)),
      'the arguments of a call must be a map',
    ],
    [
      'ready again',
      encodeFrame(frameKinds.ready, { protocol: 1, runtime: 'x', lockdown: {} }),
      'Cannot move a child that is running by ready: no such move',
    ],
  ];
  for (const [name, bytes, problem] of table) {
    const { fake, child, ends, calls, lines } = await running();
    fake.sendBytes(bytes);
    await until(() => fake.signals.length > 0);
    // What follows is not read any more.
    fake.send(frameKinds.call, callHeader, Uint8Array.of(0x80));
    fake.finish();
    assert.equal(child.state, 'stopping');
    fake.exit(null, 'SIGKILL');
    await child.exited;
    assert.deepEqual(ends, [{
      ending: 'crashed',
      exit: { words: `it sent a malformed frame: ${problem}`, signal: 'SIGKILL' },
    }], name);
    assert.equal(calls.length, 0);
    assert.equal(lines.filter(({ level }) => level === 'warn').length, 1);
  }
});

test('a frame before its time is malformed', async () => {
  for (
    const send of [
      (fake: FakeChild) => fake.finish(),
      (fake: FakeChild) => fake.send(frameKinds.printed, undefined, source),
    ]
  ) {
    const { fake, child } = start();
    send(fake);
    await until(() => fake.signals.length > 0);
    fake.exit(null, 'SIGKILL');
    await assert.rejects(
      child.ready,
      /it sent a malformed frame: a frame of kind (finished|printed) came from a child that is starting$/,
    );
  }
});

test('a child of another version is malformed', async () => {
  const { fake, child } = start();
  fake.send(frameKinds.ready, { protocol: 2, runtime: 'x', lockdown: {} });
  await until(() => fake.signals.length > 0);
  fake.exit(null, 'SIGKILL');
  await assert.rejects(child.ready, /the header of a frame of kind 1 is malformed/);
});

test('what a child that was killed still sends is not read, and is no fault of it', async () => {
  const killed = await running();
  killed.child.kill();
  killed.fake.send(frameKinds.call, callHeader, Uint8Array.of(0x80));
  killed.fake.finish();
  killed.fake.exit(null, 'SIGKILL');
  await killed.child.exited;
  assert.equal(killed.calls.length, 0);
  assert.deepEqual(killed.ends, [{ ending: 'crashed', exit: { words: 'it was ended by SIGKILL', signal: 'SIGKILL' } }]);

  const early = start();
  early.child.kill();
  early.fake.ready();
  early.fake.exit(null, 'SIGKILL');
  await assert.rejects(early.child.ready, new Error('a child ended before it was ready: it was ended by SIGKILL'));
  assert.deepEqual(early.lines.filter(({ level }) => level === 'warn'), []);
});

test('a fault that the child tells goes into its exit', async () => {
  const { fake, child, ends } = await running();
  fake.send(frameKinds.fault, { message: 'TypeError: a bug' });
  fake.exit(70);
  await child.exited;
  assert.deepEqual(ends, [{
    ending: 'crashed',
    exit: { words: 'it left with code 70; it said: TypeError: a bug', signal: null },
  }]);
});

test('what a child says is held up to a bound, on its standard error and in frames', async () => {
  const { fake, child, ends } = await running();
  for (let i = 0; i < 200; i++) fake.send(frameKinds.fault, { message: 'x'.repeat(60_000) });
  for (let i = 0; i < 50; i++) fake.say('y'.repeat(1000));
  fake.exit(70);
  await child.exited;
  const end = ends[0] as Extract<End, { ending: 'crashed' }>;
  assert.ok(end.exit.words.length < 100_000, `${end.exit.words.length} characters`);
});

test('a process that could not be started ends the child', async () => {
  const { fake, child } = start(new FakeChild({ pid: undefined }));
  fake.process.emit('error', new Error('spawn ENOENT'));
  await assert.rejects(
    child.ready,
    new Error('a child ended before it was ready: it could not be started: spawn ENOENT'),
  );
  assert.equal((await child.exited).words, 'it could not be started: spawn ENOENT');
  child.kill();
  child.interrupt();
  assert.equal(child.processorTime(), undefined);
});

test('interrupting and killing reach the process until it is dead', async () => {
  const { fake, child } = await running();
  child.interrupt();
  assert.deepEqual(fake.signals, ['SIGINT']);
  child.kill();
  child.kill();
  assert.deepEqual(fake.signals, ['SIGINT', 'SIGKILL', 'SIGKILL']);
  fake.exit(null, 'SIGKILL');
  await child.exited;
  child.interrupt();
  child.kill();
  assert.equal(fake.signals.length, 3);
});

test('an answer to a child that does not run is not written', async () => {
  const { fake, child, ends } = await running();
  fake.finish();
  await until(() => ends.length === 1);
  const before = fake.received.length;
  child.answer({ call: 1, status: 'ok', message: '', contentBytes: 0 });
  assert.equal(fake.received.length, before);
  fake.exit(0);
  await child.exited;
});
