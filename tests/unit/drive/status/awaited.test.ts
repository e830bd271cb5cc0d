import assert from 'node:assert/strict';
import { rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CommandContext } from '../../../../src/cli/command.ts';
import { standingOf } from '../../../../src/cli/show/explain.ts';
import { liveWords, type Status, statusText } from '../../../../src/cli/show/status-text.ts';
import { operate } from '../../../../src/drive/control/operate.ts';
import { awaitedOfUser } from '../../../../src/drive/control/present-state.ts';
import { describeLoop, type LiveLoop } from '../../../../src/drive/status/loop-report.ts';
import { printStatusLine } from '../../../../src/drive/status/status-line.ts';
import { appendEvent } from '../../../../src/state/event-stream.ts';
import { aProject, aStop, type Project, put, rewrite, start, stateOf } from '../../../support/drive/drive-project.ts';

/** A loop of a session in this process, whose client has recorded this of itself. */
async function recorded(project: Project, record: object, state: Record<string, unknown> = {}): Promise<string> {
  const client = join(project.directory, '..', 'client');
  const transcript = join(client, 'projects', 'of-the-project', 'session-1.jsonl');
  put(transcript, '');
  start(project, true, 'refuse', new Date().toISOString());
  const more = { CLAUDE_PID: String(process.pid) };
  await aStop(project, { last_assistant_message: 'One.', transcript_path: transcript }, more);
  rewrite(project, state);
  const whole = { sessionId: 'session-1', statusUpdatedAt: Date.now() - 60_000, ...record };
  put(join(client, 'sessions', `${process.pid}.json`), JSON.stringify(whole));
  const { live } = describeLoop(project.files, project.env);
  assert.ok(live !== null);
  return liveWords(live);
}

const PERMISSION = { status: 'waiting', waitingFor: 'permission prompt' };

for (const [what, record, words] of [
  ['a permission or a choice', PERMISSION, 'waiting for your answer in its session'],
  ['nothing while one of its menus is open', { ...PERMISSION, waitingFor: 'dialog open' }, 'running'],
  ['nothing in another conversation', { ...PERMISSION, sessionId: 'session-2' }, 'running'],
  ['nothing while it works', { status: 'busy' }, 'running'],
  ['nothing between two turns of the agent', { status: 'idle' }, 'running'],
] as const) {
  test(`the status of a session says what it needs of its user: ${what}`, async (t) => {
    assert.equal(await recorded(aProject(t), record), words);
  });
}

test('a command of the user that gives the agent no turn leaves a loop that waits for a message', async (t) => {
  const until = '2099-01-01T00:00:00Z';
  const waiting = { since: until, until, delayMs: 1, last: false, woken: false, seen: null };
  const wait = { status: 'waiting', turn: 'user', waiting };
  const waitingFor = async (record: object): Promise<unknown> => {
    const project = aProject(t);
    await recorded(project, record, wait);
    assert.equal(awaitedOfUser(stateOf(project)), describedAs(project) === 'message' ? 'message' : null);
    return describedAs(project);
  };
  assert.equal(await waitingFor({ status: 'idle' }), 'message');
  assert.equal(await waitingFor({ status: 'idle', statusUpdatedAt: Date.now() }), 'answer', 'a turn may begin');
  assert.equal(await waitingFor({ status: 'busy' }), 'answer');
});

const describedAs = ({ files, env }: Project): unknown => describeLoop(files, env).live?.waitingFor;

test('status says how long a client that records no dialogs is silent; control: one that records them', async (t) => {
  const project = aProject(t);
  await recorded(project, { status: 'busy' });
  const { transcriptPath } = stateOf(project).marks;
  assert.ok(transcriptPath !== null);
  const live = () => describeLoop(project.files, project.env).live as Status & LiveLoop;
  const silence = () => live().silentSince;
  const written = new Date(1_000 * Math.floor(Date.now() / 1_000) - 180_000);
  utimesSync(transcriptPath, written, written);
  assert.equal(silence(), undefined, 'control: Claude Code says that it works');
  rmSync(join(project.directory, '..', 'client', 'sessions'), { recursive: true });
  assert.equal(silence(), written.toISOString());
  const context = { now: () => new Date().toISOString(), paint: (_: string, text: string) => text };
  assert.match(
    statusText(live(), context as CommandContext),
    /process \d+, silent for 3m: a long call, or it is waiting for your answer/,
  );
  utimesSync(transcriptPath, new Date(), new Date());
  assert.equal(silence(), undefined, 'control: it has just written');
});

test('explain names the question that a session asks', async (t) => {
  const project = aProject(t);
  await recorded(project, PERMISSION);
  assert.match(String(standingOf(project.files, stateOf(project), true).next), /^Answer the question in its session/);
});

test('status, explain and the status line name a wait in the middle of an iteration until it is over', async (t) => {
  const at = new Date().toISOString();
  const until = '2099-01-01T00:00:00Z';
  const retry = { type: 'wait.started', why: 'retry', until };
  const background = { type: 'background.awaited', until, message: 'For the server.' };
  for (const [events, why, explained] of [
    [[retry], 'retry', /^The last agent could not work; the next one starts at /],
    [[background], 'background', /^It waits for background work of its agent, until /],
    [[retry, { type: 'iteration.started' }], null, /working on iteration 2/],
    [[background, { type: 'turn.released' }], null, /working on iteration 2/],
    [[{ ...retry, until: '2020-01-01T00:00:00Z' }], null, /working on iteration 2/],
    [[{ ...retry, why: 'idle' }], null, /working on iteration 2/],
  ] as const) {
    const project = aProject(t);
    await recorded(project, { status: 'busy' });
    const { loopId, clientPid, clientStartedAt } = stateOf(project);
    for (const event of events) appendEvent(project.files, { at, loopId, iteration: 1, ...event });
    assert.equal(describedAs(project), why, JSON.stringify(events));
    assert.match(String(standingOf(project.files, stateOf(project), true).why), explained);
    rewrite(project, { clientPid: 2 ** 22 - 1 });
    assert.equal(describedAs(project), null, 'control: a driver that has exited waits for nothing');
    rewrite(project, { clientPid, clientStartedAt });
  }
});

test('the status line of a narrow terminal shows the whole message of a pause, with the way on', async (t) => {
  const project = aProject(t);
  await recorded(project, {});
  operate(project.files, project.env, new Date().toISOString(), () => ({ kind: 'pause' }));
  const shown = async (COLUMNS?: string): Promise<string[]> => {
    const lines: string[] = [];
    const env = { ...project.env, COLUMNS };
    await printStatusLine('{}', project.files, env, new Date().toISOString(), (line) => lines.push(line));
    return lines.slice(1).join('\n').split('\n');
  };
  const [whole = '', ...none] = await shown();
  assert.deepEqual(none, [], 'control: one line where the client does not tell its width');
  assert.match(whole, /^ralph-loop: Paused by the user\..*resume/);
  const wrapped = await shown('44');
  assert.ok(wrapped.length > 1 && wrapped.every((line) => line.length <= 40), wrapped.join('\n'));
  assert.equal(wrapped.join(' ').replace(/\s+/g, ' '), whole);
});
