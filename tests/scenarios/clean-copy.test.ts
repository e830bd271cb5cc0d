import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { agreeTo } from '../support/agree-to.ts';
import { commitFolder } from '../support/git.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { agent, task } from './support/command-agent.ts';

const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
/** The result is built from what git knows: what the session has built proves nothing. */
const CHECKED = `validation: ["grep -q right build/result", "test -f cache/kept && test ! -e cache/other"]
max_iterations: 3`;
const SET_UP = 'mkdir -p build && cp source.txt build/result';
const IN_COPY = `${CHECKED}
verify_in: worktree
worktree_setup: ${SET_UP}
worktree_copy: ["cache/kept"]`;

/** What an agent leaves: a wrong source, and from somewhere the built result that the check asks for. */
function leftovers(p: Project): void {
  p.write('source.txt', 'wrong\n');
  p.write('build/result', 'right\n');
}

function inGit(context: TestContext): Project {
  const p = project(context);
  p.write('.gitignore', 'build/\ncache/\nagent.sh\nruns.txt\n.claude/\n');
  p.write('source.txt', 'none\n');
  p.write('cache/kept', 'x\n');
  commitFolder(p.dir);
  agreeTo(p.dir, p.env, { worktree_setup: SET_UP });
  return p;
}

function ended(p: Project): { readonly as: string; readonly verified: boolean; readonly iteration: number } {
  const folder = '.claude/context/runtime/ralph-archive';
  const [only] = readdirSync(join(p.dir, folder));
  const { ended: end, iteration } = JSON.parse(p.read(`${folder}/${only}`));
  return { as: end.as, verified: end.verified, iteration };
}

/** No copy is left, and the set-up touched nothing of the project. */
function assertNothingLeft(p: Project): void {
  const { copies } = loopFiles(p.dir, null, p.env);
  assert.deepEqual(p.sh(`ls -A '${copies}' 2> /dev/null`).stdout, '');
  assert.equal(p.read('build/result'), 'right\n');
}

function hook(p: Project, name: string, event: object): Record<string, unknown> {
  const payload = { session_id: 's', prompt_id: 'p', cwd: p.dir, ...event };
  const env = { RALPH_ACTIVE: '1', CLAUDE_PROJECT_DIR: p.dir, CLAUDE_PID: String(process.pid) };
  const { stdout, stderr } = p.sh(`exec node '${join(DIST, 'hooks', name)}'`, JSON.stringify(payload), env);
  assert.equal(stderr, '');
  return stdout === '' ? {} : JSON.parse(stdout);
}

const stop = (p: Project): Record<string, unknown> =>
  hook(p, 'ralph-stop-hook.cjs', { hook_event_name: 'Stop', last_assistant_message: `Built it.\n\n${DONE}` });

test('git in a clean copy does not work on the checkout that variables of the user name', (t) => {
  const p = inGit(t);
  task(
    p,
    'validation: ["test -f source.txt", "(git checkout -q -- source.txt || true)"]\nmax_iterations: 1\nverify_in: worktree',
  );
  const command = agent(p, `echo right > source.txt; echo ${DONE}`);
  const { code, stderr } = p.ralph(['run', '--plain', '--agent', command], {
    GIT_DIR: join(p.dir, '.git'),
    GIT_WORK_TREE: p.dir,
  });
  assert.equal(code, 0, stderr);
  assert.equal(p.read('source.txt'), 'right\n');
  p.sh('git checkout -q -- source.txt');
  assert.equal(p.read('source.txt'), 'none\n', 'control: such a command takes the work back');
});

test('what its agent has built beside the files of git proves nothing to a runner', (t) => {
  const p = inGit(t);
  p.write('cache/other', 'x\n');
  const second = 'test $(wc -l < runs.txt) -gt 1 && echo right > source.txt';
  const cmd = agent(p, `mkdir -p build; echo right > build/result; echo wrong > source.txt; ${second}; echo ${DONE}`);
  task(p, IN_COPY);
  const run = p.ralph(['run', '--plain', '--agent', cmd]);
  assert.equal(run.code, 0, run.stdout + run.stderr);
  assert.deepEqual(ended(p), { as: 'complete', verified: true, iteration: 2 });
  assertNothingLeft(p);
});

test('control: without verify_in the built result is enough', (t) => {
  const p = inGit(t);
  const cmd = agent(p, `mkdir -p build; echo right > build/result; echo wrong > source.txt; echo ${DONE}`);
  task(p, CHECKED);
  assert.equal(p.ralph(['run', '--plain', '--agent', cmd]).code, 0);
  assert.deepEqual(ended(p), { as: 'complete', verified: true, iteration: 1 });
});

test('a Stop rejects a claim that only left-over files of its session support', (t) => {
  const p = inGit(t);
  p.write('cache/other', 'x\n');
  task(p, IN_COPY);
  assert.equal(p.ralph(['start']).code, 0);
  hook(p, 'session-start.cjs', { hook_event_name: 'SessionStart', source: 'startup' });
  leftovers(p);
  const rejected = stop(p);
  assert.equal(rejected['decision'], 'block');
  assert.match(String(rejected['reason']), /grep -q right build\/result/);
  p.write('source.txt', 'right\n');
  assert.equal(stop(p)['decision'], undefined);
  assert.deepEqual(ended(p), { as: 'complete', verified: true, iteration: 2 });
  assertNothingLeft(p);
});

const PLACES = [
  ['', ''],
  [' in the sandbox', '\nsandbox: {mode: "on"}'],
] as const;

for (const [where, more] of someOf(PLACES, 2, 1)) {
  test(`a router checks a report on the copy${where}`, (t) => {
    const p = inGit(t);
    p.write('cache/other', 'x\n');
    // A check in the sandbox does not reach what is beside the project.
    const escapes = `touch '${join(p.dir, '..', 'escaped')}' 2> /dev/null; test -f source.txt`;
    task(p, `${IN_COPY.replace('validation: [', `validation: [${JSON.stringify(escapes)}, `)}${more}`);
    const first = p.ralph(['router', 'start']);
    assert.equal(first.json['action'], 'spawn', first.stdout + first.stderr);
    const report = (spawn: number): Record<string, unknown> => {
      p.write('../said.txt', `Built it.\n\n${DONE}`);
      return p.ralph(['router', 'report', '--spawn', String(spawn), '--file', '../said.txt']).json;
    };
    leftovers(p);
    const rejected = report(1);
    assert.match(String(rejected['prompt']), /grep -q right build\/result/, JSON.stringify(rejected));
    p.write('source.txt', 'right\n');
    const end = report(2);
    assert.deepEqual([end['action'], end['status'], end['verified']], ['stop', 'complete', true], JSON.stringify(end));
    assert.equal(p.has('../escaped'), where === '');
    assertNothingLeft(p);
  });
}
