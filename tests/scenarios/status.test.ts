import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { startHere } from '../support/drive/start-now.ts';
import { initRepository } from '../support/git.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';

const RUNTIME = '.claude/context/runtime';
const STATE = `${RUNTIME}/ralph-state.json`;
const FOUR_KEYS = {
  iteration: 3,
  startedAt: '2026-02-28T10:00:00Z',
  lastRunAt: '2026-02-28T10:15:00Z',
  lastFindingsCount: 5,
};
const ACTIVE_KEYS = ['active', ...Object.keys(FOUR_KEYS), 'promptExists', 'guardrailsExists'];

function started(p: Project, ...args: string[]): void {
  p.write('.claude/ralph/PROMPT.md', '# Task\n\nMake it work.\n');
  if (args.length === 0) startHere(p);
  else assert.equal(p.ralph(['start', ...args]).code, 0);
}

function changeState(p: Project, more: object, path = STATE): void {
  p.write(path, { ...JSON.parse(p.read(path)), ...more });
}

test('status without a state is inactive with a message', (t) => {
  const { code, json } = project(t).ralph(['status', '--json']);
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(json).slice(0, 2), ['active', 'message']);
  assert.deepEqual(json, { active: false, message: 'No active loop.', name: null, lastLoop: null });
});

test('status in a project without a loop says how to start one', (t) => {
  assert.equal(project(t).ralph(['status']).stdout, 'No active loop.\nStart one: ralph-loop run "TASK".\n');
});

test('status of a four-key state has exactly the former keys, first and in order', async (t) => {
  const p = project(t);
  p.write(STATE, FOUR_KEYS);
  const { json } = await commandHere(p, ['status', '--json']);
  assert.deepEqual(Object.keys(json).slice(0, ACTIVE_KEYS.length), ACTIVE_KEYS);
  assert.deepEqual(
    ACTIVE_KEYS.map((key) => json[key]),
    [true, ...Object.values(FOUR_KEYS), false, false],
  );
});

test('a four-key state keeps the limit of the configuration in status and list, and after a reset', async (t) => {
  const p = project(t);
  await commandHere(p, ['config', '--max-iterations', '7']);
  p.write(STATE, FOUR_KEYS);
  assert.match((await commandHere(p, ['status'])).stdout, /3 of 7 done/);
  assert.match((await commandHere(p, ['list'])).stdout, / 3\/7 /);
  assert.match(p.ralph(['report']).stderr, /only a session can continue it\. Take the loop over: ralph-loop resume/);
  await commandHere(p, ['reset']);
  assert.match((await commandHere(p, ['status'])).stdout, /3 iterations of 7,/);
});

for (const unknown of someOf([null, 'unknown'], 2)) {
  test(`a findings count of ${JSON.stringify(unknown)} is "unknown", and no row`, async (t) => {
    const p = project(t);
    p.write(STATE, { ...FOUR_KEYS, lastFindingsCount: unknown });
    assert.equal((await commandHere(p, ['status', '--json'])).json['lastFindingsCount'], 'unknown');
    assert.doesNotMatch((await commandHere(p, ['status'])).stdout, /findings|guardrails/);
    p.write(STATE, FOUR_KEYS);
    assert.match((await commandHere(p, ['status'])).stdout, /^ *findings +5$/m, 'control: a count is shown');
  });
}

test('status reports the prompt and the guardrails', async (t) => {
  const p = project(t);
  p.write(STATE, FOUR_KEYS);
  p.write('.claude/ralph/PROMPT.md', 'x');
  p.write('.claude/ralph/guardrails.md', 'x');
  const { promptExists, guardrailsExists } = (await commandHere(p, ['status', '--json'])).json;
  assert.deepEqual([promptExists, guardrailsExists], [true, true]);
});

test('status of a started loop has more keys after the former ones', async (t) => {
  const p = project(t);
  started(p);
  const { json } = await commandHere(p, ['status', '--json']);
  assert.deepEqual(Object.keys(json).slice(0, ACTIVE_KEYS.length), ACTIVE_KEYS);
  assert.deepEqual(
    [json['status'], json['mode'], json['maxIterations'], json['clientAlive'], json['promptExists']],
    ['running', 'hook', 25, null, true],
  );
});

