import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identityOf } from '../../../../src/state/process/identity.ts';
import { aProject, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';
import { called, goneClient, host, spawned, startedRouter } from '../../../support/drive/router-project.ts';

/** A process that lives and is no ancestor of ours: another session's client. */
const OTHER = { clientPid: 1, clientStartedAt: identityOf(1).startedAt };

test('another session learns who is busy, and the loop does not change', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, OTHER);
  const before = stateOf(project);
  const told = { spawn: 1, text: 'Mine.' };
  for (const report of [null, told]) {
    const answer = await called(project, report, { env: host('host-2') });
    assert.ok(answer.action === 'stop' && answer.status === 'busy', JSON.stringify(answer));
    assert.deepEqual(answer.holder, { sessionId: 'host-1', pid: 1 });
  }
  assert.deepEqual(stateOf(project), before);
});

test('the same session in a second process is busy while the first one lives', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, OTHER);
  const answer = await called(project);
  assert.ok(answer.action === 'stop' && answer.status === 'busy', JSON.stringify(answer));
});

test('takes over the loop of a client that is gone and hands out its work again', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  await spawned(project, { spawn: 1, text: 'One.' });
  rewrite(project, await goneClient());
  const { epoch } = stateOf(project);
  const taken = await spawned(project, null, { env: host('host-2') });
  assert.deepEqual([taken.spawn, taken.iteration], [3, 2]);
  assert.match(taken.notes.join(), /Took over the loop/);
  assert.deepEqual([stateOf(project).sessionId, stateOf(project).epoch], ['host-2', epoch + 1]);
  const again = await spawned(project, null, { env: host('host-2') });
  assert.deepEqual([again.spawn, again.notes], [3, []], 'taken over once');
});

test('ignores a report for the previous holder that reaches the new one', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, await goneClient());
  const { notes } = await spawned(project, { spawn: 1, text: 'Of the dead.' }, { env: host('host-2') });
  assert.equal(stateOf(project).iteration, 0);
  assert.match(notes.join(), /Spawn 1 was counted or reassigned/);
});

/** A script, or a person at a terminal. */
const SCRIPT = { CLAUDECODE: '', CLAUDE_CODE_SESSION_ID: '' };

test("counts a report although each call of a script is a process of its own, up to the loop's end", async (t) => {
  const project = aProject(t, '---\nmax_iterations: 2\n---\n\nDo the work.\n');
  startedRouter(project, { env: { ...project.env, ...SCRIPT } });
  const first = await spawned(project, null, { env: SCRIPT });
  const leave = async (): Promise<void> => rewrite(project, { sessionId: 'terminal-1', ...(await goneClient()) });
  await leave();
  const again = await spawned(project, null, { env: SCRIPT });
  assert.deepEqual([again.spawn, again.prompt], [first.spawn, first.prompt], 'the same piece of work');
  await leave();
  const next = await spawned(project, { spawn: 1, text: 'One.' }, { env: SCRIPT });
  assert.deepEqual([next.spawn, next.iteration, stateOf(project).iteration], [2, 2, 1]);
  assert.match(next.notes.join(), /this one continues its assignment/);
  await leave();
  const end = await called(project, { spawn: 2, text: 'Two.' }, { env: SCRIPT });
  assert.ok(end.action === 'stop' && end.status === 'max-iterations', JSON.stringify(end));
});

test("a script that takes over from a client’s session is given that session's work again", async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, await goneClient());
  const taken = await spawned(project, { spawn: 1, text: 'Of the dead.' }, { env: SCRIPT });
  assert.deepEqual([taken.spawn, stateOf(project).iteration], [2, 0]);
});

test('after /clear the same client continues its loop under a new session', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const { epoch } = stateOf(project);
  const after = await spawned(project, null, { env: host('host-1-cleared') });
  assert.deepEqual([after.spawn, stateOf(project).epoch], [1, epoch]);
  await spawned(project, { spawn: 1, text: 'One.' }, { env: host('host-1-cleared') });
  assert.equal(stateOf(project).iteration, 1);
});

test('a client that does not name its process is identified by its session alone', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project, null, { env: host('host-1', null) });
  const other = await called(project, null, { env: host('host-2', null) });
  assert.ok(other.action === 'stop' && other.status === 'busy', JSON.stringify(other));
  assert.equal((await spawned(project, null, { env: host('host-1', null) })).spawn, 1);
});

test('a session that cannot see its own client takes nothing over', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, await goneClient());
  // As in a sandbox: the number that the client names is no ancestor here.
  const answer = await called(project, null, { env: host('host-2', 1) });
  assert.ok(answer.action === 'stop' && answer.status === 'busy', JSON.stringify(answer));
  assert.match(answer.message, /the user can resume in a terminal: ralph-loop resume/);
});

test('its own session, seen from a sandbox, keeps the loop and the known process', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const { clientPid } = stateOf(project);
  assert.equal(clientPid, process.ppid);
  await spawned(project, { spawn: 1, text: 'One.' }, { env: host('host-1', 1) });
  assert.deepEqual([stateOf(project).clientPid, stateOf(project).iteration], [clientPid, 1]);
});

test('leaves a loop of the Stop hook alone', async (t) => {
  const project = aProject(t);
  start(project, true);
  const before = stateOf(project);
  const answer = await called(project);
  assert.ok(answer.action === 'stop' && answer.status === 'busy', JSON.stringify(answer));
  assert.match(answer.message, /Stop hook/);
  assert.deepEqual(stateOf(project), before);
});
