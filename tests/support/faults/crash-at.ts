import { writeSync } from 'node:fs';
import { withFaults, writeOnly } from './faulty-fs.ts';
import { OPERATIONS } from './operations.ts';

/**
 * Does an operation and kills itself with SIGKILL in place of its N-th file system call; a write is cut in the middle.
 * Usage: crash-at.cjs OPERATION DIRECTORY N
 */
const [operation = '', directory = '', n = ''] = process.argv.slice(2);
let calls = 0;
withFaults(
  (name, real, parameters) => {
    calls += 1;
    if (calls !== Number(n)) return real();
    if (name === 'writeSync') writeOnly((length) => length >> 1)(name, real, parameters);
    process.kill(process.pid, 'SIGKILL');
  },
  () => OPERATIONS[operation]?.(directory),
);
writeSync(1, 'passed\n');
