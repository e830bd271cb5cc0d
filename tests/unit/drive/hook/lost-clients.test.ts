import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { operate } from '../../../../src/drive/control/operate.ts';
import { type DriverContext, driverContext, launcherVariable } from '../../../../src/drive/control/ownership.ts';
import { lostTurn, presentState } from '../../../../src/drive/control/present-state.ts';
import { sessionStart } from '../../../../src/drive/hook/session-start.ts';
import { abortWhenClientGone } from '../../../../src/drive/hook/stop/stop.ts';
import { stopFailure } from '../../../../src/drive/hook/stop-failure.ts';
import { userPromptSubmit } from '../../../../src/drive/hook/user-prompt-submit.ts';
import { TURN_OVER } from '../../../../src/drive/turn/turn.ts';
import { hookHost } from '../../../../src/hosts/hook-hosts.ts';
import { parseHookInput } from '../../../../src/hosts/hook-io/hook-input.ts';
import { appendEvent } from '../../../../src/state/event-stream.ts';
import { identityOf } from '../../../../src/state/process/identity.ts';
import {
  aHook,
  aProject,
  aStop,
  type Project,
  put,
  rewrite,
  start,
  stateOf,
} from '../../../support/drive/drive-project.ts';
import { until } from '../../../support/until.ts';

const FORMER = { CLAUDE_PID: String(process.pid) };
const NEXT = { CLAUDE_PID: String(process.ppid) };

/** A loop whose session has received its second prompt. */
async function inSecondIteration(project: Project): Promise<void> {
  start(project, true);
  await sessionStart(aHook(project, 'SessionStart', { source: 'startup' }, FORMER));
  userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Begin.', prompt_id: 'p1' }, FORMER));
  const answer = await aStop(project, { prompt_id: 'p1' }, FORMER);
  assert.equal(answer?.decision, 'block');
  assert.deepEqual([stateOf(project).turn, stateOf(project).iteration], ['agent', 1]);
}

/** The client of the loop's session has exited. */
function exits(project: Project): void {
  put(project.files.state, JSON.stringify({ ...stateOf(project), clientPid: 2 ** 22 - 1 }));
}

function errorLine(project: Project, quotaLimits: object | null): string {
  const path = join(project.directory, '..', 'transcript.jsonl');
  const content = [{ type: 'text', text: 'API Error: 429' }];
  const entry = { type: 'assistant', isApiErrorMessage: true, error: 'rate_limit', message: { content }, quotaLimits };
  put(path, `${JSON.stringify({ ...entry, timestamp: new Date(Date.now() + 1_000).toISOString() })}\n`);
  return path;
}

test('a usage limit has its reset time also if a busy client writes it seconds after its hook began', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const resetsAt = Math.ceil(Date.now() / 1000) + 60;
  const transcript = join(project.directory, '..', 'transcript.jsonl');
  setTimeout(() => errorLine(project, { resetsAt }), 3_000);
  await stopFailure(aHook(project, 'StopFailure', { error: 'rate_limit', transcript_path: transcript }, FORMER));
  const state = stateOf(project);
  assert.ok(state.status === 'paused');
  assert.equal(state.paused.resumesAt, new Date(resetsAt * 1000).toISOString());
});

