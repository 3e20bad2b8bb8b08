// What agents and programs send is bounded in the daemon's memory by what is kept of it, not by how it came.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from '../../src/client/client.ts';
import { spawnDaemon } from '../helpers/daemon.ts';
import { RawPeer } from '../helpers/raw_peer.ts';

let folder: string;
let daemon: Awaited<ReturnType<typeof spawnDaemon>>;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rw-'));
  daemon = await spawnDaemon(folder);
});
after(async () => {
  daemon.child.kill('SIGTERM');
  await daemon.ended;
  rmSync(folder, { recursive: true, force: true });
});

const residentMiB = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'latin1'))![1]) / 1024;

test(
  'a million printed bytes, one at a time, do not cost the daemon a hundred times that',
  { timeout: 60_000 },
  async () => {
    await using client = await Client.connect({ socket: daemon.socket, agent: 'printer' });
    await client.runCode('print(1)');
    const before = residentMiB();
    const outcome = await client.runCode('local write = io.write for i = 1, 1000000 do write("x") end');
    assert.equal(outcome.usage.printed_bytes, 1_000_000, outcome.report);
    const grown = residentMiB() - before;
    assert.ok(grown < 100, `the daemon grew by ${Math.round(grown)} MiB`);
  },
);

test('an answer is kept as what was taken of it, not as the message that it came in', { timeout: 60_000 }, async () => {
  const peer = await RawPeer.connect(daemon.socket);
  await peer.hello([{ name: 't' }]);
  const before = residentMiB();
  for (let i = 0; i < 20; i++) {
    peer.send([0, 100 + i, 'run_code', [{ program: 'tool.t{}' }]]);
    const [, id] = await peer.request('call_tool', i);
    peer.send([1, id, null, { ok: true, content: 'x', unknown: 'j'.repeat(31_000_000) }]);
    await peer.response(100 + i);
  }
  peer.close();
  const grown = residentMiB() - before;
  assert.ok(grown < 250, `twenty results of one byte made the daemon grow by ${Math.round(grown)} MiB`);
});
