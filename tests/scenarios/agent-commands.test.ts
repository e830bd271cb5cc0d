import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const AGENT = { CLAUDECODE: '1' };

/** Each command as an agent would call it; those that take a word get one. */
const REFUSED = {
  run: [],
  stop: [],
  cancel: [],
  pause: [],
  resume: [],
  wake: [],
  steer: ['go faster'],
  undo: [],
  verify: [],
  accept: [],
  reset: [],
  config: [],
  init: [],
  uninit: [],
  archive: [],
  attach: [],
  dashboard: [],
  fleet: ['status'],
} as const;

const SERVED = {
  router: ['status'],
  tdd: ['status'],
  status: [],
  explain: [],
  check: [],
  logs: [],
  list: [],
  signs: [],
  plan: ['check', 'PLAN.md'],
  draft: ['make the tests pass'],
  scaffold: ['other'],
  doctor: [],
  report: [],
  completion: ['bash'],
} as const;

/** Helps with worktrees, which no ruling names. */
const OTHERS = ['worktree'];

test("every command either serves or refuses an agent's shell", () => {
  const known = [...Object.keys(REFUSED), ...Object.keys(SERVED), ...OTHERS, 'start'];
  assert.deepEqual(Object.keys(COMMANDS).sort(), known.sort());
});

function withLoop(context: TestContext): Project {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.equal(p.ralph(['start']).code, 0);
  return p;
}

test('what is for the user is refused in the shell of an agent, and nothing changes', (context) => {
  const p = withLoop(context);
  const before = p.tree();
  for (const [name, args] of someOf(Object.entries(REFUSED), 2)) {
    for (const env of name === 'run' ? [AGENT, { RALPH_DRIVER: 'runner' }, { CODEX_CI: '1' }] : [AGENT]) {
      const { code, stderr } = p.ralph([name, ...args], env);
      assert.equal(code, 1, stderr);
      assert.match(stderr, new RegExp(`"${name}" is for the user.*another terminal, outside the agent's client`, 's'));
    }
    assert.deepEqual(p.tree(), before, name);
  }
});

test('every other command serves an agent as it serves the user', (context) => {
  const p = withLoop(context);
  for (const [name, args] of someOf(Object.entries(SERVED), 3)) {
    const { stderr } = p.ralph([name, ...args], AGENT);
    assert.doesNotMatch(stderr, /for the user/, name);
  }
});

test('start by an agent starts nothing: it asks for a loop that awaits consent', (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.equal(p.ralph(['start', '--launch'], AGENT).code, 1);
  assert.equal(p.ralph(['start', '--consent'], AGENT).code, 1);
  assert.ok(!p.has('.claude/ralph-state.json'));
  assert.equal(p.ralph(['start', '--json'], AGENT).json['status'], 'awaiting-consent');
});
