import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { descendants, lives } from '../support/client/process-tree.ts';
import { commandHere } from '../support/command-here.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { billingClient } from './support/billing-client.ts';
import {
  agents,
  batchEnd,
  begun,
  git,
  jobs,
  log,
  mostAtOnce,
  notes,
  OWN_FILE,
  repository,
  run,
} from './support/side-by-side.ts';

test('parallel tasks run on separate branches, never more than the limit', (t) => {
  const names = ['a', 'b', 'c'];
  const p = repository(t, names);
  const answer = run(p, [...jobs(names), '--parallel', '2', '--json'], { AT_ONCE: '2' });
  assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  assert.equal(mostAtOnce(log(p)), 2, log(p).join(' '));
  const end = batchEnd(answer);
  assert.deepEqual(
    end.tasks.map(({ loop, status }) => `${loop} ${status}`),
    names.map((name) => `${name} complete`),
  );
  for (const name of names) assert.equal(git(p, `log --format=%s main..ralph/${name}`), `Add ${name}`);
  assert.equal(git(p, 'log --format=%s main'), 'first');
});

test('several tasks without --parallel run in order; in a pipe each line is plain and names its loop', async (t) => {
  const p = repository(t, ['b', 'a']);
  const { code, stdout, stderr } = run(p, jobs(['b', 'a']));
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(log(p), ['+b', '-b', '+a', '-a']);
  assert.equal(stdout.includes('\u001b'), false);
  const [told = '', table = ''] = stdout.split('\n\n');
  for (const line of told.split('\n')) assert.match(line, /^\[[ab]\] /);
  assert.match(told, /^\[b\] ─── Iteration 1 of 3 ───$/m);
  assert.match(
    table,
    /^task {3}title {2}state +proof {2}files {2}iterations +time {2}branch\nb {6}Do b\. {2}complete +none +1 +1 +\S+ {2}ralph\/b\na /,
  );
  const list = (await commandHere(p, ['list'])).stdout;
  assert.match(list, /^b, a +complete +2 of 2 /m, 'one entry for both');
  assert.doesNotMatch(list, /worktree/);
});

test('of tasks side by side, those of a lazy and of a lying agent are not verified', (t) => {
  const acts = {
    lazy: ':',
    lying: 'echo Done. >> jobs/lying/RALPH.md; git commit -q --allow-empty -m Done',
    honest: OWN_FILE,
  };
  const names = Object.keys(acts);
  const work = Object.entries(acts).map(([name, act]) => `[ $name = ${name} ] && { ${act.trimEnd()}; }\n`);
  const p = repository(t, names, `${work.join('')}true\n`, 'max_iterations: 1\nvalidation: ["true"]');
  const answer = run(p, [...jobs(names), '--parallel', '2', '--require-verified', '--integrate', 'merge', '--json']);
  assert.equal(answer.code, 3, answer.stdout + answer.stderr);
  const proofs = batchEnd(answer).tasks.map(({ loop, ...end }) => [loop, 'proved' in end ? end.proved : null]);
  assert.deepEqual(proofs, [
    ['lazy', { proof: 'none', files: 0 }],
    ['lying', { proof: 'none', files: 1 }],
    ['honest', { proof: 'still-green', files: 1 }],
  ]);
  assert.equal(git(p, 'log --format=%s main -- honest.txt'), 'Add honest');
  assert.equal(git(p, 'branch --list ralph/lazy ralph/lying --format=%\\(refname:short\\)'), 'ralph/lazy\nralph/lying');
});

longTest('an agent cannot change the checks of a task that has not begun', (t) => {
  const names = ['a', 'b'];
  const cheat = `[ $name = b ] || sed -i s/fails/true/ "$MAIN_DIR/jobs/b/RALPH.md"\n${OWN_FILE}`;
  const p = repository(t, names, cheat, 'max_iterations: 1\nvalidation: ["test ! -e b.txt # fails"]');
  const more = { MAIN_DIR: p.dir };
  const answer = run(p, [...jobs(names), '--parallel', '1'], more);
  assert.equal(answer.code, 1, answer.stdout + answer.stderr);
  assert.match(answer.stdout, /the settings of jobs\/b\/RALPH\.md have changed since the run began/);
  assert.deepEqual(log(p), ['+a', '-a']);
  // Control: the user takes them by a resume.
  assert.deepEqual([run(p, ['--resume'], more).code, log(p).slice(2)], [2, ['+b', '-b']]);
});