test('a prompt of the user in a session that a new client resumed interrupts nothing', async (t) => {
  for (const [client, status] of [
    [NEXT, 'running'],
    [FORMER, 'paused'],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    if (client === NEXT) exits(project);
    if (client === NEXT) await sessionStart(aHook(project, 'SessionStart', { source: 'resume' }, client));
    userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Go on.', prompt_id: 'p2' }, client));
    assert.equal(stateOf(project).status, status, 'with the same client it is an interruption');
    const answer = await aStop(project, { prompt_id: 'p2' }, client);
    assert.equal(answer?.decision, status === 'running' ? 'block' : undefined);
  }
});

test('a client that continues the conversation of a paused loop is told how to resume', async (t) => {
  for (const isPaused of [true, false]) {
    const project = aProject(t);
    await inSecondIteration(project);
    exits(project);
    if (isPaused) operate(project.files, FORMER, new Date().toISOString(), () => ({ kind: 'pause' }));
    const answer = await sessionStart(aHook(project, 'SessionStart', { source: 'resume' }, NEXT));
    if (isPaused) assert.match(answer?.systemMessage ?? '', /^ralph-loop: Paused by the user\. Resume/);
    else assert.equal(answer, null, 'control');
  }
});

/** The transcript of the loop's session ends with these entries, of after its last prompt. */
async function endsWith(project: Project, ...entries: readonly object[]): Promise<void> {
  await inSecondIteration(project);
  noted(project, ...entries);
}

function noted(project: Project, ...entries: readonly object[]): void {
  const state = stateOf(project);
  const transcriptPath = join(project.directory, '..', 'transcript.jsonl');
  const timestamp = new Date(Date.now() + 1_000).toISOString();
  put(transcriptPath, entries.map((entry) => `${JSON.stringify({ ...entry, timestamp })}\n`).join(''));
  put(project.files.state, JSON.stringify({ ...state, marks: { ...state.marks, transcriptPath } }));
}

test('a prompt of the user after a turn of Codex that failed finds the loop paused by the error', async (t) => {
  const project = aProject(t);
  const payload = { type: 'task_complete', error: { message: 'no such model' } };
  await endsWith(project, { type: 'event_msg', payload }, { type: 'event_msg', payload: { type: 'task_started' } });
  const answer = await userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'And now?' }, FORMER));
  assert.match(answer?.systemMessage ?? '', /Paused by an API error \(.*no such model\)\. Resume/);
});

test('a turn that an API error ends is told the end of a loop that its user has asked to stop', async (t) => {
  const payload = { type: 'task_complete', error: { message: 'no such model' } };
  for (const [event, raw] of [
    ['StopFailure', { error: 'overloaded' }],
    ['UserPromptSubmit', { prompt: 'And now?' }],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    operate(project.files, FORMER, new Date().toISOString(), () => ({ kind: 'stop', clientAlive: true }));
    if (event === 'UserPromptSubmit') noted(project, { type: 'event_msg', payload });
    const context = aHook(project, event, raw, FORMER);
    const answer = await (event === 'StopFailure' ? stopFailure(context) : userPromptSubmit(context));
    assert.match(answer?.systemMessage ?? '', /^ralph-loop: Stopped by the user after 1 iteration\.$/);
    assert.doesNotMatch(readFileSync(project.files.events, 'utf8'), /archived-late/);
  }
});

test('work in the background that ends after Esc does not continue the loop; control: without Esc it does', async (t) => {
  const content = [{ type: 'text', text: '[Request interrupted by user for tool use]' }];
  for (const [entries, decision] of [
    [[{ type: 'user', message: { content } }], undefined],
    [[], 'block'],
  ] as const) {
    const project = aProject(t);
    await endsWith(project, ...entries);
    const prompt = '<task-notification>\n<status>completed</status>\n</task-notification>';
    await userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt, prompt_id: 'p2' }, FORMER));
    const answer = await aStop(project, { prompt_id: 'p2', last_assistant_message: 'It has ended.' }, FORMER);
    assert.equal(answer?.decision, decision);
    assert.deepEqual([stateOf(project).status, stateOf(project).iteration], decision ? ['running', 2] : ['paused', 1]);
  }
});

test('Esc in a turn in which its user has paused the loop ends the turn, so one resume is enough', async (t) => {
  const project = aProject(t);
  const message = { content: [{ type: 'text', text: '[Request interrupted by user]' }] };
  await endsWith(project);
  const now = (): string => new Date().toISOString();
  operate(project.files, FORMER, now(), () => ({ kind: 'pause' }));
  assert.deepEqual([stateOf(project).status, stateOf(project).turn], ['paused', 'agent'], 'control: its turn goes on');
  noted(project, { type: 'user', message });
  operate(project.files, FORMER, now(), () => ({ kind: 'resume' }));
  assert.deepEqual([stateOf(project).status, stateOf(project).turn], ['running', 'rest']);
  assert.equal(lostTurn(stateOf(project)), null);
});

