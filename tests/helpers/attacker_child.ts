// The child of the attack tests: locks itself up as a real one does, then does what the attacker wants.
// Tells the test on descriptor 3, a line of JSON each: the report, then the outcome of every attack.

import fs from 'node:fs';
import type { Folders } from '../../src/child/landlock.ts';
import { lockDown, type LockdownPart } from '../../src/child/lockdown.ts';
import { openNative } from '../../src/runtime/native.ts';
import type { Target } from './attacker_attack.ts';
import { attacks } from './attacker_attacks.ts';
import { doings } from './attacker_doings.ts';

export type AttackerOrders = {
  readonly parentPid: number;
  readonly koffi: readonly string[];
  readonly parts: readonly LockdownPart[];
  readonly folders?: Folders;
  readonly attacks: readonly string[];
  readonly target: Target;
};

export type AttackerLine = { readonly attack: string; readonly refusal: string | null };

const orders: AttackerOrders = JSON.parse(process.argv[2]!);
const native = openNative({ koffi: orders.koffi });
const { parentPid, parts, folders } = orders;
const report = lockDown({
  native,
  parentPid,
  keep: [3],
  parts,
  limits: { dataBytes: 2 ** 30 },
  ...(folders && { folders }),
});
tell({ report });

for (const attack of [...attacks, ...doings(tell, parentPid)].filter(({ name }) => orders.attacks.includes(name))) {
  let refusal: string | null = null;
  try {
    const answer = attack.run(orders.target, native);
    if (answer instanceof Promise) await answer;
  } catch (error) {
    refusal = (error as Error).message;
  }
  tell({ attack: attack.name, refusal });
}
native.exit(0);

function tell(line: unknown): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  for (let offset = 0; offset < bytes.length;) offset += fs.writeSync(3, bytes, offset);
}
