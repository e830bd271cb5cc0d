import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeClient } from '../support/fake-client.ts';
import type { Project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import { until } from '../support/until.ts';
import { billingClient } from './support/billing-client.ts';
import { agents, batchEnd, begun, git, jobs, log, OWN_FILE, repository, run } from './support/side-by-side.ts';

const TWO = [...jobs(['a', 'b']), '--parallel', '2'];

/** Nothing is created: no worktree, no branch, no record of a run, no agent. */
function assertNothing(p: Project, branches = ''): void {
  assert.equal(existsSync(join(p.dir, '.ralph/worktrees/b')), false);
  assert.equal(git(p, 'branch --list "ralph/*"'), branches);
  assert.equal(git(p, 'worktree list').split('\n').length, 1);
  assert.deepEqual(records(p), []);
  assert.deepEqual(log(p), []);
}

function records({ env }: Project): string[] {
  const state = join(env['XDG_STATE_HOME'] ?? '', 'ralph-loop');
  if (!existsSync(state)) return [];
  return readdirSync(state, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('parallel.json'));
}

test('what stands in the way of one task is reported before any is begun', (t) => {
  const p = repository(t, ['a', 'b', 'x..y']);
  git(p, 'switch -qc ralph/a');
  git(p, 'commit -q --allow-empty -m own');
  git(p, 'switch -q main');
  p.write('.ralph/worktrees/a/mine', 'mine\n');
  const { code, stderr } = run(p, [...jobs(['a', 'b', 'x..y']), '--parallel', '2']);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /jobs\/a\/RALPH\.md: .*worktrees\/a exists and is not a worktree of this repository/);
  assert.match(stderr, /If git has lost it: git worktree repair \S+worktrees\/a$/m);
  assert.match(stderr, /jobs\/x\.\.y\/RALPH\.md: git does not allow a branch named ralph\/x\.\.y/);
  assert.match(stderr, /instead of --loop NAME, rename the folder of the task/);
  assertNothing(p, 'ralph/a');
  p.sh('rm -r .ralph');
  const again = run(p, TWO);
  assert.match(again.stderr, /jobs\/a\/RALPH\.md: the branch ralph\/a already exists, with 1 commit missing from HEAD/);
  assertNothing(p, 'ralph/a');
  assert.equal(run(p, [...jobs(['b']), '--parallel', '2']).code, 0, 'control: the other one alone is in nobody’s way');
});

test('tasks outside of a repository, or without a commit, are refused at once', (t) => {
  const p = repository(t, ['a', 'b']);
  p.sh('rm -r .git');
  assert.match(run(p, TWO).stderr, /is not in a git repository/);
  p.sh('git init -q');
  assert.match(run(p, TWO).stderr, /the repository has no commit yet/);
  assert.deepEqual([records(p), log(p)], [[], []]);
});

test('a missing client or permission mode is reported once, before anything is created', (t) => {
  const p = repository(t, ['a', 'b']);
  const none = p.ralph(['run', ...TWO, '--permission-mode', 'acceptEdits'], { ...agents(p), RALPH_CLAUDE: '/none' });
  assert.equal(none.code, 1);
  assert.match(none.stderr, /^ralph-loop: claude was not found on PATH[^\n]*\n$/);
  const mode = unattended(p, ['run', ...TWO], { ...agents(p), ...fakeClient(p) });
  assert.equal(mode.code, 1);
  assert.match(mode.stderr, /^ralph-loop: A headless loop needs a permission mode[^\n]*\n$/);
  assertNothing(p);
});

test('settings that widen permissions are agreed to once for all tasks, and refused without a terminal', (t) => {
  const p = repository(t, ['a', 'b'], OWN_FILE, 'max_iterations: 3\npermission_mode: bypassPermissions');
  const words = ['run', ...TWO, '--agent', './agent.sh', '--plain'];
  const refused = unattended(p, words, agents(p));
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /not agreed to: .*permission_mode: bypassPermissions {2}\(task file\)\. Pass it with --set KEY=VALUE/,
  );
  assertNothing(p);
  assert.equal(inPerson(p, words, 'no', agents(p)).code, 1);
  assertNothing(p);
  const agreed = inPerson(p, words, 'yes', agents(p));
  assert.equal(agreed.code, 0, agreed.stdout + agreed.stderr + agreed.screen);
  assert.equal(agreed.screen.match(/Use these settings from now on\?/g)?.length, 1, agreed.screen);
});