test('after Esc in an answer to its user, a loop waits for a message; control: before, it runs', async (t) => {
  const project = aProject(t);
  const message = { content: [{ type: 'text', text: '[Request interrupted by user]' }] };
  await endsWith(project, { type: 'user', promptId: 'p1', message });
  operate(project.files, FORMER, new Date().toISOString(), () => ({ kind: 'resume' }));
  await userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Go on.', prompt_id: 'p2' }, FORMER));
  operate(project.files, FORMER, new Date().toISOString(), () => ({ kind: 'resume' }));
  const shown = (): unknown[] => {
    const found = presentState(project.files);
    return found.kind === 'loop' ? [found.state.status, found.state.turn] : [];
  };
  assert.deepEqual([stateOf(project).turn, ...shown()], ['user', 'running', 'user'], 'an earlier Esc is of no account');
  noted(project, { type: 'user', promptId: 'p2', message });
  assert.deepEqual(shown(), ['running', 'rest']);
});

test('a wait or a check of Codex that Esc has ended is paused, also after an answer to its user', async (t) => {
  const at = new Date().toISOString();
  const waiting = { since: at, until: '2099-01-01T00:00:00Z', delayMs: 9, last: false, woken: false, seen: null };
  const verifying = { since: at, text: '', findings: null, claimed: true, states: [] };
  for (const change of [
    { status: 'waiting', turn: 'rest', waiting },
    { status: 'verifying', verifying },
  ]) {
    const project = aProject(t);
    await inSecondIteration(project);
    rewrite(project, change);
    const shown = (): unknown => {
      const found = presentState(project.files);
      return found.kind === 'loop' && found.state.status;
    };
    assert.equal(shown(), change.status, 'control');
    noted(project, { type: 'event_msg', payload: { type: 'turn_aborted', reason: 'interrupted' } });
    assert.equal(shown(), 'paused');
  }
});

test('a hook of Gemini CLI that waits ends once the user has ended its turn, and leaves the loop as it is', async (t) => {
  const project = aProject(t);
  const host = hookHost(['--host', 'gemini']);
  const transcript = join(project.directory, '..', 'chat.jsonl');
  assert.ok(host !== null);
  put(transcript, '');
  const context = { ...aHook(project, 'Stop', { transcript_path: transcript }), host };
  const controller = new AbortController();
  abortWhenClientGone(controller, context, process.ppid);
  const timestamp = new Date(Date.now() + 1_000).toISOString();
  put(transcript, `${JSON.stringify({ type: 'info', content: 'Request cancelled.', timestamp })}\n`);
  await until('the end of the wait', () => controller.signal.aborted);
  assert.equal(controller.signal.reason, TURN_OVER);
});

test('a conversation that its user branches off after Esc has the loop, which waits for a message', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const branch = { session_id: 'branch' };
  const told = await sessionStart(aHook(project, 'SessionStart', { ...branch, source: 'fork' }, FORMER));
  assert.match(told?.systemMessage ?? '', /stays with this session\. Send any message/);
  assert.deepEqual([stateOf(project).sessionId, stateOf(project).turn], ['branch', 'rest']);
  await userPromptSubmit(aHook(project, 'UserPromptSubmit', { ...branch, prompt: 'Go on.', prompt_id: 'p2' }, FORMER));
  assert.equal((await aStop(project, { ...branch, prompt_id: 'p2' }, FORMER))?.decision, 'block');
});

/** A call of Codex, which is the parent of its hooks. */
const inCodex = (project: Project, event: string, raw: Record<string, unknown>): DriverContext => {
  const host = hookHost(['--host', 'codex']);
  assert.ok(host !== null);
  const payload = { hook_event_name: event, session_id: 'thread-1', cwd: project.directory, ...raw };
  const input = parseHookInput(JSON.stringify(payload), host.read);
  assert.ok(input !== null && input !== 'ignored');
  return driverContext(input, project.env, host);
};

