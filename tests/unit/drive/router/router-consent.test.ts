import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostSession } from '../../../../src/claude/host-session.ts';
import { isAgreed } from '../../../../src/drive/router/agreed.ts';
import { giveConsent } from '../../../../src/drive/start/consent.ts';
import { beganAt, identityOf } from '../../../../src/state/process/identity.ts';
import { AT, aProject, type Project, put, rewrite, stateOf } from '../support/a-project.ts';
import { called, goneClient, host, spawned, startedRouter } from '../support/a-router.ts';

const CHECKED = '---\nvalidation:\n  - test -f done\n---\n\nDo the work.\n';

/** Where the system does not tell when a process began, or not by the clock of its files, everything needs consent. */
const askew = Math.abs(beganAt(identityOf(process.pid).startedAt) - (Date.now() - process.uptime() * 1000));
const whereToldOf = { skip: !(askew < 2_000) && 'this system does not tell when a process began' };

/** A client that begins now. */
async function clientFromNow(t: TestContext): Promise<HostSession> {
  await sleep(250); // what was written just now is older by more than clocks differ
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const { pid, startedAt } = identityOf(child.pid ?? 0);
  return { sessionId: 's', clientPid: pid, clientStartedAt: startedAt, client: true };
}

/** As if the client had begun an hour later: however slowly the clocks are read here, what lies there was there before. */
function agreedLater(t: TestContext, ...args: Parameters<typeof agreed>): boolean {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 });
  try {
    return agreed(...args);
  } finally {
    t.mock.timers.reset();
  }
}

function agreed(project: Project, client: HostSession, more: Parameters<typeof startedRouter>[1] = {}): boolean {
  const started = startedRouter(project, { existing: 'fresh', ...more });
  assert.ok(started !== null);
  return isAgreed(started.files, started.stored.contract, client, project.env);
}

test('a loop that runs no command needs no consent', async (t) => {
  const project = aProject(t);
  startedRouter(project, { byUser: false });
  assert.equal((await spawned(project)).spawn, 1);
});

test('commands that lay there before the client began need no consent', whereToldOf, async (t) => {
  const project = aProject(t, CHECKED);
  assert.equal(agreedLater(t, project, await clientFromNow(t)), true);
});

test('commands that were written since the client began need consent', async (t) => {
  const project = aProject(t, CHECKED);
  const client = await clientFromNow(t);
  put(join(project.directory, '.claude/ralph/PROMPT.md'), CHECKED);
  assert.equal(agreed(project, client), false);
});

test('a script that a command names counts as the command does', whereToldOf, async (t) => {
  const project = aProject(t, '---\nvalidation:\n  - sh check.sh\n---\n\nDo the work.\n');
  put(join(project.directory, 'check.sh'), 'true\n');
  const client = await clientFromNow(t);
  assert.equal(agreedLater(t, project, client), true);
  put(join(project.directory, 'check.sh'), 'rm -rf everything\n');
  assert.equal(agreed(project, client), false);
});

test('settings of the command line are the agent’s words and need consent', whereToldOf, async (t) => {
  const project = aProject(t, CHECKED);
  const client = await clientFromNow(t);
  assert.equal(agreedLater(t, project, client, { flags: { 'idle.delay': '1s' } }), false);
  assert.equal(agreedLater(t, project, client, { flags: { max_iterations: '3' } }), true);
});

test('settings of the command line need consent where nothing runs as well: whoever resumes the loop keeps them', async (t) => {
  const project = aProject(t);
  for (const flags of [{ agent: 'touch evil' }, { worktree_setup: 'touch evil' }, { 'idle.delay': '1s' }]) {
    startedRouter(project, { byUser: false, existing: 'fresh', flags });
    assert.equal(stateOf(project).status, 'awaiting-consent', JSON.stringify(flags));
  }
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && /its start has set idle\.delay=1s\./.test(wait.message), JSON.stringify(wait));
  startedRouter(project, { byUser: false, existing: 'fresh', flags: { max_iterations: '3' } });
  assert.equal(stateOf(project).status, 'running');
});

