import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { examineWork } from '../../../../src/drive/plan/examine-work.ts';
import type { PlanPlace } from '../../../../src/drive/plan/plan-place.ts';
import { beginPlanRecords, readOpenTask, writeOpenTask } from '../../../../src/drive/records/open-task-file.ts';
import { appendEvent } from '../../../../src/state/event-stream.ts';
import { listEvidence } from '../../../../src/state/evidence/evidence.ts';
import { beginEvidence } from '../../../../src/state/evidence/store-evidence.ts';
import { loopFiles, makeRuntimeDir } from '../../../../src/state/loop-files.ts';
import { buildContract } from '../../../../src/task/settings/build-contract.ts';
import { terms } from '../../../support/contract-terms.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { ENV, git, repository } from '../../../support/repository.ts';

const PLAN = '- [ ] **Task 1: Make a**\n  - Scope: src\n  - Acceptance: it is made\n';
const MINUTE = 60_000;

/** A task of a plan that is at work: its agent has made `src/a.ts`. `agent`: a command, which reports no calls. */
function atWork(t: TestContext, agent?: string) {
  const dir = repository(t, { 'PLAN.md': PLAN, 'README.md': 'read\n' });
  const env = { ...ENV, XDG_STATE_HOME: emptyFolder(t) };
  const files = loopFiles(dir, null, env);
  makeRuntimeDir(files);
  beginEvidence(files, 'loop-1');
  beginPlanRecords(files, 'loop-1', true, null);
  const { contract: made } = buildContract({ ...terms(dir, [], { taskPath: 'PLAN.md' }), loopId: 'loop-1' });
  const contract = { ...made, ...(agent !== undefined && { agent }), evidence: listEvidence(files, 'loop-1') };
  const [commit, branch] = ['HEAD', '--abbrev-ref HEAD'].map((of) => git(dir, 'rev-parse', ...of.split(' ')).trim());
  const of = { loopId: 'loop-1', id: 'Task 1', title: 'Make a', text: PLAN, scope: ['src'], dirty: [], progress: null };
  const baseline = [{ name: 'made', outcome: 'failed' as const }];
  const where = { planPath: 'PLAN.md', progressPath: 'PLAN.progress.md', commit: commit ?? '', branch: branch ?? '' };
  writeOpenTask(files, { ...of, ...where, baseline: baseline as never, plan: PLAN });
  const state = () => ({ plan: { current: null, done: [], attempts: 0, blocked: null, report: null } });
  const signal = new AbortController().signal;
  const place = { files, env, contract, signal, state, now: () => '2026-02-28T10:00:00Z' } as unknown as PlanPlace;
  const write = (path: string, text: string): void => writeFileSync(join(dir, path), text);
  const commits = (path: string, text: string): string => {
    write(path, text);
    git(dir, 'add', path);
    git(dir, 'commit', '-q', '-m', `Change ${path}`);
    return git(dir, 'rev-parse', 'HEAD').trim();
  };
  const event = (type: string, at: number): void =>
    appendEvent(files, { type, at: new Date(at).toISOString(), loopId: 'loop-1', callId: 'one', tool: 'Bash' });
  /** A call of the agent that ended before `ago`, or runs. */
  const called = (ago: number | null): void => {
    event('iteration.started', Date.now() - 3 * MINUTE);
    event('tool.asked', Date.now() - 2 * MINUTE);
    if (ago !== null) event('tool.done', Date.now() - ago);
  };
  const open = () => readOpenTask(files, contract);
  const examined = async () => {
    const task = open();
    assert.ok(task);
    return examineWork(place, task);
  };
  git(dir, 'config', 'gc.auto', '0');
  return { dir, commit, write, commits, called, examined, open, head: () => git(dir, 'rev-parse', 'HEAD').trim() };
}

test('a commit that the user makes while no call runs stays, and its task begins behind it', async (t) => {
  const { commit, commits, write, called, examined, open, head } = atWork(t);
  called(MINUTE);
  const users = commits('README.md', 'read more\n');
  write('PLAN.md', PLAN);
  const { task, results, changes, notes } = await examined();
  assert.deepEqual([results, changes, head()], [[], [], users]);
  assert.match(
    notes.join('\n'),
    /^1 commit made during Task 1 by no call of its agent was kept: \S+ Change README\.md\.$/,
  );
  assert.deepEqual([task.commit, task.openedAt, task.baseline], [users, commit, undefined]);
  assert.equal(open()?.commit, users, 'also for the process that goes on after a kill');
});

test('control: a commit that a call can have made is folded, whatever date it names, and named', async (t) => {
  for (const [what, ago, agent] of [
    ['no call', undefined],
    ['running call', null],
    ['command agent', MINUTE, 'agent.sh'],
  ] as const) {
    const { commit, commits, called, examined, head } = atWork(t, agent);
    if (ago !== undefined) called(ago);
    commits('README.md', 'read more\n');
    const { task, results, changes, notes } = await examined();
    assert.deepEqual([task.commit, changes, head()], [commit, ['README.md'], commit], what);
    assert.deepEqual(
      results.map(({ name }) => name),
      ['scope'],
    );
    assert.match(
      notes.join('\n'),
      /1 commit made during Task 1 was folded into the loop's commit: \S+ Change README\.md\./,
    );
  }
});

test('what the user writes outside the scope while no call runs is no work of the task', async (t) => {
  const { write, called, examined, open } = atWork(t);
  called(MINUTE);
  write('README.md', 'read more\n');
  write('notes.txt', 'mine\n');
  const { results, changes } = await examined();
  assert.deepEqual([results, changes, open()?.strayed], [[], [], undefined]);
});

test('control: what a call can have written outside the scope fails the task, and may be put back', async (t) => {
  const { write, called, examined, open } = atWork(t);
  called(null);
  write('README.md', 'read more\n');
  write('notes.txt', 'mine\n');
  const { results, changes } = await examined();
  assert.deepEqual([results.map(({ name }) => name), changes], [['scope'], ['README.md', 'notes.txt']]);
  assert.deepEqual(open()?.strayed, changes);
});

test('a new file whose name is not UTF-8 fails the attempt, which could not be committed', async (t) => {
  const { dir, called, write, examined } = atWork(t);
  called(MINUTE);
  mkdirSync(join(dir, 'src'), { recursive: true });
  for (const name of ['ü.ts', '\ufffd.ts']) write(`src/${name}`, 'made\n');
  assert.deepEqual((await examined()).results, [], 'control');
  const named = Buffer.concat([Buffer.from(`${dir}/src/1-`), Buffer.from([0xff])]);
  writeFileSync(named, 'made\n');
  const { results } = await examined();
  assert.deepEqual(
    results.map(({ name }) => name),
    ['names'],
  );
  assert.match(results[0]?.detail ?? '', /not UTF-8.*: src\/1-\ufffd\. Rename new files, and restore others\.$/);
});
