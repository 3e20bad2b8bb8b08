// Landlock: takes from the calling thread, and from every thread and process it starts afterwards, the
// folders, TCP ports, abstract sockets and signals that it was not given. Threads that run already stay
// outside (this kernel has no way to bind them): those are bound by the seccomp filter alone. Landlock does
// not cover sockets reached by a path, metadata (stat, chmod, utime) or UDP: these too are seccomp's.

import type { Native } from '../runtime/native.ts';

/** Rights on files by the version of the kernel's interface that brought them. A folder read needs `reading`. */
const fileRights = [
  { name: 'execute', bit: 1 << 0, since: 1, use: 'never' },
  { name: 'write_file', bit: 1 << 1, since: 1, use: 'writing' },
  { name: 'read_file', bit: 1 << 2, since: 1, use: 'reading' },
  { name: 'read_dir', bit: 1 << 3, since: 1, use: 'reading' },
  { name: 'remove_dir', bit: 1 << 4, since: 1, use: 'writing' },
  { name: 'remove_file', bit: 1 << 5, since: 1, use: 'writing' },
  { name: 'make_char', bit: 1 << 6, since: 1, use: 'never' },
  { name: 'make_dir', bit: 1 << 7, since: 1, use: 'writing' },
  { name: 'make_reg', bit: 1 << 8, since: 1, use: 'writing' },
  { name: 'make_sock', bit: 1 << 9, since: 1, use: 'never' },
  { name: 'make_fifo', bit: 1 << 10, since: 1, use: 'never' },
  { name: 'make_block', bit: 1 << 11, since: 1, use: 'never' },
  { name: 'make_sym', bit: 1 << 12, since: 1, use: 'writing' },
  { name: 'refer', bit: 1 << 13, since: 2, use: 'writing' },
  { name: 'truncate', bit: 1 << 14, since: 3, use: 'writing' },
  { name: 'ioctl_dev', bit: 1 << 15, since: 5, use: 'never' },
] as const;

const networkRights = 0b11; // bind and connect over TCP, since version 4
const scopes = 0b11; // abstract sockets and signals, since version 6
const askVersion = 1;
const pathBeneath = 1;
const openPath = 0x200000 | 0x80000; // O_PATH | O_CLOEXEC
const currentFolder = -100; // AT_FDCWD

export type Folders = { readonly readable: readonly string[]; readonly writable: readonly string[] };

/**
 * Restricts the calling thread to `folders` (a writable folder is readable too; both empty: no file at all).
 * The process must have set no_new_privs or be privileged. Descriptors that are open already stay usable.
 * @returns `on`, or why it is not: then nothing is restricted
 */
export function restrict({ native, readable, writable }: { native: Native } & Folders): string {
  const version = native.call('landlock_create_ruleset', null, 0, askVersion);
  if (version < 0) return `the kernel answers errno ${-version} to landlock_create_ruleset`;

  const handled = bitsOf(version, ['reading', 'writing', 'never']);
  const attributes = new BigUint64Array([
    BigInt(handled),
    BigInt(version >= 4 ? networkRights : 0),
    BigInt(version >= 6 ? scopes : 0),
  ]);
  const attributeBytes = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const ruleset = native.call('landlock_create_ruleset', new Uint8Array(attributes.buffer), attributeBytes, 0);
  if (ruleset < 0) return `the kernel answers errno ${-ruleset} to a ruleset of interface version ${version}`;

  try {
    const rules = [
      ...readable.map((path) => ({ path, rights: bitsOf(version, ['reading']) })),
      ...writable.map((path) => ({ path, rights: bitsOf(version, ['reading', 'writing']) })),
    ];
    for (const rule of rules) {
      const failure = addRule(native, ruleset, rule);
      if (failure) return failure;
    }
    const restricted = native.call('landlock_restrict_self', ruleset, 0);
    return restricted < 0 ? `the kernel answers errno ${-restricted} to landlock_restrict_self` : 'on';
  } finally {
    native.call('close', ruleset);
  }
}

function bitsOf(version: number, uses: readonly (typeof fileRights)[number]['use'][]): number {
  return fileRights.reduce(
    (bits, right) => right.since <= version && uses.includes(right.use) ? bits | right.bit : bits,
    0,
  );
}

function addRule(native: Native, ruleset: number, rule: { path: string; rights: number }): string | undefined {
  const folder = native.call('openat', currentFolder, new TextEncoder().encode(`${rule.path}\0`), openPath, 0);
  if (folder < 0) return `cannot open "${rule.path}": errno ${-folder}`;
  const attributes = new DataView(new ArrayBuffer(12)); // packed: u64 rights, i32 descriptor
  attributes.setBigUint64(0, BigInt(rule.rights), true);
  attributes.setInt32(8, folder, true);
  const added = native.call('landlock_add_rule', ruleset, pathBeneath, new Uint8Array(attributes.buffer), 0);
  native.call('close', folder);
  return added < 0 ? `the kernel answers errno ${-added} to a rule for "${rule.path}"` : undefined;
}
