import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Project, project } from '../support/project.ts';

/** Every how many changes of the disk a kill is tried; 1 tries them all. */
const STEP = Number(process.env['KILL_STEP'] ?? 11);

/** Kills its process at the KILL_AT-th change of the disk. */
const KILLER = `const fs = require('node:fs');
let left = Number(process.env.KILL_AT);
for (const name of ['writeFileSync', 'renameSync', 'mkdirSync', 'unlinkSync', 'rmdirSync', 'writeSync', 'fsyncSync', 'chmodSync']) {
  const real = fs[name];
  fs[name] = (...words) => {
    if (--left === 0) process.kill(process.pid, 'SIGKILL');
    return real(...words);
  };
}
`;

const SETTINGS = '.claude/settings.json';

function place(t: TestContext): Project {
  const p = project(t);
  p.write('../killer.cjs', KILLER);
  p.write(SETTINGS, '{\n  "model": "opus"\n}\n');
  return p;
}

/** Returns whether the command was killed. */
function killed(p: Project, command: string, at: number): boolean {
  const NODE_OPTIONS = `--require ${join(p.dir, '../killer.cjs')}`;
  const { code, stderr } = p.ralph([command], { NODE_OPTIONS, KILL_AT: String(at) });
  assert.ok(code === null || code === 0, stderr);
  return code === null;
}

/** Files and empty folders, without the manifest's folder, which only the manifest names, and without drafts. */
const left = (p: Project): string[] =>
  Object.keys(p.tree()).filter((path) => path !== '.claude/ralph/' && !path.endsWith('.tmp'));

test('after an uninit that was killed, another one removes what is left', (t) => {
  for (let at = 2; ; at += STEP) {
    const p = place(t);
    const before = left(p);
    assert.equal(p.ralph(['init']).code, 0);
    if (!killed(p, 'uninit', at)) break;
    const { code, stderr } = p.ralph(['uninit']);
    if (code !== 0) assert.match(stderr, /was not set up by init/);
    assert.deepEqual(left(p), before, `call ${at}`);
  }
});

test('control: without its manifest, an uninit leaves what another one removes', (t) => {
  const p = place(t);
  const before = left(p);
  assert.equal(p.ralph(['init']).code, 0);
  p.sh('rm .claude/ralph/.install.json');
  assert.equal(p.ralph(['uninit']).code, 1);
  assert.notDeepEqual(left(p), before);
});
