import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { AT, aProject, put, rewrite, stateOf } from '../../../support/drive/drive-project.ts';
import { called, host, spawned, startedRouter } from '../../../support/drive/router-project.ts';

const CHECKED = '---\nvalidation:\n  - test -f done\n---\n\nDo the work.\n';
const DONE = 'All is well.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS\n';

/** Stops the clock a second ahead: the system dates the task file by its own, and a later change ends an idle wait. */
function stopClock(t: TestContext): void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 1_000 });
}

test('two calls of next hand out the same work with the same prompt', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  const first = await spawned(project);
  put(join(project.directory, '.claude/ralph/PROMPT.md'), 'Something else.\n');
  const second = await spawned(project);
  assert.deepEqual(second, first);
  assert.deepEqual([first.spawn, first.iteration, first.agentType], [1, 1, 'general-purpose']);
  assert.match(first.prompt, /Iteration 1 of 25[\s\S]*Do the work\./);
  assert.equal(readFileSync(join(project.directory, first.promptFile ?? ''), 'utf8'), first.prompt);
});

test('a report given three times counts once and always answers with the work in progress', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const answers = [];
  for (let time = 0; time < 3; time++) answers.push(await spawned(project, { spawn: 1, text: 'Some work.' }));
  assert.deepEqual(
    answers.map(({ spawn, iteration }) => [spawn, iteration]),
    [
      [2, 2],
      [2, 2],
      [2, 2],
    ],
  );
  assert.equal(stateOf(project).iteration, 1);
});

test('the same text for two spawns counts twice', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  await spawned(project, { spawn: 1, text: 'The same.' });
  const third = await spawned(project, { spawn: 2, text: 'The same.' });
  assert.equal(third.iteration, 3);
  assert.equal(stateOf(project).iteration, 2);
});

test('the same text without a number counts as the same report three times and is then refused', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  await spawned(project, { text: 'The same.' });
  for (let time = 0; time < 3; time++) {
    const again = await spawned(project, { text: 'The same.' });
    assert.equal(again.spawn, 2);
    assert.match(again.notes.join(), /--spawn 2/);
  }
  await assert.rejects(called(project, { text: 'The same.' }), /--spawn 2 for the one in progress/);
  assert.equal(stateOf(project).iteration, 1);
  assert.equal((await spawned(project, { text: 'Another.' })).iteration, 3);
});

test('refuses a report for a spawn that was never handed out', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  await assert.rejects(called(project, { spawn: 2, text: 'Too early.' }), /Spawn 2 is not in progress/);
  assert.equal(stateOf(project).iteration, 0);
});

test('checks a claim, puts the reasons into the next prompt, and ends the loop on a verified one', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project);
  await spawned(project);
  const rejected = await spawned(project, { spawn: 1, text: DONE });
  assert.match(rejected.prompt, /claim of completion was rejected/);
  put(join(project.directory, 'done'), '');
  const answer = await called(project, { spawn: 2, text: DONE });
  assert.ok(answer.action === 'stop');
  const { report, ...end } = answer;
  assert.deepEqual(report?.checks, [{ name: 'test -f done', outcome: 'ok' }]);
  assert.deepEqual(
    { ...end, message: '' },
    {
      ...{
        action: 'stop',
        status: 'complete',
        message: '',
        verified: true,
        proof: 'green',
        exitCode: 0,
        loop: null,
        notes: [],
      },
      ...{ loopId: rejected.loopId, next: end.next },
    },
  );
  assert.deepEqual(await called(project, { spawn: 2, text: DONE }), end);
  assert.deepEqual(await called(project), end);
});

test('the last report at the limit ends the loop', async (t) => {
  const project = aProject(t, '---\nmax_iterations: 2\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  await spawned(project, { spawn: 1, text: 'One.' });
  const end = await called(project, { spawn: 2, text: 'Two.' });
  assert.ok(end.action === 'stop');
  assert.deepEqual([end.status, end.exitCode, end.verified], ['max-iterations', 2, false]);
  assert.match(end.message, /ralph-loop resume --max-iterations \d+/);
});

test('does not count a report again whose process died before it could answer', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  const first = await spawned(project);
  await spawned(project, { spawn: 1, text: 'Some work.' });
  // As if the process had died between the state and its own record.
  const record = join(project.files.outsideDir, 'router.json');
  put(record, JSON.stringify({ ...JSON.parse(readFileSync(record, 'utf8')), answer: first, heard: false }));
  const again = await spawned(project, { spawn: 1, text: 'Some work.' });
  assert.deepEqual([again.spawn, again.iteration], [2, 2]);
  assert.equal(stateOf(project).iteration, 1);
});