/** A client that notes the arguments it gets, a line for each run, after the name of its folder. */
function notingClient(p: Project): Record<string, string> {
  const { env } = billingClient(p, [{ end: 'ok', messages: [[10, 0, 0, 0]] }]);
  const note = `#!/bin/sh\necho "$(basename "$PWD") $*" >> "$NOTES/args"\nexec "${env['RALPH_CLAUDE']}" "$@"\n`;
  p.write('../billing/noting', note, 0o755);
  return { ...agents(p, env), RALPH_CLAUDE: join(p.dir, '../billing/noting') } as Record<string, string>;
}

test('a permission mode that is asked for holds for the tasks that name none', async (t) => {
  const p = repository(t, ['a', 'b']);
  p.write('jobs/a/RALPH.md', p.read('jobs/a/RALPH.md').replace('---\n', '---\npermission_mode: plan\n'));
  git(p, 'commit -qam mode');
  const screen = await peopleTerminal(t, p, `$RALPH run ${TWO.join(' ')} --max-iterations 1 --plain`, notingClient(p));
  await screen.waitFor(/Do a\. {2}jobs\/a[\s\S]*b: Claude Code 2\S*, edits files[\s\S]*\[Enter\] start/);
  await screen.key('Enter');
  await screen.waitForExit();
  const modes = p
    .read('../notes/args')
    .split('\n')
    .flatMap((line) => /^(\w) .*--permission-mode (\w+)/.exec(line)?.slice(1).join(' ') ?? []);
  assert.deepEqual(modes.sort(), ['a plan', 'b acceptEdits'], await screen.history());
});