longTest('a worktree whose task has other settings than the one here is named, with what to do', (t) => {
  const names = ['a', 'b'];
  const p = repository(t, names, OWN_FILE, 'max_iterations: 1\nvalidation: ["test -e never"]');
  assert.equal(run(p, [...jobs(names), '--parallel', '2']).code, 2);
  const text = p.read('jobs/b/RALPH.md').replace('test -e never', 'test -e b.txt');
  p.write('jobs/b/RALPH.md', text);
  const fresh = run(p, [...jobs(names), '--parallel', '2', '--fresh']);
  assert.match(
    fresh.stdout,
    /settings of jobs\/b\/RALPH\.md in the worktree b differ from those here\. Copy .* and resume\. Remove it: .* worktree remove b/,
  );
  p.write('.ralph/worktrees/b/jobs/b/RALPH.md', text);
  assert.match(run(p, ['--resume']).stdout, /^b +Do b\. +complete/m);
});

test('every problem is reported before anything is created', (t) => {
  const p = repository(t, ['a', 'b']);
  p.write('jobs/b/RALPH.md', '---\nmax_iterations: many\n---\nDo b.\n');
  const { code, stderr } = run(p, jobs(['a', 'b', 'a']));
  assert.equal(code, 1);
  assert.match(stderr, /jobs\/b\/RALPH\.md cannot be started:\n.*max_iterations/);
  assert.match(stderr, /the task jobs\/a\/RALPH\.md is named twice/);
  assert.equal(existsSync(join(p.dir, '.ralph')), false);
  assert.deepEqual(log(p), []);
});

test('a task that cannot start is reported in the words of its own run, with the advice for its loop', (t) => {
  const p = repository(t, ['a', 'b']);
  const answer = run(p, [...jobs(['a', 'b']), '--worktree-setup', 'echo "ralph-loop: mine"; exit 5', '--json']);
  const [first] = batchEnd(answer).tasks;
  const expected =
    /^the worktree's set-up failed \(.*: exit code 5\), .* Its output:\nralph-loop: mine\n Fix it.*ralph-loop worktree remove a\.$/;
  assert.match(first?.message ?? '', expected);
  assert.deepEqual(log(p), []);
});

test('refuses options of one task for several', (t) => {
  const p = repository(t, ['a', 'b']);
  const OPTIONS = [
    ['--loop', 'x'],
    ['--tdd'],
    ['--plan'],
    ['--parallel', '0'],
    ['--parallel', '65'],
    ['--integrate', 'x'],
  ];
  for (const words of someOf(OPTIONS, 2)) {
    const { code, stderr } = run(p, [...jobs(['a', 'b']), ...words]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(words[0] ?? ''), stderr);
  }
  assert.deepEqual(log(p), []);
});

test('the work is merged in the order of the tasks, with what their agents left uncommitted', (t) => {
  const p = repository(t, ['a', 'b'], `${OWN_FILE}echo more > "more-$name.txt"\n`);
  const { code, stdout, stderr } = run(p, [...jobs(['a', 'b']), '--parallel', '2', '--integrate', 'merge']);
  assert.equal(code, 0, stdout + stderr);
  for (const file of ['a.txt', 'b.txt', 'more-a.txt', 'more-b.txt']) assert.ok(p.has(file), file);
  assert.equal(git(p, 'branch --list "ralph/*"'), '');
  assert.deepEqual(readdirSync(join(p.dir, '.ralph/worktrees')), []);
  assert.equal(git(p, 'status --short -- . :!.claude'), '');
});

test('a rebase gives one line of commits', (t) => {
  const p = repository(t, ['a', 'b']);
  const { code, stdout, stderr } = run(p, [...jobs(['a', 'b']), '--integrate', 'rebase']);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(git(p, 'log --format=%s --no-merges main'), 'Add b\nAdd a\nfirst');
  assert.equal(git(p, 'log --format=%s --merges main'), '');
});

