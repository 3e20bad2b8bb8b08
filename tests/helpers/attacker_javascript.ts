// Attacks with JavaScript alone, through what the runtime offers.

import child_process from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { Worker } from 'node:worker_threads';
import { type Attack, demand, type Guard, received, secret, signalled, wrote } from './attacker_attack.ts';

const everything: readonly Guard[] = ['flags', 'seccomp', 'landlock', 'limits'];

/** With JavaScript alone. */
export const javascriptAttacks: readonly Attack[] = [
  {
    name: 'read the journal from JavaScript',
    without: everything,
    run: ({ journal }) => demand(fs.readFileSync(journal, 'utf8') === secret, 'reading'),
  },
  {
    name: 'make a folder in the state folder from JavaScript',
    without: everything,
    run: ({ state }) => fs.mkdirSync(`${state}/folder`),
    seen: wrote('folder'),
  },
  {
    name: 'list the processes from JavaScript',
    without: everything,
    run: () => fs.readdirSync('/proc'),
  },
  {
    name: 'signal the parent from JavaScript',
    without: everything,
    run: ({ parent }) => process.kill(parent, 'SIGWINCH'),
    seen: signalled,
  },
  {
    name: 'load a library',
    without: everything,
    run: ({ library }) =>
      'Deno' in globalThis
        ? (globalThis as any).Deno.dlopen(library, {})
        : process.dlopen({ exports: {} } as unknown as NodeJS.Module, library),
  },
  {
    name: 'start a program from JavaScript',
    without: everything,
    alone: true,
    run: ({ state }) => {
      const { error } = child_process.spawnSync('/bin/sh', ['-c', `: > "${state}/spawned"`], { stdio: 'ignore' });
      if (error) throw error;
    },
    seen: wrote('spawned'),
  },
  {
    name: 'write in the state folder from the thread pool',
    without: [...everything, 'descriptors'],
    alone: true,
    run: ({ state }) => fs.promises.mkdir(`${state}/pool`),
    seen: wrote('pool'),
  },
  {
    name: 'connect to the socket of the daemon from JavaScript',
    without: ['flags', 'seccomp', 'descriptors', 'limits'],
    alone: true,
    run: ({ socket }) =>
      new Promise<void>((resolve, reject) => {
        const connection = net.connect(socket, () => connection.end('attack', resolve));
        connection.on('error', reject);
      }),
    seen: received,
  },
  {
    name: 'send a worker ahead',
    without: [...everything, 'descriptors'],
    alone: true,
    run: ({ state }) =>
      new Promise<void>((resolve, reject) => {
        const source = `import fs from 'node:fs'; fs.mkdirSync(${JSON.stringify(`${state}/worker`)});`;
        const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
        worker.on('error', reject);
        worker.on('exit', () => resolve());
      }),
    seen: wrote('worker'),
  },
];