test('a subagent that could not work costs no iteration, and its spawn is handed out again after a wait', async (t) => {
  stopClock(t);
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  const wait = await called(project, { spawn: 1, error: 'overloaded (529)' });
  assert.ok(wait.action === 'wait' && wait.why === 'retry' && wait.delayMs === 60_000, JSON.stringify(wait));
  assert.match(wait.notes.join(' '), /overloaded \(529\)/);
  // Sent once more, it is the same report.
  assert.equal((await called(project, { spawn: 1, error: 'overloaded (529)' })).action, 'wait');
  t.mock.timers.tick(60_000);
  assert.equal((await spawned(project)).spawn, 1);
  const longer = await called(project, { spawn: 1, error: 'rate limited until 5pm' });
  assert.ok(longer.action === 'wait' && longer.delayMs === 120_000, JSON.stringify(longer));
  const { iteration, breaker } = stateOf(project);
  assert.deepEqual([iteration, breaker.sameError.value, breaker.sameReply.repeats], [0, null, 0]);
});

test('six subagents in a row that could not work end the loop as an error', async (t) => {
  stopClock(t);
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  for (let failure = 1; failure <= 5; failure++) {
    assert.equal((await called(project, { spawn: 1, error: `failure ${failure}` })).action, 'wait');
    t.mock.timers.tick(3_600_000);
  }
  const end = await called(project, { spawn: 1, error: 'network down' });
  assert.ok(end.action === 'stop' && end.status === 'error', JSON.stringify(end));
  assert.match(end.message, /6 subagents in a row could not work; the last error: network down/);
});

test('a late report for a counted spawn is reported as unread, and a repeated one is not', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  await spawned(project, { spawn: 1, text: 'Some work.' });
  assert.deepEqual((await spawned(project, { spawn: 1, text: 'Some work.' })).notes, []);
  assert.match((await spawned(project, { spawn: 1, text: 'Another text.' })).notes.join(), /Spawn 1 was counted/);
});

