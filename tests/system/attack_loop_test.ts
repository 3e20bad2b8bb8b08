// The daemon's loop belongs to everybody: no message of one peer makes the others wait for seconds.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { spawnDaemon } from '../helpers/daemon.ts';
import { RawPeer } from '../helpers/raw_peer.ts';

let folder: string;
let daemon: Awaited<ReturnType<typeof spawnDaemon>>;
let nextId = 10;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rw-'));
  daemon = await spawnDaemon(folder);
});
after(async () => {
  daemon.child.kill('SIGTERM');
  await daemon.ended;
  rmSync(folder, { recursive: true, force: true });
});

/** The longest that another peer waited for an answer while `attack` went on, in milliseconds. */
async function longestWait(attack: (peer: RawPeer) => Promise<unknown>): Promise<number> {
  const [peer, other] = [await RawPeer.connect(daemon.socket), await RawPeer.connect(daemon.socket)];
  await other.hello();
  let longest = 0;
  let over = false;
  const attacking = attack(peer).finally(() => over = true);
  while (!over) {
    const from = performance.now();
    await other.ask(nextId++, 'status', {});
    longest = Math.max(longest, performance.now() - from);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await attacking;
  peer.close();
  other.close();
  return longest;
}

function assertBrief(ms: number): void {
  assert.ok(ms < 1500, `another peer waited for ${Math.round(ms)} ms`);
}

test(
  'a name of thirty million bytes in hello is refused in time that others do not notice',
  { timeout: 60_000 },
  async () => {
    const bytes = new Uint8Array(30_000_000);
    assertBrief(await longestWait((peer) => peer.ask(1, 'hello', { protocol: 1, agent: bytes })));
  },
);

test(
  'an error of thirty million bytes from a tool is read in time that others do not notice',
  { timeout: 60_000 },
  async () => {
    const bytes = new Uint8Array(30_000_000);
    assertBrief(
      await longestWait(async (peer) => {
        await peer.hello([{ name: 't' }]);
        peer.send([0, 2, 'run_code', [{ program: 'pcall(tool.t, {})' }]]);
        const [, id] = await peer.request('call_tool');
        peer.send([1, id, bytes, null]);
        await peer.response(2);
      }),
    );
  },
);

test(
  'a mistaken name among thousands of long ones is looked up in time that others do not notice',
  { timeout: 60_000 },
  async () => {
    const long = (text: string) => text.padEnd(256, text);
    const tools = Array.from({ length: 2000 }, (_, i) => ({
      name: long(`name ${i} `),
      aliases: [1, 2, 3].map((k) => long(`alias ${k} of ${i} `)),
    }));
    assertBrief(
      await longestWait(async (peer) => {
        await peer.hello(tools);
        await peer.ask(2, 'run_code', { program: 'pcall(tool[("q"):rep(256)], {})' });
      }),
    );
  },
);