test('status distinguishes a live client from one that has exited', async (t) => {
  const p = project(t);
  started(p);
  const alive = async (): Promise<unknown> => (await commandHere(p, ['status', '--json'])).json['clientAlive'];
  changeState(p, { sessionId: 's', clientPid: process.pid, clientStartedAt: null });
  assert.equal(await alive(), true);
  changeState(p, { clientPid: spawnSync('/bin/sh', ['-c', 'exit 0']).pid });
  assert.equal(await alive(), false);
});

test('a resume of a loop that no session has joined names no message in its session', async (t) => {
  const p = project(t);
  started(p);
  await commandHere(p, ['pause']);
  assert.equal((await commandHere(p, ['resume'])).stdout, 'The loop is resumed.\n');
});

test('a loop whose turn has ended without a hook is paused for every command, before the next message', async (t) => {
  const p = project(t);
  started(p);
  const state = (): Record<string, unknown> => JSON.parse(p.read(STATE)) as Record<string, unknown>;
  const marks = { ...(state()['marks'] as object), transcriptPath: join(p.dir, 'transcript.jsonl') };
  const at = '2026-01-01T00:00:00.000Z';
  const atWork = { sessionId: 's', clientPid: process.pid, clientStartedAt: null, turn: 'agent', marks };
  const lastDecision = { at, kind: 'prompt', detail: 'next iteration' };
  changeState(p, { ...atWork, lastDecision });
  const status = async (): Promise<unknown> => (await commandHere(p, ['status', '--json'])).json['status'];
  const said = (timestamp: string): void => {
    const content = [{ type: 'text', text: '[Request interrupted by user for tool use]' }];
    p.write('transcript.jsonl', `${JSON.stringify({ type: 'user', timestamp, message: { content } })}\n`);
  };
  said(at);
  assert.equal(await status(), 'running', 'control: the prompt came after it');
  said('2026-01-01T00:00:05.000Z');
  assert.equal(await status(), 'paused');
  assert.match((await commandHere(p, ['explain'])).stdout, /Paused: the turn was interrupted/);
  assert.match((await commandHere(p, ['list'])).stdout, /paused/);
  assert.equal(state()['status'], 'running', 'a look writes nothing');
  assert.match((await commandHere(p, ['resume'])).stdout, /The loop is resumed\. Send any message in its session/);
  assert.deepEqual([state()['status'], state()['turn'], await status()], ['running', 'rest', 'running']);
  assert.match((await commandHere(p, ['status'])).stdout, /^The loop is waiting for a message in its session\.$/m);
  assert.match((await commandHere(p, ['explain'])).stdout, /It is waiting for a message in its session/);
  const until = '2099-01-01T00:00:00Z';
  const waiting = { since: at, until, delayMs: 1, last: false, woken: false, seen: null };
  changeState(p, { status: 'waiting', waiting, turn: 'agent', lastDecision });
  assert.equal(await status(), 'paused', 'Codex ends a hook that waits without a signal');
  changeState(p, { status: 'running', waiting: undefined, lastDecision });
  const payload = { type: 'task_complete', error: { message: 'no such model' } };
  const failed = { timestamp: '2026-01-01T00:00:06.000Z', type: 'event_msg', payload };
  p.write('transcript.jsonl', `${JSON.stringify(failed)}\n`);
  assert.match(
    (await commandHere(p, ['status'])).stdout,
    /The loop is paused \(api error\)/,
    'Codex calls no hook for that',
  );
  assert.match((await commandHere(p, ['stop'])).stdout, /The loop has stopped/);
});

test('status of a paused and of a waiting loop says until when and why', async (t) => {
  const p = project(t);
  started(p);
  const since = '2026-01-01T00:00:00Z';
  const until = '2099-01-01T00:00:00Z';
  changeState(p, {
    status: 'waiting',
    waiting: { since, until, delayMs: 1, last: false, woken: false, seen: null },
  });
  const idle = (await commandHere(p, ['status', '--json'])).json;
  assert.deepEqual([idle['waitingUntil'], idle['waitingFor']], [until, 'idle']);
  assert.match((await commandHere(p, ['status'])).stdout, /^The loop is idle; it wakes in /, 'control');
  changeState(p, { sessionId: 's', clientPid: spawnSync('/bin/sh', ['-c', 'exit 0']).pid, clientStartedAt: null });
  assert.match((await commandHere(p, ['status'])).stdout, /^The loop is interrupted\./, 'no process waits any more');
  changeState(p, { clientPid: null });
  changeState(p, {
    status: 'waiting',
    waiting: { since, until, delayMs: 1, last: false, woken: false, seen: null, why: 'pace' },
  });
  const pace = (await commandHere(p, ['status', '--json'])).json;
  assert.deepEqual([pace['waitingUntil'], pace['waitingFor']], [until, 'pace']);
  changeState(p, { status: 'paused', paused: { since, reason: 'rate-limited', message: 'limit', resumesAt: until } });
  assert.deepEqual((await commandHere(p, ['status', '--json'])).json['paused'], {
    since,
    reason: 'rate-limited',
    message: 'limit',
    resumesAt: until,
  });
});

