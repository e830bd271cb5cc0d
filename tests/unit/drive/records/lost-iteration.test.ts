import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { stop } from '../../../../src/drive/hook/stop/stop.ts';
import { type TaskIterationRecord, taskIterationRecord } from '../../../../src/engine/schema/records.ts';
import { archiveRun } from '../../../../src/state/task-folder/run-state.ts';
import { AT, aHook, type Project, rewrite, stateOf } from '../../../support/drive/drive-project.ts';
import { aTaskFolder, JOB, type TaskFolder } from '../../../support/drive/folder-project.ts';
import { startNow } from '../../../support/drive/start-now.ts';
import { initRepository } from '../../../support/git.ts';
import { iterationsIn } from '../../../support/journal.ts';

const GATED = 'max_iterations: 9\nvalidation: ["true"]\ncompletion_promise: DONE';

/** An iteration that ends within its time. */
async function aTurn(project: TaskFolder, last_assistant_message: string, now = () => AT): Promise<void> {
  const context = { ...aHook(project, 'Stop', { last_assistant_message }, JOB), now };
  await stop(context, { timeoutMs: 60_000, signal: () => new AbortController().signal });
}

/** A Stop whose process dies in the middle of its gate: nothing of what comes after is done. */
async function dieInTheGate(project: TaskFolder): Promise<void> {
  const told = (): number => iterationsIn(project.files).length;
  const before = told();
  // The clock is asked for the last time before the gate, when the journal is written.
  const now = (): string => {
    if (stateOf(project).status === 'verifying' && told() > before) throw new Error('killed');
    return AT;
  };
  await assert.rejects(aTurn(project, '<promise>DONE</promise>', now), /killed/);
}

function records({ run }: TaskFolder): TaskIterationRecord[] {
  if (!existsSync(run.iterations)) return [];
  const lines = readFileSync(run.iterations, 'utf8').trim().split('\n');
  return lines.map((line) => taskIterationRecord.parse(JSON.parse(line)));
}

const shown = (project: TaskFolder): string[] =>
  records(project).map(({ iteration, status }) => `${iteration} ${status}`);

function resume({ directory, env }: Project, at = '2026-02-28T10:01:00Z'): void {
  startNow({
    ...{ projectDir: directory, name: 'job', task: 'job', flags: {}, env, at, existing: 'resume' },
    ...{ headless: false, launched: false, consented: true, clientVersion: null, bundleDir: null, baseline: null },
  });
}

test('the next Stop shows an iteration whose gate was killed, before its own and once', async (t) => {
  const project = aTaskFolder(t, GATED);
  await aTurn(project, 'one');
  await dieInTheGate(project);
  assert.deepEqual(shown(project), ['1 completed'], 'control: it is missing');
  assert.equal(stateOf(project).iteration, 2);
  await aTurn(project, 'three');
  await aTurn(project, 'four');
  assert.deepEqual(shown(project), ['1 completed', '2 interrupted', '3 completed', '4 completed']);
  const [, lost] = records(project);
  assert.deepEqual(
    [lost?.progress, lost?.changedFiles, lost?.completion.promiseSeen, lost?.completion.gateChecked],
    ['unknown', [], true, false],
  );
  assert.match(readFileSync(join(project.run.transcriptsDir, '002.md'), 'utf8'), /final message\n\nNot known\./);
});

test('a resumed loop shows it with the output of its commands, once however often it is resumed', async (t) => {
  const project = aTaskFolder(t, `${GATED}\ncommands: [{ name: look, run: echo seen }]`);
  await aTurn(project, 'one');
  await dieInTheGate(project);
  resume(project);
  resume(project, '2026-02-28T10:02:00Z');
  assert.deepEqual(shown(project), ['1 completed', '2 interrupted']);
  assert.deepEqual(
    records(project)[1]?.commands.map(({ name, preview }) => [name, preview]),
    [['look', 'seen']],
  );
  assert.match(readFileSync(join(project.run.transcriptsDir, '002.md'), 'utf8'), /Iteration 2 of 9/);
});

test('shows the very first iteration too, even if the journal of the loop lacks it', async (t) => {
  const project = aTaskFolder(t, GATED);
  await dieInTheGate(project);
  rmSync(project.files.events);
  resume(project);
  assert.deepEqual(shown(project), ['1 interrupted']);
});

test('cancel shows it if the client is gone, and leaves it to a live client', async (t) => {
  const gone = aTaskFolder(t, GATED);
  await dieInTheGate(gone);
  rewrite(gone, { clientPid: 2 ** 22 + 1, clientStartedAt: null });
  operate(gone.files, gone.env, AT, () => ({ kind: 'cancel' }));
  assert.deepEqual(shown(gone), ['1 interrupted']);

  const live = aTaskFolder(t, GATED);
  await dieInTheGate(live);
  rewrite(live, { clientPid: process.pid, clientStartedAt: null });
  operate(live.files, live.env, AT, () => ({ kind: 'cancel' }));
  assert.deepEqual(shown(live), []);
});

test('run state that was archived or emptied meanwhile loses nothing', async (t) => {
  const project = aTaskFolder(t, GATED);
  await aTurn(project, 'one');
  archiveRun(project.run, AT);
  resume(project);
  rewrite(project, { sessionId: 'session-1' });
  assert.deepEqual(shown(project), []);
  await aTurn(project, 'two');
  assert.deepEqual(shown(project), ['2 completed']);
  await aTurn(project, 'three');
  rmSync(project.run.dir, { recursive: true });
  await aTurn(project, 'four');
  assert.deepEqual(shown(project), ['4 completed']);
});

test('a Stop that is asked to exit while it measures progress stops measuring and still decides', async (t) => {
  const project = aTaskFolder(t, 'commands: [{ name: look, run: echo seen }]');
  initRepository(project.directory);
  await aTurn(project, 'one');
  const context = { ...aHook(project, 'Stop', { last_assistant_message: 'two' }, JOB), now: () => AT };
  await stop(context, { timeoutMs: 60_000, signal: () => AbortSignal.abort() });
  const [, second] = records(project);
  assert.deepEqual([second?.iteration, second?.progress, second?.snapshotBounds], [2, 'unknown', ['interrupted']]);
  const state = stateOf(project);
  assert.deepEqual([state.status, state.iteration], ['paused', 2]);
});
