import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DIST, type Project, project } from '../support/project.ts';
import { task } from './support/command-agent.ts';

const RUNTIME = '.claude/context/runtime';
const STATE = `${RUNTIME}/ralph-state.json`;
const OLD = 'node /old/build/scripts/main.cjs';

/** Runs a loop of one iteration in a session to its limit; `before` is called while it lives. Returns how it ended. */
function endMessage(p: Project, before: () => void): string {
  task(p, 'max_iterations: 1');
  assert.equal(p.ralph(['start', '--no-baseline']).code, 0);
  before();
  const payload = { session_id: 's', prompt_id: 'p', cwd: p.dir };
  const env = { RALPH_ACTIVE: '1', CLAUDE_PROJECT_DIR: p.dir, CLAUDE_PID: String(process.pid) };
  const hook = (name: string, event: object) =>
    p.sh(`exec node '${join(DIST, 'hooks', name)}'`, JSON.stringify({ ...payload, ...event }), env);
  hook('session-start.cjs', { hook_event_name: 'SessionStart', source: 'startup' });
  hook('ralph-stop-hook.cjs', { hook_event_name: 'Stop', last_assistant_message: 'Going on.' });
  const [only] = readdirSync(join(p.dir, RUNTIME, 'ralph-archive'));
  return JSON.parse(p.read(`${RUNTIME}/ralph-archive/${only}`)).ended.message;
}

test('a loop that an updated program ends names that program, not the one that started it', (t) => {
  const p = project(t);
  const message = endMessage(p, () => {
    p.write(STATE, JSON.stringify({ ...JSON.parse(p.read(STATE)), program: OLD }));
  });
  assert.match(message, /^Stopped after 1 iteration, the limit.* resume --max-iterations \d+\.$/);
  assert.ok(!message.includes('/old/build'), message);
});

test('control: a program on the PATH keeps its name', (t) => {
  const p = project(t);
  const message = endMessage(p, () => {
    p.write(STATE, JSON.stringify({ ...JSON.parse(p.read(STATE)), program: 'ralph-loop' }));
  });
  assert.match(message, / ralph-loop resume --max-iterations \d+\.$/);
});
