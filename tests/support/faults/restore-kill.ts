import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { restoreProtected } from '../../../src/drive/control/restore-protected.ts';
import { loopFiles, readContract, readState } from '../../../src/state/loop-files.ts';
import { withFaults, writeOnly } from './faulty-fs.ts';

/**
 * Puts the protected files of a project back and kills itself with SIGKILL in place of the N-th call that changes the
 * disk; a write is cut in the middle. Usage: restore-kill.cjs FOLDER N
 */
const CHANGES = new Set(
  'fchmodSync fsyncSync futimesSync linkSync mkdirSync openSync renameSync symlinkSync unlinkSync writeSync'.split(' '),
);
const [folder = '', n = ''] = process.argv.slice(2);
const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'outside') };
const files = loopFiles(join(folder, 'project'), null, env);
const contract = readContract(files)?.contract;
const current = readState(files.state);
if (contract === undefined || current.kind !== 'loop') throw new Error('there is no loop');
const { state } = current;
let calls = 0;
withFaults(
  (name, real, parameters) => {
    if (CHANGES.has(name)) calls += 1;
    if (!CHANGES.has(name) || calls !== Number(n)) return real();
    if (name === 'writeSync') writeOnly((length) => length >> 1)(name, real, parameters);
    process.kill(process.pid, 'SIGKILL');
  },
  () =>
    restoreProtected(
      { files, env, now: () => new Date().toISOString() },
      {
        ...{ state, contract, depth: 'stamps', mayBeAgents: () => true },
        found: { when: 'call', tool: 'Bash', callId: 'killed' },
      },
    ),
);
writeSync(1, 'passed\n');