test('a state that is unreadable or newer is inactive, named and left alone', async (t) => {
  const p = project(t);
  for (const [content, message] of someOf(
    [
      ['{"half":', /is corrupt: .*ralph-loop reset/],
      ['{"schemaVersion":999}', /newer ralph-loop/],
    ] as const,
    2,
    1,
  )) {
    p.write(STATE, content);
    const { json } = await commandHere(p, ['status', '--json']);
    assert.equal(json['active'], false);
    assert.match(String(json['message']), message);
    assert.equal(p.read(STATE), content);
  }
});

test('reset without a state succeeds', (t) => {
  const { code, json } = project(t).ralph(['reset', '--json']);
  assert.equal(code, 0);
  assert.deepEqual(json, { success: true, message: 'There was no state to reset.' });
});

test('reset without the state of a loop frees the session that is in it', async (t) => {
  const p = project(t);
  started(p);
  const env = { ...p.env, RALPH_ACTIVE: '1', CLAUDE_PROJECT_DIR: p.dir };
  const hook = (file: string, payload: object): string => {
    const input = JSON.stringify({ session_id: 's1', cwd: p.dir, ...payload });
    return spawnSync(process.execPath, [join(DIST, 'hooks', `${file}.cjs`)], { env, input, encoding: 'utf8' }).stdout;
  };
  const own = { tool_name: 'Write', tool_input: { file_path: join(p.dir, '.claude/settings.json'), content: '' } };
  const call = (): string => hook('pre-tool-use', { hook_event_name: 'PreToolUse', ...own });
  hook('session-start', { hook_event_name: 'SessionStart', source: 'startup' });
  rmSync(join(p.dir, STATE));
  assert.match(call(), /own-files/, 'control: the rules hold in this session');
  assert.match(
    String((await commandHere(p, ['reset', '--json'])).json['message']),
    /^The state file of the loop was missing/,
  );
  assert.equal(call(), '');
  assert.equal((await commandHere(p, ['reset', '--json'])).json['message'], 'There was no state to reset.');
});

test('reset moves the whole state into the archive, and status says how the last loop ended', async (t) => {
  const p = project(t);
  started(p);
  const state = JSON.parse(p.read(STATE));
  const { json } = await commandHere(p, ['reset', '--json']);
  assert.deepEqual(Object.keys(json), ['success', 'message']);
  assert.equal(json['success'], true);
  assert.ok(!p.has(STATE));
  const last = (await commandHere(p, ['status', '--json'])).json['lastLoop'] as Record<string, unknown>;
  assert.deepEqual([last['loopId'], last['status'], last['verified']], [state.loopId, 'cancelled', false]);
  const archived = p.ralph(['archive', 'show', String(last['file'])]).json;
  for (const key of ['loopId', 'startedAt', 'iteration', 'contractHash']) assert.deepEqual(archived[key], state[key]);
});

for (const [what, content] of someOf(
  [
    ['a four-key state', JSON.stringify(FOUR_KEYS)],
    ['a state that cannot be read', '{"half":'],
  ] as const,
  2,
  1,
)) {
  test(`reset moves ${what} away, and the next loop can start`, async (t) => {
    const p = project(t);
    p.write(STATE, content);
    assert.equal((await commandHere(p, ['reset', '--json'])).json['success'], true);
    assert.ok(!p.has(STATE));
    assert.equal(readdirSync(join(p.dir, RUNTIME, 'ralph-archive')).length, 1);
    started(p);
  });
}