for (const how of someOf(['merge', 'rebase'], 2)) {
  test(`a conflict (${how}) leaves both branches as they were, and the exit code says so`, (t) => {
    const p = repository(t, ['a', 'b'], 'echo "$name" > same.txt; git add same.txt; git commit -qm "Write $name"\n');
    const { code, stdout } = run(p, [...jobs(['a', 'b']), '--integrate', how]);
    assert.equal(code, 3, stdout);
    assert.match(stdout, /b: ralph\/b conflicts with the current branch in same\.txt/);
    assert.equal(p.read('same.txt'), 'a\n');
    assert.equal(git(p, 'status --short -- . :!.claude'), '');
    assert.equal(git(p, 'log --format=%s -1 ralph/b'), 'Write b');
    assert.equal(git(p, 'log --format=%s -1 main').includes('b'), false);
    assert.match(p.ralph(['undo', 'a']).stderr, /The work of a was integrated/);
  });
}

test('nothing is merged over changes of the user, as start and end say, until a resume without them', (t) => {
  const p = repository(t, ['a', 'b'], 'echo "$name" > "$name.txt"\n');
  p.write('work.sh', `${OWN_FILE}# changed\n`);
  const { code, stdout, stderr } = run(p, [...jobs(['a', 'b']), '--integrate', 'merge']);
  assert.equal(code, 3, stdout);
  assert.match(
    stderr,
    /1 uncommitted change here keeps --integrate merge from changing the project: commit or stash it before the loops end\./,
  );
  assert.equal(stdout.match(/^ +nothing was integrated: the project has 1 uncommitted change/gm)?.length, 2, stdout);
  assert.match(stdout, /^total +0 of 2 done/m);
  assert.equal(p.has('a.txt'), false);
  for (const name of ['a', 'b']) assert.equal(git(p, `show ralph/${name}:${name}.txt`), name, 'there to be merged');
  assert.match(
    stdout,
    /\nralph-loop: 0 of 2 tasks complete\. Once nothing is in the way, integrate the rest: \S+ resume\.\n/,
  );
  git(p, 'checkout -q work.sh');
  const again = p.ralph(['resume']);
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.match(again.stderr, /all tasks have ended; integrating their work\./);
  assert.deepEqual([p.read('a.txt'), p.read('b.txt')], ['a\n', 'b\n']);
  assert.match(p.ralph(['resume']).stderr, /There is no live or incomplete loop to resume/, 'nothing is left');
});

test('beside uncommitted changes, unverified work keeps its own reason with --require-verified', (t) => {
  const p = repository(t, ['a', 'b']);
  p.write('jobs/a/RALPH.md', p.read('jobs/a/RALPH.md').replace('---\n', '---\nvalidation: ["test -e a.txt"]\n'));
  git(p, 'commit -qam check');
  p.write('work.sh', `${OWN_FILE}# changed\n`);
  const { stdout } = run(p, [...jobs(['a', 'b']), '--integrate', 'merge', '--require-verified']);
  assert.match(stdout, /^a .*\n +nothing was integrated: the project has 1 uncommitted change/m);
  assert.match(stdout, /^b .*\n +b: nothing was integrated, because no check has verified its work\.$/m);
});

test('pr pushes the branches and reports a missing gh', (t) => {
  const p = repository(t, ['a']);
  p.sh('git init -q --bare ../remote.git && git remote add origin ../remote.git');
  const { code, stdout } = run(p, [...jobs(['a']), '--integrate', 'pr'], { PATH: p.env['PATH'] });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /a: pushed ralph\/a to origin; gh is not installed/);
  const tip = git(p, 'rev-parse --short=10 ralph/a');
  assert.match(stdout, new RegExp(`^a .* complete .* ${tip}$`, 'm'), 'the commit that was pushed');
  assert.equal(git(p, '--git-dir ../remote.git log --format=%s -1 ralph/a'), 'Add a');
});

