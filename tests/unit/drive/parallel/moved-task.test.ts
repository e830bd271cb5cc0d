import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { moveTask, recoverTask } from '../../../../src/drive/plan/integrate-task.ts';
import { openTask } from '../../../../src/drive/plan/open-task.ts';
import { type PartPlace, type PlanPlace, readMain } from '../../../../src/drive/plan/plan-place.ts';
import type { OpenTask } from '../../../../src/drive/records/open-task-file.ts';
import { beginPlanRecords, readOpenTask, writeOpenTask } from '../../../../src/drive/records/open-task-file.ts';
import { listEvidence, lostBy } from '../../../../src/state/evidence/evidence.ts';
import { beginEvidence } from '../../../../src/state/evidence/store-evidence.ts';
import { removeIfThere } from '../../../../src/state/files/regular-file.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { buildContract } from '../../../../src/task/settings/build-contract.ts';
import { terms } from '../../../support/contract-terms.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { ENV, git, repository } from '../../../support/repository.ts';

/** A task's work in a worktree, whose move to the later tip of the plan's branch ended before it moved anything. */
async function cutMove(t: TestContext) {
  const mainDir = repository(t, {
    'PLAN.md': '- [ ] **Task 1: Make a**\n  - Acceptance:\n    - It is made\n',
    'src/a.ts': 'a\n',
  });
  const directory = join(emptyFolder(t), 'part');
  git(mainDir, 'worktree', 'add', '-q', '-b', 'part', directory);
  const env: Record<string, string | undefined> = { ...ENV, XDG_STATE_HOME: emptyFolder(t) };
  const files = loopFiles(directory, null, env);
  beginEvidence(files, 'loop-1');
  beginPlanRecords(files, 'loop-1', true, null);
  const { contract: made } = buildContract(terms(directory, [], { taskPath: 'PLAN.md' }));
  const contract = { ...made, evidence: listEvidence(files, 'loop-1') };
  const branch = git(mainDir, 'symbolic-ref', '--short', 'HEAD').trim();
  const signal = new AbortController().signal;
  const part = { task: '1', mainDir, branch, done: 0 };
  const place = { files, env, contract, part, signal, now: () => '2026-02-28T10:00:00Z' } as unknown as PartPlace;
  const commit = git(directory, 'rev-parse', 'HEAD').trim();
  const plan = readFileSync(join(directory, 'PLAN.md'), 'utf8');
  const task: OpenTask = {
    loopId: 'loop-1',
    id: '1',
    title: 'Make a',
    text: '',
    scope: [],
    planPath: 'PLAN.md',
    progressPath: 'PROGRESS.md',
    commit,
    branch: 'part',
    dirty: [],
    plan,
    progress: null,
  };
  writeOpenTask(files, task);
  writeFileSync(join(directory, 'made.ts'), 'work\n');
  writeFileSync(join(mainDir, 'later.ts'), 'later\n');
  git(mainDir, 'add', 'later.ts');
  git(mainDir, 'commit', '-q', '-m', 'Later');
  const bin = emptyFolder(t);
  const cut = 'case " $* " in *" --soft "*) echo cut >&2; exit 1;; esac';
  writeFileSync(join(bin, 'git'), `#!/bin/sh\n${cut}\nPATH='${env['PATH']}' exec git "$@"\n`, { mode: 0o755 });
  const cutting = { ...place, env: { ...env, PATH: `${bin}${delimiter}${env['PATH']}` } };
  await assert.rejects(moveTask(cutting, task, readMain(place), ['made.ts']), /cut/);
  const stands = () => ({
    head: git(directory, 'rev-parse', 'HEAD').trim(),
    later: existsSync(join(directory, 'later.ts')),
    made: readFileSync(join(directory, 'made.ts'), 'utf8'),
  });
  return { place, files, contract, commit, tip: git(mainDir, 'rev-parse', 'HEAD').trim(), stands };
}

test('a move of a task that was cut is repeated from what the open task says', async (t) => {
  const { place, files, contract, commit, tip, stands } = await cutMove(t);
  assert.equal(readOpenTask(files, contract)?.move?.main.tip, tip);
  assert.deepEqual(stands(), { head: commit, later: false, made: 'work\n' }, 'control: nothing was moved yet');
  assert.equal(await recoverTask(place), null);
  assert.deepEqual(stands(), { head: tip, later: true, made: 'work\n' });
  const open = readOpenTask(files, contract);
  assert.deepEqual([open?.commit, open?.openedAt, open?.move], [tip, commit, undefined]);
});

test('a move that another program wrote into the open task is named as lost, and moves nothing', async (t) => {
  const { place, files, commit, tip, stands } = await cutMove(t);
  writeFileSync(files.openTask, readFileSync(files.openTask, 'utf8').replaceAll(tip, commit));
  await assert.rejects(recoverTask(place), (error) => {
    assert.deepEqual(lostBy(error), { path: files.openTask, why: 'edited' });
    return true;
  });
  assert.deepEqual(stands(), { head: commit, later: false, made: 'work\n' });
});

test('a task that was not stored before a kill is counted from the tip to which its worktree then moves', async (t) => {
  const { place, files, contract, commit, tip } = await cutMove(t);
  // Engine and worktree stand at the start, and nothing says that the task is open.
  removeIfThere(files.openTask);
  beginPlanRecords(files, 'loop-1', true, null);
  const current = { id: '1', title: 'Make a', commit };
  const plan = { current, done: [], attempts: 0, blocked: null, report: null };
  const evidence = listEvidence(files, 'loop-1');
  const opening = { ...place, contract: { ...contract, evidence }, state: () => ({ plan }), dispatch: () => [] };
  await openTask(opening as unknown as PlanPlace);
  const open = readOpenTask(files, { ...contract, evidence });
  assert.deepEqual([open?.id, open?.commit, open?.openedAt], ['Task 1', tip, commit]);
});
