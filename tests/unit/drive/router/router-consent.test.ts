import assert from 'node:assert/strict';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { giveConsent, pendingTerms } from '../../../../src/drive/start/live/consent.ts';
import { AT, aProject, put, rewrite, stateOf, UNASKED } from '../../../support/drive/drive-project.ts';
import { called, goneClient, host, spawned, startedRouter } from '../../../support/drive/router-project.ts';

const CHECKED = '---\nvalidation:\n  - test -f done\n---\n\nDo the work.\n';

test('a loop that runs no command needs no consent', async (t) => {
  const project = aProject(t);
  startedRouter(project, { consented: false });
  assert.equal((await spawned(project)).spawn, 1);
});

test('everything that a loop would run needs consent, however long it has been there', async (t) => {
  const scripted = '---\nvalidation:\n  - sh check.sh\n---\n\nDo the work.\n';
  for (const task of [CHECKED, scripted]) {
    const project = aProject(t, task);
    put(join(project.directory, 'check.sh'), 'true\n');
    for (const path of ['.claude/ralph/PROMPT.md', 'check.sh']) utimesSync(join(project.directory, path), 0, 0);
    startedRouter(project, { consented: false });
    assert.equal(stateOf(project).status, 'awaiting-consent');
  }
  const byUser = aProject(t, CHECKED);
  startedRouter(byUser);
  assert.equal(stateOf(byUser).status, 'running', 'control');
});

test('settings from the command line need consent even where nothing runs, because a resume keeps them', async (t) => {
  const project = aProject(t);
  for (const flags of [{ agent: 'touch evil' }, { worktree_setup: 'touch evil' }, { 'idle.delay': '1s' }]) {
    startedRouter(project, { consented: false, existing: 'fresh', flags });
    assert.equal(stateOf(project).status, 'awaiting-consent', JSON.stringify(flags));
  }
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && /its start set idle\.delay=1s\./.test(wait.message), JSON.stringify(wait));
  startedRouter(project, { consented: false, existing: 'fresh', flags: { max_iterations: '3' } });
  assert.equal(stateOf(project).status, 'running');
});

test('without consent the host waits and sees what would run; with consent the loop continues', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project, { consented: false });
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && wait.why === 'awaiting-consent', JSON.stringify(wait));
  assert.deepEqual(wait.commands, ['test -f done']);
  assert.match(wait.message, /main\.cjs start --consent/);
  assert.equal((await called(project, { text: 'Work.' })).action, 'wait');
  giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
  assert.equal((await spawned(project)).iteration, 1);
});

test('a call that may wait answers as soon as the user has agreed, whatever happens to the task meanwhile', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project, { consented: false });
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && /--wait 12h, and end your turn/.test(wait.next), JSON.stringify(wait));
  const answer = called(project, null, { sitUntil: Date.now() + 600_000 });
  put(join(project.directory, '.claude/ralph/PROMPT.md'), CHECKED.replace('Do', 'Go on and do'));
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 700, 'it waits'))]);
  assert.equal(early, 'it waits', 'control: not before');
  giveConsent(project.files, project.env, AT, pendingTerms(project.files), UNASKED);
  assert.equal((await answer).action, 'spawn');
});

test('its own session may ask for different settings before anything has begun', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project, { consented: false });
  await called(project);
  const { loopId } = stateOf(project);
  put(join(project.directory, '.claude/ralph/PROMPT.md'), 'Nothing to run.\n');
  assert.equal(startedRouter(project, { consented: false }), null, 'a plain start goes on with what lies there');
  assert.ok(startedRouter(project, { consented: false, existing: 'fresh' }) !== null);
  assert.notEqual(stateOf(project).loopId, loopId);
  assert.equal((await spawned(project)).iteration, 1);
});

test('what an agent resumes awaits consent in any case', async (t) => {
  const project = aProject(t, '---\nmax_iterations: 1\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  assert.equal((await called(project, { spawn: 1, text: 'One.' })).action, 'stop');
  startedRouter(project, { consented: false, existing: 'resume', flags: { max_iterations: '5' } });
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && wait.why === 'awaiting-consent', JSON.stringify(wait));
});

test('refuses a start on another task of the same session by name', async (t) => {
  const project = aProject(t);
  put(join(project.directory, 'OTHER.md'), 'Other work.\n');
  startedRouter(project);
  await spawned(project);
  assert.throws(() => startedRouter(project, { task: 'OTHER.md' }), /OTHER\.md is another task/);
  assert.equal(startedRouter(project), null);
});

test('refuses a start over the live loop of the same session that asks for other settings, and names them', async (t) => {
  const project = aProject(t);
  startedRouter(project, { flags: { max_iterations: '5' } });
  await spawned(project);
  assert.equal(startedRouter(project, { flags: { max_iterations: '5' } }), null, 'the same call once more');
  assert.equal(startedRouter(project, { flags: { max_iterations: '5' }, existing: 'fresh' }), null, 'no work is done');
  assert.equal(startedRouter(project, { existing: 'resume' }), null);
  const resumed = { existing: 'resume', flags: { max_iterations: '9', 'idle.delay': '1s' } } as const;
  assert.throws(() => startedRouter(project, resumed), /cannot be applied: max_iterations, idle\.delay/);
  await spawned(project, { spawn: 1, text: 'One.' });
  assert.throws(() => startedRouter(project, { existing: 'fresh' }), /cannot be applied: --fresh/);
  assert.equal(stateOf(project).maxIterations, 5);
});

test('the session that starts it takes up a loop that a user prepared at a terminal', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project);
  const { loopId } = stateOf(project);
  assert.throws(() => startedRouter(project, { consented: false, flags: { agent: 'x' } }), /cannot be applied: agent/);
  assert.equal(startedRouter(project, { consented: false }), null);
  const first = await spawned(project);
  assert.deepEqual([first.spawn, first.loopId], [1, loopId]);
});

test('refuses a start over the loop of a session that is gone, with the ways to continue as a router', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, await goneClient());
  const env = { ...project.env, ...host('host-2') };
  assert.throws(() => startedRouter(project, { consented: false, env }), /router next.*router start --fresh/);
  assert.ok(startedRouter(project, { consented: false, env, existing: 'fresh' }) !== null);
});

test('an agent neither archives nor resumes a loop whose holder cannot be seen from here; the user may', async (t) => {
  const project = aProject(t);
  // No process of this test has that number: it stands for the client of a sandbox.
  const sandboxed = host('host-1', null);
  startedRouter(project, { env: { ...project.env, ...sandboxed } });
  await spawned(project, null, { env: sandboxed });
  const { loopId } = stateOf(project);
  const other = { ...project.env, ...host('host-2', null) };
  for (const existing of ['fresh', 'resume', 'refuse'] as const) {
    assert.equal(startedRouter(project, { consented: false, existing, env: other }), null, existing);
  }
  const answer = await called(project, null, { env: host('host-2', null) });
  assert.ok(answer.action === 'stop' && answer.status === 'busy', JSON.stringify(answer));
  assert.equal(stateOf(project).loopId, loopId);
  assert.ok(startedRouter(project, { existing: 'fresh', env: other }) !== null);
  assert.notEqual(stateOf(project).loopId, loopId);
});
