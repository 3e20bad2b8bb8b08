// Attacks with native code: any system call with any arguments, from JavaScript that has taken the binding.

import fs from 'node:fs';
import { type Attack, demand, type Guard, received, secret, signalled, wrote } from './attacker_attack.ts';
import {
  check,
  loopback,
  mapMemory,
  must,
  open,
  pointers,
  readAll,
  send,
  setLimit,
  text,
  unixAddress,
} from './attacker_calls.ts';

// The limit on descriptors leaves none to be had, and so stops whatever needs a new one.
const kernel: readonly Guard[] = ['seccomp', 'landlock'];
const files: readonly Guard[] = ['seccomp', 'landlock', 'limits'];
const descriptor: readonly Guard[] = ['seccomp', 'limits'];
const [SIGCHLD, SIGSTOP, SIGCONT, SIGWINCH] = [17, 19, 18, 28];
const here = -100; // AT_FDCWD

/** With native code: any system call. */
export const nativeAttacks: readonly Attack[] = [
  {
    name: 'read the journal',
    without: files,
    run: ({ journal }, native) => demand(readAll(native, journal) === secret, 'reading'),
  },
  {
    name: 'write in the state folder',
    without: files,
    run: ({ state }, native) => open(native, `${state}/native`, 0o101),
    seen: wrote('native'),
  },
  {
    name: 'write into a file that it makes',
    without: files,
    run: ({ state }, native) => send(native, open(native, `${state}/filled`, 0o101)),
    seen: ({ state }) => fs.existsSync(`${state}/filled`) && fs.statSync(`${state}/filled`).size > 0,
  },
  {
    name: 'list the processes',
    without: files,
    run: (_, native) => must(native, 'getdents64', open(native, '/proc', 0o200000), new Uint8Array(4096), 4096),
  },
  {
    name: 'learn whether a file exists',
    without: ['seccomp'],
    run: ({ journal }, native) => must(native, 'newfstatat', here, text(journal), new Uint8Array(256), 0),
  },
  {
    name: 'change the mode of the journal',
    without: ['seccomp'],
    run: ({ journal }, native) => must(native, 'fchmodat', here, text(journal), 0o777),
    seen: ({ journal }) => (fs.statSync(journal).mode & 0o777) === 0o777,
  },
  {
    name: 'read the environment of the parent',
    without: files,
    run: ({ parent }, native) => demand(readAll(native, `/proc/${parent}/environ`).length > 0, 'reading'),
  },
  {
    name: 'open the memory of the parent',
    without: files,
    run: ({ parent }, native) => open(native, `/proc/${parent}/mem`, 2),
  },
  {
    name: 'read the memory of another child',
    without: kernel,
    run: ({ sibling, siblingStack }, native) => {
      const buffer = new Uint8Array(64);
      const own = pointers(native, buffer, 64);
      must(native, 'process_vm_readv', sibling, own, 1, pointers(native, siblingStack, 64), 1, 0);
    },
  },
  {
    name: 'trace another child',
    without: kernel,
    run: ({ sibling }, native) => must(native, 'ptrace', 0x4206, sibling, 0, 0), // PTRACE_SEIZE
  },
  {
    name: 'take a descriptor of another child',
    without: files,
    run: ({ sibling }, native) => must(native, 'pidfd_getfd', must(native, 'pidfd_open', sibling, 0), 0, 0),
  },
  {
    name: 'connect to the socket of the daemon',
    without: descriptor,
    run: ({ socket }, native) => {
      const end = must(native, 'socket', 1, 1, 0);
      const address = unixAddress(socket);
      must(native, 'connect', end, address, address.length);
      send(native, end);
    },
    seen: received,
  },
  {
    name: 'connect to a port of the loopback',
    without: files,
    run: ({ port }, native) => {
      const end = must(native, 'socket', 2, 1, 0);
      must(native, 'connect', end, loopback(port), 16);
      send(native, end);
    },
    seen: received,
  },
  {
    name: 'listen on a port',
    without: files,
    run: (_, native) => {
      const end = must(native, 'socket', 2, 1, 0);
      must(native, 'bind', end, loopback(0), 16);
      must(native, 'listen', end, 1);
    },
  },
  {
    name: 'send a datagram',
    without: descriptor,
    run: ({ port }, native) =>
      must(native, 'sendto', must(native, 'socket', 2, 2, 0), text('x'), 1, 0, loopback(port), 16),
  },
  {
    name: 'pass a descriptor to the daemon',
    without: ['seccomp'],
    run: (_, native) => {
      const control = new Uint8Array(new BigUint64Array([20n, (1n << 32n) | 1n, 3n]).buffer); // SCM_RIGHTS: 3
      const line = new TextEncoder().encode('\n');
      const message = pointers(native, 0, 0, pointers(native, line, 1), 1, control, 24, 0);
      must(native, 'sendmsg', 3, message, 0);
    },
  },
  {
    name: 'signal the parent',
    without: kernel,
    run: ({ parent }, native) => must(native, 'kill', parent, SIGWINCH),
    seen: signalled,
  },
  {
    name: 'signal the parent through a descriptor of it',
    without: files,
    run: ({ parent }, native) =>
      must(native, 'pidfd_send_signal', must(native, 'pidfd_open', parent, 0), SIGWINCH, 0, 0),
    seen: signalled,
  },
  {
    name: 'signal a thread of the parent',
    without: kernel,
    run: ({ parent }, native) => check('tgkill', native.call('tgkill', parent, parent, SIGWINCH)),
    seen: signalled,
  },
  {
    name: 'have the kernel signal the owner of a descriptor',
    without: ['seccomp'],
    run: ({ parent }, native) => must(native, 'fcntl', 3, 8, parent), // F_SETOWN
  },
  {
    name: 'stop another child',
    without: kernel,
    run: ({ sibling }, native) => must(native, 'kill', sibling, SIGSTOP),
    seen: ({ sibling }, seen) => seen.siblingState() === 'T' && process.kill(sibling, SIGCONT),
  },
  {
    name: 'slow another child down',
    without: ['seccomp'],
    run: ({ sibling }, native) => must(native, 'setpriority', 0, sibling, 19),
  },
  {
    name: 'move another child to one processor',
    without: ['seccomp'],
    run: ({ sibling }, native) =>
      must(native, 'sched_setaffinity', sibling, 8, new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0])),
  },
  {
    name: 'lower a limit of another child',
    without: ['seccomp'],
    run: ({ sibling }, native) => setLimit(native, sibling, 4, 0),
  },
  {
    name: 'set a limit of its own',
    without: ['seccomp', 'limits'],
    run: (_, native) => setLimit(native, 0, 7, 200),
  },
  {
    name: 'map more memory than it may',
    without: ['limits'],
    run: (_, native) => mapMemory(native, 2),
  },
  {
    name: 'map memory that the limit does not count',
    without: ['seccomp'],
    run: (_, native) => mapMemory(native, 1),
  },
  {
    name: 'keep memory in a file without a name',
    without: descriptor,
    run: (_, native) => must(native, 'memfd_create', text('attack'), 0),
  },
  {
    name: 'share memory with another child',
    without: ['seccomp'],
    run: (_, native) => must(native, 'shmctl', must(native, 'shmget', 0, 4096, 0o1600), 0, 0),
  },
  {
    name: 'leave a key in the keyring of the user',
    without: ['seccomp'],
    run: (_, native) => must(native, 'add_key', text('user'), text('attack'), text('x'), 1, -2), // the process keyring
  },
  {
    name: 'make a ring that does its calls for it',
    without: descriptor,
    run: (_, native) => must(native, 'io_uring_setup', 4, new Uint8Array(120)),
  },
  {
    name: 'use the ring of the event loop',
    without: ['seccomp', 'descriptors', 'limits'],
    run: (_, native) => {
      const answers = Array.from({ length: 32 }, (_, fd) => native.call(426, fd, 0, 0, 0, 0, 0));
      if (Math.max(...answers) < 0) {
        must(native, 'io_uring_enter', must(native, 'io_uring_setup', 4, new Uint8Array(120)), 0, 0, 0, 0, 0);
      }
    },
  },
  {
    name: 'make a pair of sockets',
    without: descriptor,
    run: (_, native) => must(native, 'socketpair', 1, 1, 0, new Uint8Array(8)),
  },
  {
    name: 'fork',
    without: ['seccomp'],
    run: (_, native) => {
      const child = native.call('clone', SIGCHLD, 0, 0, 0, 0);
      if (child === 0) native.exit(0);
      check('clone', child);
      must(native, 'wait4', child, null, 0, 0);
    },
  },
  {
    name: 'fork by clone3',
    without: ['seccomp'],
    run: (_, native) => {
      const wish = new Uint8Array(new BigUint64Array([0n, 0n, 0n, 0n, BigInt(SIGCHLD), 0n, 0n, 0n]).buffer);
      const child = native.call('clone3', wish, 64);
      if (child === 0) native.exit(0);
      check('clone3', child);
      must(native, 'wait4', child, new Uint8Array(8), 0, 0);
    },
  },
  {
    name: 'outlive its parent by its own wish',
    without: ['seccomp'],
    run: (_, native) => check('prctl', native.call('prctl', 1, 0)),
  },
  {
    name: 'make itself readable to others',
    without: ['seccomp'],
    run: (_, native) => check('prctl', native.call('prctl', 4, 1)),
  },
  {
    name: 'write to a descriptor that it inherited',
    without: ['descriptors'],
    swallowed: true,
    run: (_, native) => send(native, 4),
    seen: received,
  },
  {
    name: 'write to the diagnostics of the daemon',
    without: ['descriptors'],
    swallowed: true,
    run: (_, native) => send(native, 2),
    seen: received,
  },
  {
    name: 'become another program',
    without: kernel,
    alone: true,
    run: ({ state }, native) => {
      const words = ['/bin/sh', '-c', `: > "${state}/executed"`].map(text);
      must(native, 'execve', text('/bin/sh'), pointers(native, ...words, 0), pointers(native, 0));
    },
    seen: wrote('executed'),
  },
];
