import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Project } from '../project.ts';

/** Kills its process at the KILL_AT-th change of the disk. */
const KILLER = `const fs = require('node:fs');
let left = Number(process.env.KILL_AT);
for (const name of ['writeFileSync', 'renameSync', 'mkdirSync', 'unlinkSync', 'rmdirSync', 'writeSync', 'fsyncSync', 'chmodSync', 'linkSync', 'appendFileSync', 'cpSync', 'rmSync']) {
  const real = fs[name];
  fs[name] = (...words) => {
    if (--left === 0) process.kill(process.pid, 'SIGKILL');
    return real(...words);
  };
}
`;

/** Runs a command that is killed at its N-th change of the disk. Returns whether it was. */
export function isKilledAt(p: Project, words: readonly string[], at: number): boolean {
  p.write('../killer.cjs', KILLER);
  const NODE_OPTIONS = `--require ${join(p.dir, '../killer.cjs')}`;
  const { code, stderr } = p.ralph([...words], { NODE_OPTIONS, KILL_AT: String(at) });
  assert.ok(code === null || code === 0, stderr);
  return code === null;
}
