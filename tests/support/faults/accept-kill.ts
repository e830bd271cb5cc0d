import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { acceptContract, changedContract } from '../../../src/drive/start/live/accept-contract.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { withFaults, writeOnly } from './faulty-fs.ts';

/**
 * Adopts the changed contract of a loop as its user would, and kills itself with SIGKILL in place of the N-th call that
 * changes the disk; a write is cut in the middle. Usage: accept-kill.cjs FOLDER N
 */
const CHANGES = new Set(
  'appendFileSync fsyncSync linkSync mkdirSync openSync renameSync rmSync symlinkSync unlinkSync writeFileSync writeSync'.split(
    ' ',
  ),
);
const [folder = '', n = ''] = process.argv.slice(2);
const directory = join(folder, 'project');
const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'outside'), CLAUDE_PROJECT_DIR: directory };
const files = loopFiles(directory, null, env);
const shown = changedContract(files, env);
let calls = 0;
withFaults(
  (name, real, parameters) => {
    if (CHANGES.has(name)) calls += 1;
    if (!CHANGES.has(name) || calls !== Number(n)) return real();
    if (name === 'writeSync') writeOnly((length) => length >> 1)(name, real, parameters);
    process.kill(process.pid, 'SIGKILL');
  },
  () => acceptContract(files, env, '2026-02-28T11:00:00Z', shown, { terminal: '/dev/pts/9', processes: ['sh (7)'] }),
);
writeSync(1, 'passed\n');
