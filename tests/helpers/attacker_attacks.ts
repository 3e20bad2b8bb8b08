// The attacks of a child that an attacker has full control of: its JavaScript, and native code (here: any
// system call).

import type { Attack } from './attacker_attack.ts';
import { javascriptAttacks } from './attacker_javascript.ts';
import { nativeAttacks } from './attacker_native.ts';

export const attacks: readonly Attack[] = [...nativeAttacks, ...javascriptAttacks];