test('a message typed while Codex works interrupts nothing; control: one in a turn of its own', async (t) => {
  for (const [turn, status] of [
    ['t1', 'running'],
    ['t2', 'paused'],
  ] as const) {
    const project = aProject(t);
    start(project, true);
    await sessionStart(inCodex(project, 'SessionStart', { source: 'startup' }));
    await userPromptSubmit(inCodex(project, 'UserPromptSubmit', { prompt: 'Begin.', turn_id: 't1' }));
    await userPromptSubmit(inCodex(project, 'UserPromptSubmit', { prompt: 'Mind the gap.', turn_id: turn }));
    assert.equal(stateOf(project).status, status);
  }
});

test('another conversation of Codex has the loop once its user speaks there, unless the agent works', async (t) => {
  const project = aProject(t);
  start(project, true);
  await sessionStart(inCodex(project, 'SessionStart', { source: 'startup' }));
  await userPromptSubmit(inCodex(project, 'UserPromptSubmit', { prompt: 'Begin.', turn_id: 't1' }));
  const next = { session_id: 'thread-2', prompt: 'Go on.', turn_id: 't2' };
  const speak = async (): Promise<unknown> => {
    await userPromptSubmit(inCodex(project, 'UserPromptSubmit', next));
    return stateOf(project).sessionId;
  };
  assert.equal(await speak(), 'thread-1', 'the agent works');
  noted(project, { type: 'event_msg', payload: { type: 'turn_aborted', reason: 'interrupted' } });
  operate(project.files, {}, new Date().toISOString(), () => ({ kind: 'resume' }));
  assert.equal(await speak(), 'thread-2');
  assert.deepEqual([stateOf(project).status, stateOf(project).turn], ['running', 'user']);
});

test('a session that its user has put into plan mode is paused at the end of the turn; others go on', async (t) => {
  for (const [payload, env, decision] of [
    [{ permission_mode: 'plan' }, {}, undefined],
    [{ permission_mode: 'acceptEdits' }, {}, 'block'],
    [{ permission_mode: 'plan' }, { CLAUDE_CODE_SESSION_ATTENDED: '0' }, 'block'],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    const answer = await aStop(
      project,
      { prompt_id: 'p1', last_assistant_message: 'A plan.', ...payload },
      { ...FORMER, ...env },
    );
    assert.equal(answer?.decision, decision);
    const { status, iteration } = stateOf(project);
    assert.deepEqual([status, iteration], decision === undefined ? ['paused', 1] : ['running', 2]);
    if (decision === undefined) assert.match(answer?.systemMessage ?? '', /in plan mode.*ralph-loop resume/s);
  }
  for (const [calls, status] of [
    [['EnterPlanMode', 'Bash'], 'running'],
    [['EnterPlanMode', 'ExitPlanMode', 'Bash'], 'paused'],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    const { loopId } = stateOf(project);
    for (const tool of calls)
      appendEvent(project.files, { type: 'tool.done', at: new Date().toISOString(), loopId, tool });
    await aStop(project, { prompt_id: 'p1', last_assistant_message: 'A plan.', permission_mode: 'plan' }, FORMER);
    assert.equal(stateOf(project).status, status, 'an agent that enters it by itself goes on');
  }
  const project = aProject(t);
  await inSecondIteration(project);
  const claim = {
    prompt_id: 'p1',
    permission_mode: 'plan',
    last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS',
  };
  await aStop(project, claim, FORMER);
  assert.equal(existsSync(project.files.state), false, 'an audit needs no change');
});

test('a session begun by /clear keeps what the turn before it cost, and its own cost counts from zero', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const reports = (sessionId: string | null, costUsd: number): void =>
    put(project.files.cost, JSON.stringify({ sessionId, costUsd }));
  reports(stateOf(project).sessionId, 0.5);
  await sessionStart(aHook(project, 'SessionStart', { source: 'clear', session_id: 'cleared' }, FORMER));
  assert.equal(stateOf(project).usage.costUsd, 0.5);
  reports('cleared', 0.75);
  userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Go on.', session_id: 'cleared' }, FORMER));
  await aStop(project, { session_id: 'cleared' }, FORMER);
  assert.equal(stateOf(project).usage.costUsd, 1.25);
});

test('the first message after /clear interrupts nothing: the turn before it ended with its conversation', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const cleared = { session_id: 'cleared' };
  const told = await sessionStart(aHook(project, 'SessionStart', { ...cleared, source: 'clear' }, FORMER));
  assert.match(told?.systemMessage ?? '', /Send any message; the loop continues after the answer\.$/);
  await userPromptSubmit(aHook(project, 'UserPromptSubmit', { ...cleared, prompt: 'Go on.', prompt_id: 'p2' }, FORMER));
  assert.deepEqual([stateOf(project).status, stateOf(project).turn], ['running', 'user']);
  const answer = await aStop(project, { ...cleared, prompt_id: 'p2' }, FORMER);
  assert.deepEqual([answer?.decision, stateOf(project).iteration], ['block', 1]);
});

