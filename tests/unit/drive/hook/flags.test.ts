import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { describeLoop } from '../../../../src/drive/status/loop-report.ts';
import type { HookAnswer } from '../../../../src/hosts/hook-io/stdio.ts';
import { after } from '../../../../src/text/time.ts';
import { AT, aHook, aStop, type Project, rewrite, stateOf } from '../../../support/drive/drive-project.ts';
import { aTaskFolder, JOB, type TaskFolder } from '../../../support/drive/folder-project.ts';

/** Its client is this process: a live one, which a cancel has to reach. */
function aLiveLoop(t: TestContext): TaskFolder {
  const project = aTaskFolder(t);
  rewrite(project, { clientPid: process.pid, clientStartedAt: null });
  return project;
}

function call(project: Project, session = 'session-1', clock = { now: () => AT }): Promise<HookAnswer | null> {
  const payload = { tool_name: 'Read', tool_input: { file_path: 'a' }, tool_use_id: 'c', cwd: project.directory };
  const context = aHook(project, 'PreToolUse', { ...payload, session_id: session }, JOB);
  return preToolUse({ ...context, ...clock });
}

const ended = ({ files }: Project) => describeLoop(files, {}).lastLoop;

test('a cancel flag refuses the next tool call, ends the turn and cancels the loop', async (t) => {
  const project = aLiveLoop(t);
  assert.equal(await call(project), null);
  writeFileSync(project.run.cancelFlag, '');
  const answer = await call(project);
  assert.equal(answer?.continue, false);
  assert.equal(answer?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.equal(existsSync(project.run.cancelFlag), false);
  assert.equal(ended(project)?.status, 'cancelled');
  assert.match(ended(project)?.message ?? '', /^Cancelled by the file cancel\.flag during iteration 1\./);
  assert.equal((await call(project))?.continue, false, 'a call of the same turn, asked for at the same time');
});

test('a stop flag, or the flag of another session, does not affect tool calls and is left for the Stop', async (t) => {
  const project = aLiveLoop(t);
  writeFileSync(project.run.stopFlag, '');
  assert.equal(await call(project), null);
  assert.equal(existsSync(project.run.stopFlag), true);
  writeFileSync(project.run.cancelFlag, '');
  assert.equal(await call(project, 'session-2'), null);
  assert.equal(existsSync(project.run.cancelFlag), true);
});

test('a directory named like a cancel flag is ignored', async (t) => {
  const project = aLiveLoop(t);
  await call(project);
  mkdirSync(project.run.cancelFlag);
  assert.equal(await call(project), null);
  assert.equal(stateOf(project).status, 'running');
});

test('run state that points outside the folder is ignored', async (t) => {
  const project = aLiveLoop(t);
  rmSync(project.run.dir, { recursive: true });
  mkdirSync(join(project.directory, 'away'));
  writeFileSync(join(project.directory, 'away/cancel.flag'), '');
  symlinkSync(join(project.directory, 'away'), project.run.dir);
  assert.equal(await call(project), null);
  assert.equal(stateOf(project).status, 'running');
  assert.equal(existsSync(join(project.directory, 'away/cancel.flag')), true);
});

test('the end report says that a file stopped the loop, not the user', async (t) => {
  const project = aLiveLoop(t);
  writeFileSync(project.run.stopFlag, '');
  const answer = await aStop(project, {}, JOB);
  assert.match(answer && 'systemMessage' in answer ? String(answer.systemMessage) : '', /by the file stop\.flag/);
  assert.equal(ended(project)?.message, 'Stopped by the file stop.flag after 1 iteration.');
});

test('a cancel flag also ends a loop whose evidence is lost', async (t) => {
  for (const isRaised of [true, false]) {
    const project = aLiveLoop(t);
    rmSync(project.files.counters);
    if (isRaised) writeFileSync(project.run.cancelFlag, '');
    await aStop(project, {}, JOB);
    if (isRaised) assert.equal(ended(project)?.status, 'cancelled');
    else assert.equal(stateOf(project).status, 'paused', 'control: without the flag');
  }
});

test('a Stop whose loop is cancelled while it waits for background work says so', async (t) => {
  const project = aLiveLoop(t);
  const waits = aStop(project, { background_tasks: [{ id: 'b1', status: 'running' }] }, JOB);
  operate(project.files, JOB, AT, () => ({ kind: 'cancel' }));
  assert.equal(existsSync(project.files.cancellation), true, 'control: the call of the turn would be refused');
  assert.match((await waits)?.systemMessage ?? '', /The loop was cancelled/);
  assert.equal(existsSync(project.files.cancellation), true, 'kept for the subagent that works on');
  assert.match((await aStop(project, {}, JOB))?.systemMessage ?? '', /The loop was cancelled/);
  assert.equal(existsSync(project.files.cancellation), false);
});

test('further calls and the Stop of a turn whose loop has used its budget name the budget, not a cancel', async (t) => {
  const project = aTaskFolder(t, 'budget: {max_time: 1h}');
  rewrite(project, { clientPid: process.pid, clientStartedAt: null });
  const later = { now: () => after(AT, 2 * 3_600_000) };
  for (const time of ['the call at which it ends', 'a call asked for at the same time']) {
    const answer = await call(project, 'session-1', later);
    assert.match(`${answer?.stopReason}`, /budget max_time is exhausted/, time);
    const reason = answer?.hookSpecificOutput?.permissionDecisionReason ?? '';
    assert.match(reason, /max_time is exhausted.* End your turn\./, time);
  }
  assert.match((await aStop(project, {}, JOB))?.systemMessage ?? '', /budget max_time is exhausted/);
});

test('the agent cannot raise a flag by a file tool or by a shell command that the parser reads', async (t) => {
  const project = aLiveLoop(t);
  const shell = [
    'touch job/.ralph-runner/cancel.flag',
    ': > job/.ralph-runner/stop.flag',
    'cd job && echo now >.ralph-runner/stop.flag',
    'cp RALPH.md "job/.ralph-runner/"stop.flag',
    'ln -s /dev/null job/.ralph-runner/cancel.flag',
    'mv job/.ralph-runner elsewhere',
    'D=job/.ralph-runner; tee $D/stop.flag < /dev/null',
  ].map((command) => ['Bash', { command }] as const);
  const files = ['stop.flag', 'cancel.flag'].map(
    (name) => ['Write', { file_path: join(project.directory, 'job/.ralph-runner', name), content: '' }] as const,
  );
  for (const [tool_name, tool_input] of [...shell, ...files]) {
    const context = aHook(project, 'PreToolUse', { tool_name, tool_input, cwd: project.directory }, JOB);
    const answer = await preToolUse(context);
    assert.equal(answer?.hookSpecificOutput?.permissionDecision, 'deny', JSON.stringify(tool_input));
  }
});
