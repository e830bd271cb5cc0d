import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { acceptContract, changedContract } from '../../src/drive/start/live/accept-contract.ts';
import { readContract } from '../../src/state/loop-files.ts';
import { aStop, PERSON, type Project, put } from '../support/drive/drive-project.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { IS_LONG } from '../support/short-form.ts';
import { aProtectedLoop } from '../support/snapshot/guarded-project.ts';

const { directory, remove } = scratch('memory');
let killer: string;
before(async () => {
  killer = await bundleProgram('accept-kill', directory);
});
after(remove);

/** Every how many changes of the disk a kill is tried; 1 tries them all. */
const STEP = Number(process.env['KILL_STEP'] ?? (IS_LONG ? 9 : 16));
/** Number of changes by which a run may exceed a shorter one. */
const MOST_MORE = 100;
const DONE = { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' };
const task = (check: string): string =>
  `---\nvalidation: ["${check}"]\nguardrails: { protected_files: ["tests/**"] }\n---\n\nWork.\n`;

interface Killed {
  readonly project: Project;
  readonly passed: boolean;
  readonly isAdopted: boolean;
}

/** A user corrects a check that cannot pass and a protected file, and agrees; the process dies at its N-th change of the disk. */
function killAt(t: TestContext, n: number): Killed {
  const project = aProtectedLoop(t, task('false'));
  const before = readContract(project.files)?.hash;
  put(join(project.directory, '.claude/ralph/PROMPT.md'), task('true'));
  put(join(project.directory, 'tests/file-0.ts'), 'by hand\n');
  const words = [killer, dirname(project.directory), String(n)];
  const { stdout, signal, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  assert.ok(signal === 'SIGKILL' || stdout === 'passed\n', stderr);
  const now = readContract(project.files)?.hash;
  assert.ok(now !== undefined, `call ${n}: the contract is whole`);
  return { project, passed: stdout === 'passed\n', isAdopted: now !== before };
}

test('an accept that is killed is adopted whole or not at all, and can be repeated', async (t) => {
  const seen = { old: 0, adopted: 0 };
  let n = 1;
  while (!(await killedAndRepeated(t, n, seen))) n += STEP;
  // The new contract is written at the end: every change of the disk there is tried, or every second one. A run on a slow machine may examine
  // fewer files, and end before a later one has written the contract.
  const most = n + MOST_MORE;
  for (let last = n - STEP + 1; last < n || (seen.adopted === 0 && last < most); last += IS_LONG ? 1 : 2)
    await killedAndRepeated(t, last, seen);
  assert.ok(seen.old > 1 && seen.adopted > 0, JSON.stringify(seen));
});

/** Kills an accept at its n-th change of the disk, and repeats it unless it was adopted. Returns whether it ended before. */
async function killedAndRepeated(t: TestContext, n: number, seen: { old: number; adopted: number }): Promise<boolean> {
  const { project, passed, isAdopted } = killAt(t, n);
  if (!passed) seen[isAdopted ? 'adopted' : 'old'] += 1;
  const claimed = await aStop(project, { ...DONE, prompt_id: 'p1' });
  const text = JSON.stringify(claimed);
  assert.equal(readFileSync(join(project.directory, 'tests/file-0.ts'), 'utf8'), 'by hand\n', `call ${n}`);
  if (isAdopted) assert.match(text, /verified by 1 check/, `call ${n}`);
  else {
    assert.equal(claimed?.decision, 'block', `call ${n}: ${text}`);
    const shown = changedContract(project.files, project.env);
    acceptContract(project.files, project.env, '2026-02-28T12:00:00Z', shown, PERSON);
    const again = await aStop(project, { ...DONE, prompt_id: 'p2' });
    assert.match(JSON.stringify(again), /verified by 1 check/, `call ${n}`);
  }
  return passed;
}

test('control: a contract that is written half proves nothing', async (t) => {
  const project = aProtectedLoop(t, task('true'));
  const whole = readFileSync(project.files.contract, 'utf8');
  writeFileSync(project.files.contract, whole.slice(0, whole.length >> 1));
  assert.match(JSON.stringify(await aStop(project, DONE)), /contract\.json is incomplete/);
});