test('the task of a subagent of Codex, which comes under the session of its parent, interrupts nothing', async (t) => {
  for (const [agent, status] of [
    [{ agent_id: 'child-1' }, 'running'],
    [{}, 'paused'],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    await userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Count the files.', ...agent }, FORMER));
    assert.equal(stateOf(project).status, status, 'without its id it is a message of the user');
  }
});

test('a block that the previous client overrode is reported with the next prompt and interrupts nothing', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const path = join(project.directory, '..', 'transcript.jsonl');
  const content = 'Stop hook blocked the turn from ending 9 times. Overriding it.';
  const timestamp = new Date(Date.now() + 1_000).toISOString();
  put(path, `${JSON.stringify({ type: 'system', content, timestamp })}\n`);
  exits(project);
  await sessionStart(aHook(project, 'SessionStart', { source: 'resume', transcript_path: path }, NEXT));
  const prompted = aHook(
    project,
    'UserPromptSubmit',
    { prompt: 'And now?', prompt_id: 'p2', transcript_path: path },
    NEXT,
  );
  assert.match((await userPromptSubmit(prompted))?.systemMessage ?? '', /CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0/);
  assert.match(readFileSync(project.files.events, 'utf8'), /"type":"block\.overridden"/);
  assert.deepEqual([stateOf(project).status, stateOf(project).turn], ['running', 'user']);
});

test('the API error that ended the previous client is recorded and pauses the loop while it lasts', async (t) => {
  for (const [limits, status] of [
    [null, 'running'],
    [{ resetsAt: Math.floor(Date.now() / 1000) + 900 }, 'paused'],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    const path = errorLine(project, limits);
    exits(project);
    await sessionStart(aHook(project, 'SessionStart', { source: 'resume', transcript_path: path }, NEXT));
    const events = readFileSync(project.files.events, 'utf8');
    assert.match(events, /"type":"api\.error".*"error":"rate-limited","reason":"API Error: 429"/);
    assert.equal(stateOf(project).status, status);
  }
});

test('a headless client whose launcher has exited ends at its next Stop without being counted', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const launched = await aStop(project, { prompt_id: 'p2' }, { ...FORMER, ...launcherVariable() });
  assert.equal(launched?.decision, 'block', 'control: its launcher is there');
  const gone = JSON.stringify({ pid: 2 ** 22 - 1, startedAt: 'never' });
  const answer = await aStop(project, { prompt_id: 'p3' }, { ...FORMER, RALPH_LAUNCHER: gone });
  assert.equal(answer?.decision, undefined);
  const state = stateOf(project);
  assert.deepEqual([state.status === 'paused' && state.paused.reason, state.iteration], ['interrupted', 2]);
});