test('reset refuses while the client is alive, and --force ends the loop like cancel', async (t) => {
  const p = project(t);
  started(p);
  changeState(p, { sessionId: 's', clientPid: process.pid, clientStartedAt: null });
  const refused = await commandHere(p, ['reset']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /is alive.*reset --force/);
  assert.ok(p.has(STATE));
  assert.match(
    unattended(p, ['reset', '--force']).stderr,
    /"reset --force" shows what you agree to and waits until you type yes, so run it at a terminal/,
  );
  assert.match(inPerson(p, ['reset', '--force'], 'no').stderr, /nothing was reset/);
  assert.ok(p.has(STATE));
  const reset = inPerson(p, ['reset', '--force', '--json']);
  assert.equal(reset.json['success'], true);
  assert.match(reset.screen, /This loop is running.*\n {2}task .*PROMPT\.md\n {2}iterations {2}0 of 25 done/);
  assert.ok(!p.has(STATE));
});

test('no command about a live loop of a newer version advises a reset, which would refuse it', (t) => {
  const p = project(t);
  const path = '.claude/context/runtime/ralph-state.a.json';
  p.write(path, '{"schemaVersion":999}');
  for (const name of ['pause', 'stop', 'resume', 'reset']) {
    const { code, stderr } = p.ralph([name, 'a']);
    assert.equal(code, 1);
    assert.match(stderr, /^ralph-loop: the state file .* was written by a newer ralph-loop\. Update this one, or move/);
    assert.doesNotMatch(stderr, /ralph-loop reset/);
  }
  // Control: a torn one can be archived, by the command as it is printed.
  p.write(path, '{"schema');
  for (const name of ['pause', 'resume'])
    assert.match(
      p.ralph([name, 'a']).stderr,
      /cannot be used \(corrupt\)\. .*Archive it: ralph-loop reset --loop a\.$/m,
    );
  assert.equal(p.ralph(['reset', '--loop', 'a']).code, 0);
});

test('reset leaves the state of a newer version alone', async (t) => {
  const p = project(t);
  p.write(STATE, '{"schemaVersion":999}');
  const { code, stderr } = await commandHere(p, ['reset', '--force']);
  assert.equal(code, 1);
  assert.match(stderr, /newer/);
  assert.ok(p.has(STATE));
});

test('a named loop has a status of its own, and list shows all of them', async (t) => {
  const p = project(t);
  assert.deepEqual((await commandHere(p, ['list', '--json'])).json, { runs: [], loops: [] });
  started(p, '--loop', 'docs');
  started(p);
  await commandHere(p, ['reset', '.claude/ralph/PROMPT.md']);
  assert.equal((await commandHere(p, ['status', '--json'])).json['name'], 'docs', 'the only live one');
  assert.equal((await commandHere(p, ['status', '--loop', 'docs', '--json'])).json['active'], true);
  const loops = (await commandHere(p, ['list', '--json'])).json['loops'] as Record<
    string,
    Record<string, unknown> | null
  >[];
  assert.deepEqual(
    loops.map(({ name, live, lastLoop }) => [name, live?.['status'], lastLoop?.['status']]),
    [
      [null, undefined, 'cancelled'],
      ['docs', 'running', undefined],
    ],
  );
});

test('a live loop is shown, and not an ended run of which one task had its name', async (t) => {
  const p = project(t);
  for (const name of ['docs', 'site']) p.write(`${name}/RALPH.md`, '---\nmax_iterations: 1\n---\nWork.\n');
  initRepository(p.dir);
  p.sh('git add -A && git commit -qm start');
  assert.equal(p.ralph(['run', 'docs', 'site', '--agent', 'cat >/dev/null; echo fine']).code, 2);
  assert.match((await commandHere(p, ['status'])).stdout, /^docs, site: incomplete/, 'control');
  startHere(p, 'docs');
  assert.match((await commandHere(p, ['status'])).stdout, /^Loop docs is waiting for a session/);
  assert.match((await commandHere(p, ['explain'])).stdout, /^Loop docs: /);
});

test('a paused loop that no client has joined names the command that resumes it', async (t) => {
  const p = project(t);
  p.write('docs/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  startHere(p, 'docs');
  assert.match((await commandHere(p, ['status'])).stdout, /client +none yet\n/, 'control');
  await commandHere(p, ['pause']);
  assert.match((await commandHere(p, ['status'])).stdout, /client +none: \S.* resume docs\n/);
});
