import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { acceptContract, changedContract } from '../../../src/drive/start/live/accept-contract.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { killAtChange } from './faulty-fs.ts';

/**
 * Adopts the changed contract of a loop as its user would, and kills itself in place of the N-th change of the disk.
 * Usage: accept-kill.cjs FOLDER N
 */
const [folder = '', n = ''] = process.argv.slice(2);
const directory = join(folder, 'project');
const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'outside'), CLAUDE_PROJECT_DIR: directory };
const files = loopFiles(directory, null, env);
const shown = changedContract(files, env);
killAtChange(Number(n), () =>
  acceptContract(files, env, '2026-02-28T11:00:00Z', shown, { terminal: '/dev/pts/9', processes: ['sh (7)'] }),
);
writeSync(1, 'passed\n');