test('only a session of Claude Code that is begun by hand is told of its cap on blocks', async (t) => {
  const told: string[] = [];
  for (const name of ['claude-code', 'codex', 'gemini']) {
    const context = aHook(aProject(t), 'SessionStart', { source: 'startup', cwd: process.cwd() });
    const host = hookHost(['--host', name]);
    assert.ok(host !== null);
    const answer = await sessionStart({ ...context, host });
    assert.match(answer?.systemMessage ?? '', /started/i, name);
    if (answer?.systemMessage?.includes('STOP_HOOK_BLOCK_CAP')) told.push(name);
  }
  assert.deepEqual(told, ['claude-code']);
});

test('a session whose variable names a loop that is elsewhere or over is told that it runs without it', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const { loopId } = stateOf(project);
  const begin = async (env: Record<string, string>, more: object = {}) =>
    (await sessionStart(aHook(project, 'SessionStart', { source: 'startup', ...more }, env)))?.systemMessage ?? null;
  assert.equal(await begin({ ...FORMER, RALPH_LOOP_ID: loopId }), null, 'control: its own');
  const told = /names is not running in \/.*, so this session runs without it\./;
  assert.match((await begin({ RALPH_LOOP_ID: 'loop-other' })) ?? '', told);
  assert.equal(await begin({ RALPH_LOOP_ID: 'loop-other' }, { source: 'resume' }), null);
  rmSync(project.files.state);
  assert.equal(await begin({ RALPH_LOOP_ID: loopId }), null, 'a lost state file is told at the Stop');
  assert.match((await begin({ RALPH_LOOP_ID: 'loop-other' })) ?? '', told);
});

test('a conversation continued beside the live client of its loop takes no part in it, and is told', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  const before = stateOf(project);
  const answer = await sessionStart(aHook(project, 'SessionStart', { source: 'resume' }, NEXT));
  assert.match(answer?.systemMessage ?? '', /running in another client \(process \d+\), so this session takes no part/);
  userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'A question.', prompt_id: 'p2' }, NEXT));
  assert.equal(await aStop(project, { prompt_id: 'p2' }, NEXT), null);
  assert.deepEqual(stateOf(project), before);

  assert.equal((await aStop(project, { prompt_id: 'p3' }, FORMER))?.decision, 'block', 'control: the loop goes on');
  exits(project);
  assert.equal((await aStop(project, { prompt_id: 'p4' }, NEXT))?.decision, 'block', 'and stays with the conversation');
  assert.equal(stateOf(project).clientPid, process.ppid);
});

test('a prompt is no interruption if the client that held its loop has exited since the session began', async (t) => {
  const project = aProject(t);
  await inSecondIteration(project);
  await sessionStart(aHook(project, 'SessionStart', { source: 'resume' }, NEXT));
  exits(project);
  await userPromptSubmit(aHook(project, 'UserPromptSubmit', { prompt: 'Go on.', prompt_id: 'p2' }, NEXT));
  assert.deepEqual([stateOf(project).status, stateOf(project).clientPid], ['running', process.ppid]);
  assert.equal((await aStop(project, { prompt_id: 'p2' }, NEXT))?.decision, 'block');
});

test('a program that names another client in the state, or a reused process id, frees no session', async (t) => {
  const [pid, ended] = [process.ppid, 2 ** 22 - 1];
  for (const [what, change] of [
    ['another client', { clientPid: pid, clientStartedAt: identityOf(pid).startedAt }],
    ['a process id of unknown begin', { clientPid: pid, clientStartedAt: null }],
    ['control: one that has ended', { clientPid: ended, clientStartedAt: 'boot:1' }],
  ] as const) {
    const project = aProject(t);
    await inSecondIteration(project);
    put(project.files.state, JSON.stringify({ ...stateOf(project), ...change }));
    assert.equal((await aStop(project, { prompt_id: 'p2' }, FORMER))?.decision, 'block', what);
    assert.equal(stateOf(project).clientPid, process.pid, what);
  }
});