test('with a token budget a report has to name its subagent', async (t) => {
  const project = aProject(t, '---\nbudget: {max_tokens: 1000}\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  await assert.rejects(called(project, { spawn: 1, text: 'Some work.' }), /--agent ID/);
  const usage = { inputTokens: 900, outputTokens: 200, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const end = await called(project, { spawn: 1, text: 'Some work.', usage });
  assert.ok(end.action === 'stop' && end.status === 'budget-exhausted', JSON.stringify(end));
});

test('an idle iteration makes the host wait, and after the wait the same iteration is handed out again', async (t) => {
  stopClock(t);
  const project = aProject(t, '---\nidle: {delay: 1s, max: 1m}\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  const wait = await called(project, { spawn: 1, text: '<!-- ralph:state idle -->' });
  assert.ok(wait.action === 'wait' && wait.why === 'idle' && wait.until !== null, JSON.stringify(wait));
  assert.equal(wait.seconds, 1);
  assert.equal((await called(project)).action, 'wait', 'asked again too early');
  t.mock.timers.tick(1_000);
  const next = await spawned(project);
  assert.deepEqual([next.spawn, next.iteration, stateOf(project).idleIterations], [2, 1, 1]);
});

test('a clock that is set back restarts the wait and does not lengthen it', async (t) => {
  stopClock(t);
  const project = aProject(t, '---\nidle: {delay: 30m, max: 6h}\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  const wait = await called(project, { spawn: 1, text: '<!-- ralph:state idle -->' });
  assert.ok(wait.action === 'wait' && wait.seconds === 1_800, JSON.stringify(wait));
  t.mock.timers.setTime(Date.now() - 3_600_000);
  for (const left of [1_800, 1_740]) {
    const again = await called(project);
    assert.ok(again.action === 'wait' && again.seconds === left, JSON.stringify(again));
    t.mock.timers.setTime(Date.now() + 60_000);
  }
});

test('a call that may take longer than the wait waits for its end', async (t) => {
  const project = aProject(t, '---\nidle: {delay: 1s, max: 1m}\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  await called(project, { spawn: 1, text: '<!-- ralph:state idle -->' });
  const next = await spawned(project, null, { sitUntil: Date.now() + 600_000 });
  assert.deepEqual([next.spawn, next.iteration, stateOf(project).idleIterations], [2, 1, 1]);
});

test('a wait that was ended from a terminal is over at the next call', async (t) => {
  const project = aProject(t, '---\nidle: {delay: 30m, max: 6h}\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  await called(project, { spawn: 1, text: '<!-- ralph:state idle -->' });
  operate(project.files, project.env, AT, () => ({ kind: 'wake' }));
  assert.equal((await spawned(project)).spawn, 2);
});

test('a paused loop makes the host wait without an end, and a resume hands out new work', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  operate(project.files, project.env, AT, () => ({ kind: 'pause' }));
  const wait = await called(project, { spawn: 1, text: 'Some work.' });
  assert.ok(wait.action === 'wait' && wait.why === 'paused', JSON.stringify(wait));
  assert.equal(wait.until, null);
  assert.equal(stateOf(project).iteration, 1, 'a turn that was finished counts');
  operate(project.files, project.env, AT, () => ({ kind: 'resume' }));
  const next = await spawned(project);
  assert.deepEqual([next.spawn, next.iteration], [2, 2]);
  // The report from before the pause was counted then.
  await spawned(project, { spawn: 1, text: 'Some work.' });
  assert.equal(stateOf(project).iteration, 1);
});

test('steering for the next prompt and a stop reach a router loop', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  operate(project.files, project.env, AT, () => ({ kind: 'steer', id: 's', text: 'Mind the gap.', delivery: 'next' }));
  const next = await spawned(project, { spawn: 1, text: 'One.' });
  assert.match(next.prompt, /Mind the gap\./);
  operate(project.files, project.env, AT, () => ({ kind: 'stop', clientAlive: true }));
  const end = await called(project, { spawn: 2, text: 'Two.' });
  assert.ok(end.action === 'stop' && end.status === 'stopped', JSON.stringify(end));
});

test('a report that arrives after a cancel finds the loop ended', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  operate(project.files, project.env, AT, () => ({ kind: 'cancel' }));
  const end = await called(project, { spawn: 1, text: 'Some work.' });
  assert.ok(end.action === 'stop' && end.status === 'cancelled' && end.exitCode === 130, JSON.stringify(end));
});

test('restores counters that were set back, says so in the prompt, and counts no report twice', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  for (const spawn of [1, 2, 3]) await spawned(project, { spawn, text: `Work ${spawn}.` });
  rewrite(project, { iteration: 0 });
  const next = await spawned(project);
  assert.deepEqual([next.iteration, stateOf(project).iteration, stateOf(project).mode], [4, 3, 'router']);
  assert.match(`${next.prompt}${next.notes.join()}`, /replaced by an older one/);
  await spawned(project, { spawn: 3, text: 'Work 3.' });
  assert.equal(stateOf(project).iteration, 3);
});

test('tells the host to stop where there is no loop', async (t) => {
  const project = aProject(t);
  const answer = await called(project, null, { env: host() });
  assert.ok(answer.action === 'stop' && answer.status === 'none', JSON.stringify(answer));
});

test('a missing task file ends the loop with that message', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  put(join(project.directory, '.claude/ralph/PROMPT.md'), '');
  const end = await called(project, { spawn: 1, text: 'Some work.' });
  assert.ok(
    end.action === 'stop' && end.status === 'error' && /PROMPT\.md is missing/.test(end.message),
    JSON.stringify(end),
  );
});

const FOLDER = `---
completion_promise: DONE
required_outputs: [report.md]
commands:
  - { name: state, run: echo the state is good }
timeout: 300
---

Look: {{ commands.state }}
`;

test('a task folder runs its commands for each spawn, measures it and asks the gate', async (t) => {
  const project = aProject(t);
  put(join(project.directory, 'job/RALPH.md'), FOLDER);
  put(join(project.directory, 'job/OPEN_QUESTIONS.md'), '# P0\n');
  const task = 'job/RALPH.md';
  startedRouter(project, { task });
  const first = await spawned(project);
  assert.match(first.prompt, /Look: the state is good/);
  assert.equal(first.timeoutSeconds, 300);
  const rejected = await spawned(project, { spawn: 1, text: '<promise>DONE</promise>' });
  assert.match(rejected.prompt, /report\.md/);
  put(join(project.directory, 'job/report.md'), 'All is said.\n');
  const end = await called(project, { spawn: 2, text: '<promise>DONE</promise>' });
  assert.ok(end.action === 'stop' && end.status === 'complete' && end.verified, JSON.stringify(end));
  const journal = readFileSync(join(project.directory, 'job/.ralph-runner/iterations.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const records = journal.map((line) => JSON.parse(line));
  assert.deepEqual(
    records.map(({ progress, completion }) => [progress, completion.gatePassed]),
    [
      ['unknown', false],
      [true, true],
    ],
  );
});

test('a flag file in the task folder stops a router loop at the next report', async (t) => {
  const project = aProject(t);
  put(join(project.directory, 'job/RALPH.md'), FOLDER);
  startedRouter(project, { task: 'job/RALPH.md' });
  await spawned(project);
  put(join(project.directory, 'job/.ralph-runner/stop.flag'), '');
  const end = await called(project, { spawn: 1, text: 'Some work.' });
  assert.ok(end.action === 'stop' && end.status === 'stopped', JSON.stringify(end));
});

test('checks run with the PATH of the client, not of its agent’s shell', async (t) => {
  const project = aProject(t, '---\nvalidation:\n  - check-of-mine\n---\n\nDo the work.\n');
  const fake = join(project.directory, 'fake');
  put(join(fake, 'check-of-mine'), '#!/bin/sh\nexit 0\n');
  chmodSync(join(fake, 'check-of-mine'), 0o755);
  const PATH = `${fake}:${process.env['PATH']}`;
  startedRouter(project);
  await spawned(project, null, { env: { ...host(), PATH } });
  const rejected = await spawned(project, { spawn: 1, text: DONE }, { env: { ...host(), PATH } });
  assert.match(rejected.prompt, /claim of completion was rejected[\s\S]*check-of-mine/);
});

test('control: a script outside any client is its own holder', async (t) => {
  const project = aProject(t, '---\nvalidation:\n  - check-of-mine\n---\n\nDo the work.\n');
  const fake = join(project.directory, 'fake');
  put(join(fake, 'check-of-mine'), '#!/bin/sh\nexit 0\n');
  chmodSync(join(fake, 'check-of-mine'), 0o755);
  const env = { PATH: `${fake}:${process.env['PATH']}`, CLAUDECODE: '', CLAUDE_CODE_SESSION_ID: '' };
  startedRouter(project, { env: { ...project.env, ...env } });
  await spawned(project, null, { env });
  const end = await called(project, { spawn: 1, text: DONE }, { env });
  assert.ok(end.action === 'stop' && end.status === 'complete', JSON.stringify(end));
});

test('a second report with another text is named as not counted, wherever the loop stands', async (t) => {
  stopClock(t);
  const project = aProject(t, '---\nidle: {delay: 15m}\n---\n\nDo the work.\n');
  startedRouter(project);
  await spawned(project);
  await spawned(project, { spawn: 1, text: 'Some work.' });
  const again = await spawned(project, { spawn: 1, text: 'Other work.' });
  assert.match(again.notes.join(), /Spawn 1 was counted/);
  const idle = await called(project, { spawn: 2, text: '<!-- ralph:state idle -->' });
  assert.equal(idle.action, 'wait');
  assert.deepEqual((await called(project, { text: 'Something else.' })).notes.length, 1, 'no spawn is in progress');
  operate(project.files, project.env, AT, () => ({ kind: 'cancel' }));
  const over = await called(project, { spawn: 2, text: 'Much more.' });
  assert.equal(over.action, 'stop');
  assert.match(over.notes.join(), /Spawn 2 was counted or reassigned, so this report was ignored/);
});

test('a report that comes after the end of its loop is named as too late', async (t) => {
  const project = aProject(t);
  startedRouter(project);
  await spawned(project);
  await spawned(project, { spawn: 1, text: 'Some work.' });
  operate(project.files, project.env, AT, () => ({ kind: 'cancel' }));
  const late = await called(project, { spawn: 2, text: 'More work.' });
  assert.deepEqual(late.notes, ['The loop ended before spawn 2 was reported, so this report was ignored.']);
  const counted = await called(project, { spawn: 1, text: 'Other work.' });
  assert.match(counted.notes.join(), /Spawn 1 was counted or reassigned/, 'control');
});

test('control: the report that ended the loop is answered again without a note', async (t) => {
  const project = aProject(t, CHECKED);
  startedRouter(project);
  await spawned(project);
  put(join(project.directory, 'done'), '');
  for (let time = 0; time < 2; time++) {
    const end = await called(project, { spawn: 1, text: DONE });
    assert.deepEqual([end.action, end.notes], ['stop', []]);
  }
});
