// A child whose JavaScript and native code belong to an attacker reaches nothing. Every attack is made three
// times: against the full lock-up, against the kernel's part of it alone, and without the guards that stop it,
// when it must succeed. As root the whole file is run again as an ordinary user.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lockdownParts } from '../../src/child/lockdown.ts';
import type { Attack, Guard } from '../helpers/attacker_attack.ts';
import { attacks } from '../helpers/attacker_attacks.ts';
import { copyForOrdinaryUser } from '../helpers/attacker_user.ts';
import {
  type AttackerEnd,
  findRuntime,
  openWorld,
  readLines,
  runAttacker,
  type RuntimeName,
  until,
} from '../helpers/attacker_world.ts';

const parentEntry = fileURLToPath(new URL('../helpers/attacker_parent.ts', import.meta.url));

type Verdict = { readonly refusal: string | null; readonly effect: boolean; readonly end: AttackerEnd };

const verdicts = new Map<string, Promise<ReadonlyMap<string, Verdict>>>();

/** The outcome of `attack` without the guards `without`; the attacks that share a process are made together. */
async function attempt(runtime: RuntimeName, attack: Attack, without: readonly Guard[]): Promise<Verdict> {
  const together = attacks.filter((other) =>
    attack.alone ? other === attack : !other.alone && (isLockUp(without) || sameGuards(other.without, without))
  );
  const key = [runtime, [...without].sort(), together.map(({ name }) => name)].join();
  if (!verdicts.has(key)) verdicts.set(key, attackTogether(runtime, together, without));
  return (await verdicts.get(key)!).get(attack.name)!;
}

async function attackTogether(runtime: RuntimeName, together: readonly Attack[], without: readonly Guard[]) {
  await using world = await openWorld();
  const end = await runAttacker(world, { runtime, without, attacks: together.map(({ name }) => name) });
  const judged: [string, Verdict][] = [];
  for (const attack of together) {
    const refusal = end.outcomes.get(attack.name) ?? null;
    const silent = !end.outcomes.has(attack.name);
    const happened = () => attack.seen!(world.target, world.seen);
    const effect = attack.seen ? (isLockUp(without) ? happened() : await until(happened)) : !silent && refusal === null;
    judged.push([attack.name, { refusal: silent ? `no answer, exit ${end.exit}` : refusal, effect, end }]);
  }
  return new Map(judged);
}

const sameGuards = (a: readonly Guard[], b: readonly Guard[]) => [...a].sort().join() === [...b].sort().join();
const isLockUp = (without: readonly Guard[]) => without.every((guard) => guard === 'flags');

