import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { hookCommand } from '../../src/hosts/host.ts';
import { DIST, type Project, project } from '../support/project.ts';

const STATE = '.claude/context/runtime/ralph-state.json';
const INTERRUPTED = {
  status: 'paused',
  turn: 'rest',
  paused: {
    since: '2026-02-28T10:00:00Z',
    reason: 'interrupted',
    message: 'the turn was interrupted.',
    resumesAt: null,
  },
};

const stateOf = (p: Project) => JSON.parse(p.read(STATE)) as Record<string, unknown>;

/** A process that calls the hook of a session's start as a client does, once for each payload. `server`: it serves many. */
function client(context: TestContext, p: Project, host: string, server = false) {
  const file = join(DIST, 'hooks', 'session-start.cjs');
  const { command } = hookCommand('SessionStart', `'${process.execPath}' '${file}'`, host);
  const each = `while read -r payload; do printf %s "$payload" | /bin/sh -c ${JSON.stringify(command)}; echo; done`;
  const { loopId } = stateOf(p);
  const process_ = spawn('/bin/sh', ['-c', each, server ? 'app-server' : 'client'], {
    cwd: p.dir,
    env: { ...p.env, RALPH_ACTIVE: '1', RALPH_LOOP_ID: String(loopId), CLAUDE_PID: String(process.pid) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  context.after(() => process_.kill('SIGKILL'));
  const answers = createInterface({ input: process_.stdout });
  return {
    pid: process_.pid,
    begins: async (session_id: string, source: string): Promise<void> => {
      const answered = once(answers, 'line');
      const payload = { hook_event_name: 'SessionStart', session_id, source, cwd: p.dir, transcript_path: null };
      process_.stdin.write(`${JSON.stringify(payload)}\n`);
      await answered;
    },
    end: async (): Promise<void> => {
      const ended = once(process_, 'exit');
      process_.kill('SIGKILL');
      await ended;
    },
  };
}

function started(context: TestContext): Project {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.equal(p.ralph(['start']).code, 0);
  return p;
}

for (const host of ['codex', 'gemini']) {
  test(`a paused loop in a live session of ${host} resumes there, and is started again when that is gone`, async (t) => {
    const p = started(t);
    const session = client(t, p, host);
    await session.begins('first', 'startup');
    assert.equal(stateOf(p)['clientPid'], session.pid);
    p.write(STATE, { ...stateOf(p), ...INTERRUPTED });
    assert.match(p.ralph(['start', '--resume']).stderr, /A loop is already running/);
    assert.match(p.ralph(['resume']).stdout, /resumed.*in its session/);
    assert.deepEqual([stateOf(p)['status'], stateOf(p)['sessionId']], ['running', 'first']);

    await session.end();
    assert.equal(p.ralph(['resume']).code, 0);
    assert.deepEqual([stateOf(p)['status'], stateOf(p)['sessionId']], ['running', null], 'ready for a new client');
  });
}

test('another conversation in the process of a client takes its loop only by /clear', async (t) => {
  const p = started(t);
  const session = client(t, p, 'codex');
  await session.begins('first', 'startup');
  await session.begins('beside', 'startup');
  assert.equal(stateOf(p)['sessionId'], 'first');
  await session.begins('cleared', 'clear');
  assert.equal(stateOf(p)['sessionId'], 'cleared');
  assert.match(p.ralph(['stop']).stdout, /will stop after the current iteration/, 'not in the middle of its turn');
});

test('the life of a server of many sessions says nothing about one of them', async (t) => {
  const p = started(t);
  const server = client(t, p, 'codex', true);
  await server.begins('first', 'startup');
  assert.deepEqual([stateOf(p)['sessionId'], stateOf(p)['clientPid']], ['first', null]);
  p.write(STATE, { ...stateOf(p), ...INTERRUPTED });
  const { stdout } = p.ralph(['resume']);
  assert.match(stdout, /resumed\. Send any message in its session.*If that session is gone: .*start --resume\./);
  assert.equal(stateOf(p)['sessionId'], 'first', 'it may be at work, so no other client is prepared');
  assert.equal(p.ralph(['start', '--resume']).code, 0);
  assert.equal(stateOf(p)['sessionId'], null, 'control: the way on');
});

test('a session of Codex that lets its agent type into commands runs none', (t) => {
  const p = started(t);
  const file = join(DIST, 'hooks', 'pre-tool-use.cjs');
  const { command } = hookCommand('PreToolUse', `'${process.execPath}' '${file}'`, 'codex');
  const { loopId } = stateOf(p);
  const asks = (argv0: string, words: readonly string[], tool_name = 'Bash', tool_input: object = { command: 'ls' }) =>
    spawnSync('/bin/sh', ['-c', `/bin/sh -c ${JSON.stringify(command)}; exit $?`, ...words], {
      argv0,
      cwd: p.dir,
      env: { ...p.env, RALPH_ACTIVE: '1', RALPH_LOOP_ID: String(loopId) },
      input: JSON.stringify({ hook_event_name: 'PreToolUse', session_id: 's', cwd: p.dir, tool_name, tool_input }),
      encoding: 'utf8',
    });
  const denied = asks('/opt/codex', ['exec']);
  assert.equal(denied.status, 2);
  assert.match(
    denied.stderr,
    /type into running commands.*RALPH_ACTIVE=1 codex --no-daemon --disable unified_exec_tty/,
  );
  assert.equal(asks('/opt/codex', ['exec', '--disable', 'unified_exec_tty']).status, 0, 'control: without a terminal');
  assert.equal(asks('/opt/codex', ['exec', '--enable', 'unified_exec_tty']).status, 2, 'no word that only names it');
  assert.equal(asks('/opt/another', ['exec']).status, 0, 'control: another program');
  assert.equal(asks('/opt/codex', ['exec'], 'view_image', { path: 'a.png' }).status, 0, 'control: no command');
});