test('pr opens a pull request with gh, with the end of the loop as its body', (t) => {
  const p = repository(t, ['a']);
  p.sh('git init -q --bare ../remote.git && git remote add origin ../remote.git');
  p.write(
    '../bin/gh',
    '#!/bin/sh\n[ "$2" = list ] && exec echo "[]"\nprintf "%s\\n" "$@" > "$NOTES/gh"\ncat >> "$NOTES/gh"\necho https://example.invalid/pull/1\n',
    0o755,
  );
  const { code, stdout } = run(p, [...jobs(['a']), '--integrate', 'pr'], {
    PATH: `${join(p.dir, '..', 'bin')}:${p.env['PATH']}`,
  });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /a: opened https:\/\/example\.invalid\/pull\/1/);
  const words = readFileSync(join(notes(p), 'gh'), 'utf8');
  assert.match(
    words,
    /^pr\ncreate\n--head\nralph\/a\n--title\nralph-loop: a\n--body-file\n-\n(?:```\n)?Complete after 1 iteration/,
  );
});

test('a budget is for all loops together', (t) => {
  // More iterations than the budget allows, whichever loop is faster.
  const p = repository(t, ['a', 'b', 'c'], undefined, 'max_iterations: 9');
  // Each run costs a dollar and claims nothing.
  const { env, billed } = billingClient(p, [{ end: 'ok', messages: [[1_000_000, 0, 0, 0]] }]);
  const words = ['--permission-mode', 'acceptEdits', '--max-cost', '2.5', '--parallel', '2', '--json'];
  const answer = p.ralph(['run', ...jobs(['a', 'b', 'c']), ...words], agents(p, env));
  assert.equal(answer.code, 2, answer.stdout + answer.stderr);
  const end = batchEnd(answer);
  const [input = 0] = billed();
  assert.ok(input >= 3_000_000 && input <= 4_000_000, `${input / 1e6} dollars, at most one run a loop more`);
  assert.ok(end.tasks.some(({ status }) => status === 'budget-exhausted'));
  assert.ok(
    end.tasks.every(({ step }) => step !== 'ended'),
    'they can be resumed with a larger budget',
  );
  assert.match(answer.stdout, /run --resume --max-cost 5\b/, 'the end of a loop names the run of all of them');
  assert.doesNotMatch(answer.stdout, /resume [abc]\b/, 'a loop that is resumed alone would have no limit');
  assert.match(p.ralph(['status']).stdout, /\. Not all tasks have ended\. Grant more: \S+ resume --max-cost 5\./);
  const more = p.ralph(
    ['run', '--resume', '--max-cost', '3.5', '--json', '--permission-mode', 'acceptEdits'],
    agents(p, env),
  );
  assert.equal(more.code, 2, more.stdout + more.stderr);
  const [after = 0] = billed();
  assert.ok(after >= input && after <= 5_500_000, `${after / 1e6} dollars`);
});

test('the last run of a loop counts for those that come after it', (t) => {
  const p = repository(t, ['a', 'b'], OWN_FILE, 'max_iterations: 1');
  const { env, billed } = billingClient(p, [{ end: 'ok', messages: [[1_500_000, 0, 0, 0]] }]);
  const words = ['--permission-mode', 'acceptEdits', '--max-tokens', '1000000', '--json'];
  const answer = p.ralph(['run', ...jobs(['a', 'b']), ...words], agents(p, env));
  assert.equal(answer.code, 2, answer.stdout + answer.stderr);
  assert.deepEqual(billed(), [1_500_000, 0, 0, 0]);
  assert.deepEqual(
    batchEnd(answer).tasks.map(({ step }) => step),
    ['ended', 'waiting'],
  );
});

longTest('Ctrl+C ends the loops after their iterations and begins no other; resume continues the rest', async (t) => {
  const p = repository(t, ['a', 'b', 'c'], `while [ ! -e "$NOTES/go" ]; do sleep 0.02; done\n${OWN_FILE}`);
  const words = ['run', ...jobs(['a', 'b', 'c']), '--parallel', '2', '--agent', './agent.sh'];
  const { child, said, over } = begun(p, words);
  await until('two agents at work', () => log(p).length >= 2);
  child.kill('SIGINT');
  await until('it says so', () => said().includes('The loops stop after their current iterations'));
  p.write('../notes/go', '');
  const code = await over;
  assert.deepEqual(
    log(p)
      .filter((line) => line.startsWith('+'))
      .sort(),
    ['+a', '+b'],
    said(),
  );
  assert.equal(code, 3, said());
  const again = p.ralph(['run', '--resume'], agents(p));
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.match(again.stderr, /1 of 3 tasks has not ended and is resumed/);
  assert.deepEqual(
    log(p)
      .filter((line) => line.startsWith('+'))
      .sort(),
    ['+a', '+b', '+c'],
  );
});

const PRESSES = [
  { presses: 1, left: 'stopped', code: 3 },
  { presses: 2, left: 'cancelled', code: 130 },
];
// One press is in the tests of a plan as well.
for (const { presses, left, code } of someOf(PRESSES, 2, 1))
  test(`loops that Ctrl+C has ${left} go on by a resume of the run`, async (t) => {
    const keys = 'max_iterations: 30\nvalidation: [\'test -e "$NOTES/pass"\']';
    const p = repository(t, ['a', 'b'], 'while [ ! -e "$NOTES/go" ]; do sleep 0.05; done\necho more >> a.txt\n', keys);
    const words = ['run', ...jobs(['a', 'b']), '--parallel', '2', '--agent', './agent.sh', '--json'];
    const { child, said, over } = begun(p, words);
    await until('two agents at work', () => log(p).length >= 2);
    child.kill('SIGINT');
    await until('the first is taken', () => said().includes('The loops stop after their current iterations'));
    const tree = descendants(child.pid ?? 0);
    if (presses === 2) child.kill('SIGINT');
    else p.write('../notes/go', '');
    assert.equal(await over, code, said());
    await until('the loops and their agents have ended', () => !tree.some(lives));
    assert.equal((await commandHere(p, ['status'])).stdout.match(new RegExp(` ${left} `, 'g'))?.length, 2);
    p.write('../notes/go', '');
    p.write('../notes/pass', '');
    const again = p.ralph(['resume'], agents(p));
    assert.equal(again.code, 0, again.stdout + again.stderr);
    assert.match(again.stderr, /2 of 2 tasks have not ended and are resumed/);
  });

test('work that Ctrl+C left unintegrated is not done, says why, and is integrated by a resume', async (t) => {
  const waits = 'while [ ! -e "$NOTES/go" ]; do sleep 0.05; done';
  const keys = `max_iterations: 3\nvalidation: ['case "$PWD" in */worktrees/[ab]) ;; *) ${waits};; esac']`;
  const p = repository(t, ['a', 'b'], OWN_FILE, keys);
  const words = [...jobs(['a', 'b']), '--integrate', 'merge', '--agent', './agent.sh'];
  const { child, said, over } = begun(p, ['run', ...words]);
  await until('the checks run on the branch', () => said().includes('runs on a clean checkout'));
  child.kill('SIGINT');
  assert.equal(await over, 3, said());
  const { stdout } = await commandHere(p, ['status']);
  assert.match(stdout, /stopped, 0 of 2 tasks done/);
  for (const name of ['a', 'b'])
    assert.match(stdout, new RegExp(`^ +${name}: the run was stopped before its work was integrated`, 'm'));
  // A loop of the project that has ended since is what its own advice to resume means.
  p.write('.ralph/docs/task.md', '---\nmax_iterations: 1\nvalidation: ["false"]\n---\n- [ ] Work.\n');
  p.ralph(['run', '.ralph/docs', '--agent', './agent.sh'], agents(p));
  assert.match(
    p.ralph(['resume', '--max-iterations', '2'], agents(p)).stdout,
    /Loop docs is working on[\s\S]*Iteration 2 of 2/,
  );
  p.write('.claude/ralph/PROMPT.md', `---\nmax_iterations: 1\nvalidation: ["false"]\n---\nWork.\n`);
  assert.match(p.ralph(['run', '--agent', './agent.sh'], agents(p)).stdout, /ralph-loop resume --max-iterations 2/);
  assert.match(p.ralph(['resume', '--max-iterations', '2'], agents(p)).stdout, /Iteration 2 of 2/);
  assert.match((await commandHere(p, ['list'])).stdout, /^a, b +stopped +0 of 2 /m);
  p.write('../notes/go', '');
  assert.equal(p.ralph(['run', '--resume'], agents(p)).code, 0);
  assert.match((await commandHere(p, ['list'])).stdout, /^a, b +complete +2 of 2 /m);
});