for (const runtime of ['node', 'deno'] as const) {
  test(`a ${runtime} child locks itself up in all parts`, async () => {
    await using world = await openWorld();
    const { report, exit, diagnostics } = await runAttacker(world, { runtime, without: [], attacks: [] });
    assert.deepEqual(report, Object.fromEntries(lockdownParts.map((part) => [part, 'on'])), diagnostics);
    assert.equal(exit, '0');
  });

  test(`a locked ${runtime} child computes, grows its memory, collects and tells the time`, async () => {
    await using world = await openWorld();
    const { lines, exit } = await runAttacker(world, { runtime, without: [], attacks: ['compute'] });
    const computed = { same: true, before: 1, kept: 30, usage: true, chance: 9, year: true };
    assert.deepEqual(lines.find((line) => 'computed' in line), { computed });
    assert.equal(exit, '0');
  });

  test(`a locked ${runtime} child that is stopped and continued goes on`, async () => {
    await using world = await openWorld();
    const { outcomes, exit } = await runAttacker(world, {
      runtime,
      without: [],
      attacks: ['wait'],
      onLine: async (line, child) => {
        if (!line.waiting) return;
        process.kill(child.pid!, 'SIGSTOP');
        await until(() => readFileSync(`/proc/${child.pid}/stat`, 'utf8').includes(') T '));
        process.kill(child.pid!, 'SIGCONT');
        (child.stdio[3] as Writable).write('x');
      },
    });
    assert.deepEqual([...outcomes, exit], [['wait', null], '0']);
  });

  test(`a locked ${runtime} child has only its pipe, nothing and empty epolls open, in every thread`, async () => {
    await using world = await openWorld();
    let open: string[] = [];
    let threads: string[] = [];
    await runAttacker(world, {
      runtime,
      without: ['memory'], // so that an ordinary user may look
      attacks: ['wait'],
      onLine: ({ waiting }, child) => {
        if (!waiting) return;
        const folder = `/proc/${child.pid}`;
        open = readdirSync(`${folder}/fd`).map((descriptor) => readlinkSync(`${folder}/fd/${descriptor}`));
        threads = readdirSync(`${folder}/task`).map((thread) =>
          readFileSync(`${folder}/task/${thread}/status`, 'utf8')
        );
        process.kill(child.pid!, 'SIGKILL');
      },
    });
    const sockets = open.filter((name) => name.startsWith('socket:'));
    const others = open.filter((name) => !name.startsWith('socket:'));
    assert.equal(new Set(sockets).size, 1);
    assert.deepEqual([...new Set(others)].sort(), ['/dev/null', 'anon_inode:[eventpoll]']);
    assert.ok(threads.length > 1);
    for (const status of threads) assert.match(status, /NoNewPrivs:\t1\nSeccomp:\t2\n/);
  });

  test(`a ${runtime} child dies with its parent, but would not without parent_death`, async () => {
    for (const without of [[], ['parent_death']] as const) {
      await using world = await openWorld();
      const options = { runtime, without, orders: { attacks: ['outlive its parent'], target: world.target } };
      const args = ['--no-warnings', parentEntry, JSON.stringify(options)];
      const parent = spawn(findRuntime('node'), args, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
      const pipe = parent.stdio[3] as Readable;
      const lines = readLines(pipe, (line) => 'report' in line && parent.kill('SIGKILL'));
      await once(pipe, 'close');
      assert.equal(lines[0].report.parent_death, without.length === 0 ? 'on' : 'left out by the caller');
      assert.deepEqual(lines.slice(1), without.length === 0 ? [] : [{ attack: 'outlive its parent', refusal: null }]);
    }
  });

  test(`a ${runtime} child whose parent is another than expected leaves`, async () => {
    await using world = await openWorld();
    const { report, exit } = await runAttacker(world, { runtime, without: [], attacks: [], parentPid: 1 });
    assert.deepEqual([report, exit], [undefined, '1']);
  });

  test(`a ${runtime} child that is given folders uses them and nothing else`, async () => {
    await using world = await openWorld();
    const { state } = world.target;
    for (const folder of ['in', 'look']) {
      mkdirSync(`${state}/${folder}`);
      writeFileSync(`${state}/${folder}/there`, '');
    }
    symlinkSync(world.target.journal, `${state}/in/link`);
    const folders = { readable: [`${state}/look`], writable: [`${state}/in`] };
    const answersWithout = async (without: readonly Guard[]) => {
      const end = await runAttacker(world, { runtime, without, attacks: ['use its folders'], folders });
      rmSync(`${state}/in/new`, { force: true });
      return Object.fromEntries(end.lines.filter(({ folder }) => folder).map(({ folder, answer }) => [folder, answer]));
    };
    const inside = { 'read in': 0, 'make in': 0, 'read look': 0 };
    const outside = ['make look', 'make ', 'read in/link', 'read journal.sqlite'];
    const all = (answer: number) => ({ ...inside, ...Object.fromEntries(outside.map((what) => [what, answer])) });
    assert.deepEqual(await answersWithout(['seccomp', 'limits']), all(-13));
    assert.deepEqual(await answersWithout(['seccomp', 'limits', 'landlock']), all(0));
  });

  for (const attack of attacks) {
    test(`an attacker in a ${runtime} child cannot ${attack.name}, but could without ${attack.without.join(', ')}`, async () => {
      for (const without of [[], ['flags']] as const) {
        const locked = await attempt(runtime, attack, without);
        if (!attack.swallowed) assert.notEqual(locked.refusal, null, `succeeded without [${without}]`);
        assert.equal(locked.effect, false, `had its effect without [${without}], and answered ${locked.refusal}`);
      }
      const open = await attempt(runtime, attack, attack.without);
      assert.equal(open.effect, true, `had no effect: ${open.refusal} ${open.end.diagnostics}`);
    });
  }
}

test('a locked node child is interrupted in a read and in a loop, and goes on', async () => {
  await using world = await openWorld();
  const { lines, exit } = await runAttacker(world, {
    runtime: 'node',
    without: ['memory'], // so that an ordinary user may look
    attacks: ['be interrupted'],
    onLine: async ({ interrupt }, child) => {
      if (!interrupt) return;
      // A signal that comes before the read begins does not break it.
      const inRead = () => /^(0|63) 0x3 /.test(readFileSync(`/proc/${child.pid}/syscall`, 'utf8'));
      if (interrupt === 'read') await until(inRead);
      process.kill(child.pid!, 'SIGINT');
    },
  });
  const interrupted = lines.filter((line) => 'interrupted' in line).map((line) => line.interrupted);
  assert.deepEqual(interrupted, ['read', 'loop', 'read', 'loop']);
  assert.equal(exit, '0');
});

if (process.getuid!() === 0) {
  test('all of this holds for an ordinary user', async () => {
    await using checkout = copyForOrdinaryUser();
    const { command, args, env } = checkout;
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output += data);
    const [code] = await once(child, 'close');
    assert.equal(code, 0, output);
    assert.match(output, /cannot read the memory of a locked deno child/);
  });
} else {
  for (const runtime of ['node', 'deno'] as const) {
    test(`others of the same user cannot read the memory of a locked ${runtime} child, but could without memory`, async () => {
      for (const without of [[], ['memory']] as const) {
        await using world = await openWorld();
        let answer = '';
        let schedule = '';
        await runAttacker(world, {
          runtime,
          without,
          attacks: ['wait'],
          onLine: ({ waiting }, child) => {
            if (!waiting) return;
            answer = openToRead(`/proc/${child.pid}/mem`);
            schedule = readFileSync(`/proc/${child.pid}/schedstat`, 'utf8');
            process.kill(child.pid!, 'SIGKILL');
          },
        });
        assert.equal(answer, without.length === 0 ? 'EACCES' : 'opened');
        assert.match(schedule, /^\d+ \d+ \d+\n$/);
      }
    });
  }
}

function openToRead(path: string): string {
  try {
    closeSync(openSync(path, 'r'));
    return 'opened';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
