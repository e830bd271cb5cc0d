import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commandHere } from '../support/command-here.ts';
import { MAKES, planProject, planText } from '../support/plan-beside.ts';

const BLOCKED = `[ $id = 2 ] && { echo 'Blockers: the export is missing.'; exit 0; }\n${MAKES}`;
const RUNTIME = '.claude/context/runtime';

test('archive and prune take a run over a plan with its loops as one thing, and name what stays', async (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }]), BLOCKED);
  const run = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(run.code, 3, run.stderr);
  assert.doesNotMatch(run.stderr, /Every check passes already/, 'each task of a plan has evidence of its own');
  assert.match((await commandHere(p, ['status'])).stdout, /^Task 2 .*blocked.*\n {4}the export is missing\.?$/m);
  const archived = await commandHere(p, ['archive', 'PLAN.md']);
  assert.match(
    archived.stdout,
    /^Archived Plan: 1 of 2 tasks done\. It can no longer be resumed; ralph\/PLAN-Task-2 and its worktree stay\.$/m,
  );
  const listed = async (): Promise<string> => (await commandHere(p, ['archive'])).stdout;
  assert.match(await listed(), /-blocked\.json .* 1 of 2 tasks .*Plan: /);
  const kept = (): string => p.sh(`ls ${RUNTIME}/worktrees`).stdout;
  assert.match(kept(), /^PLAN-Task-1-/m);
  const young = await commandHere(p, ['archive', '--prune', '1d']);
  assert.match(young.stdout, /^No archived state of the default loop, and no run, is older than 1d\.$/m);
  const refused = await commandHere(p, ['archive', '--prune', '0s']);
  assert.match(refused.stderr, /Removing 1 run with 1 loop needs a terminal, or --yes\./);
  assert.match(await listed(), /1 of 2 tasks/, 'control: nothing is removed without a yes');
  const runs = `${RUNTIME}/ralph-runs`;
  const [record = ''] = p.sh(`ls ${runs}`).stdout.split('\n');
  const known = p.read(`${runs}/${record}`);
  p.write(`${runs}/${record}`, known.replaceAll(/"loopId": "[^"]*"/g, '"loopId": null'));
  assert.match((await commandHere(p, ['archive', '--prune', '0s', '--yes'])).stdout, /^Removed 1 run\b/);
  assert.match(kept(), /^PLAN-Task-1-/m, 'of a run whose record does not name its loops, the folders stay');
  p.write(`${runs}/${record}`, known);
  const refs = (): string[] => p.git("for-each-ref --format='%(refname)' refs/ralph-loop").split('\n').filter(Boolean);
  const recorded = refs();
  const pruned = await commandHere(p, ['archive', '--prune', '0s', '--yes']);
  assert.equal(pruned.stderr, '');
  assert.ok(refs().length > 0 && refs().length < recorded.length, 'of the loop that was removed alone');
  assert.equal(
    pruned.stdout.trim(),
    'Removed 1 run with 1 loop. The worktree PLAN-Task-2 and the work on its branch stay.',
  );
  assert.doesNotMatch(await listed(), /tasks/);
  assert.equal(kept(), '');
  assert.ok(p.has('.ralph/worktrees/PLAN-Task-2/PLAN.md'));
  assert.match(p.git('branch --list ralph/*'), /ralph\/PLAN-Task-2/);
});

test('prune also removes what is recorded elsewhere of a loop whose worktree was removed by hand', async (t) => {
  const p = planProject(t, planText([{ id: 1 }]));
  p.write('.ralph/job/task.md', 'Work.\n');
  const run = p.ralph(['run', 'job', '--parallel', '1', '--max-iterations', '1', '--agent', 'true']);
  assert.equal(run.code, 2, run.stderr);
  await commandHere(p, ['archive', '--yes']);
  const refs = (): string => p.git('for-each-ref refs/ralph-loop');
  const { outsideDir } = loopFiles(join(p.dir, '.ralph/worktrees/job'), 'job', p.env);
  p.git('worktree remove --force .ralph/worktrees/job');
  assert.notEqual(refs(), '', 'control: something was recorded');
  assert.ok(existsSync(outsideDir), 'control: also outside the project, with commands as the user wrote them');
  const pruned = await commandHere(p, ['archive', '--prune', '0s', '--yes']);
  assert.deepEqual([refs(), pruned.stderr, existsSync(outsideDir)], ['', '', false]);
});