test('the question about the sandbox is asked once, and its answer reaches every loop', async (t) => {
  const p = repository(t, ['a', 'b']);
  const words = `$RALPH run ${TWO.join(' ')} --max-iterations 1 --plain --permission-mode bypassPermissions`;
  const env = notingClient(p);
  const screen = await peopleTerminal(t, p, words, env);
  await screen.waitFor(/Sandbox \[Y\/n\/always\/never\]/);
  await screen.submit('y');
  await screen.waitForExit();
  const shown = await screen.history();
  assert.equal(shown.match(/Sandbox \[Y/g)?.length, 1, shown);
  assert.doesNotMatch(shown, /bypassPermissions without a sandbox/);
  const confined = (): string[] =>
    p
      .read('../notes/args')
      .split('\n')
      .filter((line) => /"sandbox":\{"enabled":true/.test(line));
  assert.equal(confined().length, 2, p.read('../notes/args'));
  const none = unattended(
    p,
    ['run', ...TWO, '--fresh', '--max-iterations', '1', '--permission-mode', 'bypassPermissions'],
    env,
  );
  assert.equal(none.stderr.match(/bypassPermissions without a sandbox/g)?.length, 1, none.stderr);
  assert.equal(confined().length, 2, 'control: where nobody is asked there is none');
});

longTest('uncommitted changes that the worktrees lack are named, those of the tasks are copied', (t) => {
  const p = repository(t, ['a', 'b'], 'cp jobs/$name/RALPH.md "$NOTES/task.$name"\n'.concat(OWN_FILE));
  p.write('new.txt', 'new\n');
  p.write('jobs/a/RALPH.md', `${p.read('jobs/a/RALPH.md')}And more.\n`);
  const { code, stdout, stderr } = run(p, TWO);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stderr, /1 uncommitted change of the project is not in the worktrees/);
  assert.match(p.read('../notes/task.a'), /And more\./);
});

longTest('--require-verified holds for each of the loops', (t) => {
  const p = repository(t, ['a', 'b']);
  p.write('jobs/b/RALPH.md', p.read('jobs/b/RALPH.md').replace('---\n', "---\nvalidation: ['true']\n"));
  git(p, 'commit -qam check');
  const answer = run(p, [...TWO, '--require-verified', '--json']);
  assert.equal(answer.code, 3, answer.stdout + answer.stderr);
  assert.deepEqual(
    batchEnd(answer).tasks.map(({ status, code }) => [status, code]),
    [
      ['complete', 3],
      ['complete', 0],
    ],
  );
});

test('an option without effect on a resumed run is refused, and the run stays resumable', (t) => {
  const p = repository(t, ['a', 'b']);
  assert.equal(run(p, [...TWO, '--max-time', '1ms']).code, 2);
  for (const words of someOf(
    [['--tdd'], ['--arg', 'x=1'], ['--from', 'x'], ['--max-tasks', '3'], ['--fresh'], ['jobs/a']],
    3,
  )) {
    const { code, stderr } = p.ralph(['run', '--resume', '--parallel', '2', ...words], agents(p));
    assert.equal(code, 1, stderr);
  }
  const loop = p.ralph(['run', ...TWO, '--fresh'], { ...agents(p), RALPH_LOOP: 'x' });
  assert.match(loop.stderr, /RALPH_LOOP names the loop x/);
  const again = p.ralph(['run', '--resume', '--max-time', '1h'], agents(p));
  assert.equal(again.code, 0, again.stdout + again.stderr);
});

longTest(
  'a task that a changed record calls complete is not believed, and the run is begun anew by hand alone',
  (t) => {
    const p = repository(t, ['a', 'b']);
    assert.equal(run(p, [...TWO, '--max-time', '1ms']).code, 2);
    const path = join(p.env['XDG_STATE_HOME'] ?? '', 'ralph-loop', records(p)[0] ?? '');
    const whole = readFileSync(path, 'utf8');
    const { tasks, ...rest } = JSON.parse(whole);
    const end = {
      status: 'complete',
      code: 0,
      iterations: 1,
      costUsd: 0,
      tokens: 0,
      message: 'Done.',
      integrated: 'merged',
    };
    const forged = tasks.map((task: object) => ({ ...task, step: 'ended', end }));
    writeFileSync(path, JSON.stringify({ ...rest, tasks: forged }));
    const resume = (...more: string[]) => p.ralph(['run', '--resume', '--max-time', '1h', ...more], agents(p));
    const refused = resume();
    assert.equal(refused.code, 1, refused.stdout);
    assert.match(
      refused.stderr,
      /record of the parallel run is lost: \S+parallel\.json was changed by another program/,
    );
    assert.match(run(p, TWO).stderr, /--fresh/, 'nor is it replaced without being asked to');
    assert.deepEqual(log(p), []);
    writeFileSync(path, whole);
    const again = resume();
    assert.equal(again.code, 0, again.stdout + again.stderr);
    assert.deepEqual(log(p).sort(), ['+a', '+b', '-a', '-b'], 'control: with its record both are worked on');
  },
);

longTest('a run whose record was deleted is named by a resume, and --fresh begins anew', (t) => {
  const p = repository(t, ['a', 'b']);
  assert.equal(run(p, [...TWO, '--max-time', '1ms']).code, 2);
  rmSync(join(p.env['XDG_STATE_HOME'] ?? '', 'ralph-loop', records(p)[0] ?? ''));
  assert.match(p.ralph(['run', '--resume'], agents(p)).stderr, /parallel\.json is missing/);
  const anew = run(p, [...TWO, '--fresh']);
  assert.equal(anew.code, 0, anew.stdout + anew.stderr);
  assert.deepEqual(log(p).sort(), ['+a', '+b', '-a', '-b']);
});

longTest('a wrong --parallel leaves the interrupted run to be resumed', (t) => {
  const p = repository(t, ['a', 'b', 'c']);
  assert.equal(run(p, [...TWO, '--max-time', '1ms']).code, 2);
  for (const value of someOf(['0', '-1', '1.5', 'abc', '65', ''], 3)) {
    assert.equal(run(p, [...jobs(['c']), '--fresh', `--parallel=${value}`]).code, 1, value);
  }
  assert.match(run(p, [...jobs(['c']), '--parallel']).stderr, /--parallel needs a value/);
  assert.match(run(p, ['--fresh', '--parallel', '2']).stderr, /name the tasks: run TASK/);
  assert.equal(p.ralph(['run', '--resume', '--max-time', '1h'], agents(p)).code, 0);
  assert.deepEqual(log(p).sort(), ['+a', '+b', '-a', '-b']);
});

test('of two runs that begin at the same time one is refused, and its tasks stay as they were', async (t) => {
  const p = repository(t, ['a', 'b', 'c', 'd'], `while [ ! -e "$NOTES/go" ]; do sleep 0.02; done\n${OWN_FILE}`);
  const words = (names: readonly string[]): string[] => [
    'run',
    ...jobs(names),
    '--parallel',
    '2',
    '--agent',
    './agent.sh',
  ];
  const both = [begun(p, words(['a', 'b'])), begun(p, words(['c', 'd']))];
  const first = await Promise.race(both.map(({ over }) => over));
  await until('two agents at work', () => log(p).length >= 2);
  p.write('../notes/go', '');
  const codes = await Promise.all(both.map(({ over }) => over));
  assert.equal(first, 1, both.map(({ said }) => said()).join('\n'));
  assert.deepEqual(codes.sort(), [0, 1]);
  assert.equal(log(p).length, 4, log(p).join(' '));
  assert.equal(git(p, 'branch --list "ralph/*"').split('\n').length, 2);
});