test('a task that came with a package needs consent, through a link as well', async (t) => {
  const project = aProject(t);
  const path = join(project.directory, 'node_modules/evil/task-of-its-own.md');
  put(path, CHECKED);
  symlinkSync(path, join(project.directory, 'TASK.md'));
  const client = await clientFromNow(t);
  for (const task of ['node_modules/evil/task-of-its-own.md', 'TASK.md']) {
    assert.equal(agreedLater(t, project, client, { task }), false, task);
  }
});

test('where nobody tells when the client began, consent is needed', async (t) => {
  const project = aProject(t, CHECKED);
  const client = await clientFromNow(t);
  assert.equal(agreedLater(t, project, { ...client, clientStartedAt: null }), false);
  assert.equal(agreedLater(t, project, { ...client, client: false }), false);
});

test('without consent the host waits and is shown what would run; with it the loop goes on', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project, { byUser: false });
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && wait.why === 'awaiting-consent', JSON.stringify(wait));
  assert.deepEqual(wait.commands, ['test -f done']);
  assert.match(wait.message, /main\.cjs start --consent/);
  assert.equal((await called(project, { text: 'Work.' })).action, 'wait');
  giveConsent(project.files, project.env, AT);
  assert.equal((await spawned(project)).iteration, 1);
});

test('what was not begun yet may be asked for otherwise by its own session', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project, { byUser: false });
  await called(project);
  const { loopId } = stateOf(project);
  put(join(project.directory, '.claude/ralph/PROMPT.md'), 'Nothing to run.\n');
  assert.equal(startedRouter(project, { byUser: false }), null, 'a plain start goes on with what lies there');
  assert.ok(startedRouter(project, { byUser: false, existing: 'fresh' }) !== null);
  assert.notEqual(stateOf(project).loopId, loopId);
  assert.equal((await spawned(project)).iteration, 1);
});

test('what an agent resumes awaits consent, whatever it was', async (t) => {
  const project = aProject(t, '---\nmax_iterations: 1\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  assert.equal((await called(project, { spawn: 1, text: 'One.' })).action, 'stop');
  startedRouter(project, { byUser: false, existing: 'resume', flags: { max_iterations: '5' } });
  const wait = await called(project);
  assert.ok(wait.action === 'wait' && wait.why === 'awaiting-consent', JSON.stringify(wait));
});

test('a start over another task of the same session is refused by name', async (t) => {
  const project = aProject(t);
  put(join(project.directory, 'OTHER.md'), 'Other work.\n');
  startedRouter(project);
  await spawned(project);
  assert.throws(() => startedRouter(project, { task: 'OTHER.md' }), /OTHER\.md is another task/);
  assert.equal(startedRouter(project), null);
});

test('a start over the live loop of the same session that asks for other settings is refused and names them', async (t) => {
  const project = aProject(t);
  startedRouter(project, { flags: { max_iterations: '5' } });
  await spawned(project);
  assert.equal(startedRouter(project, { flags: { max_iterations: '5' } }), null, 'the same call once more');
  assert.equal(startedRouter(project, { flags: { max_iterations: '5' }, existing: 'fresh' }), null, 'no work is done');
  assert.equal(startedRouter(project, { existing: 'resume' }), null);
  const resumed = { existing: 'resume', flags: { max_iterations: '9', 'idle.delay': '1s' } } as const;
  assert.throws(() => startedRouter(project, resumed), /cannot be heard: max_iterations, idle\.delay/);
  await spawned(project, { spawn: 1, text: 'One.' });
  assert.throws(() => startedRouter(project, { existing: 'fresh' }), /cannot be heard: --fresh/);
  assert.equal(stateOf(project).maxIterations, 5);
});

test('a loop that a user has made ready at a terminal is taken up by the session that starts it', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project);
  const { loopId } = stateOf(project);
  assert.throws(() => startedRouter(project, { byUser: false, flags: { agent: 'x' } }), /cannot be heard: agent/);
  assert.equal(startedRouter(project, { byUser: false }), null);
  const first = await spawned(project);
  assert.deepEqual([first.spawn, first.loopId], [1, loopId]);
});

test('a start over the loop of a session that is gone is refused with the ways to go on as a router', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  rewrite(project, await goneClient());
  const env = { ...project.env, ...host('host-2') };
  assert.throws(() => startedRouter(project, { byUser: false, env }), /router next.*router start --fresh/);
  assert.ok(startedRouter(project, { byUser: false, env, existing: 'fresh' }) !== null);
});
