import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { restoreProtected } from '../../../src/drive/control/restore-protected.ts';
import { loopFiles, readContract, readState } from '../../../src/state/loop-files.ts';
import { killAtChange } from './faulty-fs.ts';

/**
 * Puts the protected files of a project back and kills itself in place of the N-th change of the disk.
 * Usage: restore-kill.cjs FOLDER N
 */
const [folder = '', n = ''] = process.argv.slice(2);
const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'outside') };
const files = loopFiles(join(folder, 'project'), null, env);
const contract = readContract(files)?.contract;
const current = readState(files.state);
if (contract === undefined || current.kind !== 'loop') throw new Error('there is no loop');
const { state } = current;
killAtChange(Number(n), () =>
  restoreProtected(
    { files, env, now: () => new Date().toISOString() },
    {
      ...{ state, contract, depth: 'stamps', mayBeAgents: () => true },
      found: { when: 'call', tool: 'Bash', callId: 'killed' },
    },
  ),
);
writeSync(1, 'passed\n');
