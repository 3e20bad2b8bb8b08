// A parent that is killed: starts an attacker that shares its descriptor 3 with the test, and waits.

import { startAttacker } from './attacker_world.ts';

const options: Parameters<typeof startAttacker>[0] = JSON.parse(process.argv[2]!);
startAttacker({ ...options, pipe: 3 });
