import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Answer, type Project, project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { billingClient } from './support/billing-client.ts';
import { MAIN } from './support/command-agent.ts';

const GIT_ENV = {
  ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b.c', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b.c' },
};

/** The agent notes when it starts and ends, waits until `$AT_ONCE` agents have met, and commits a file of its own. */
const AGENT = `#!/bin/sh
cat > /dev/null
name=$(basename "$PWD")
echo "+$name" >> "$NOTES/log"
touch "$NOTES/here.$name"
while [ "$(ls "$NOTES" | grep -c '^here')" -lt "\${AT_ONCE:-1}" ] && [ ! -e "$NOTES/free" ]; do sleep 0.02; done
. ./work.sh
echo "-$name" >> "$NOTES/log"
rm -f "$NOTES/here.$name"; touch "$NOTES/free"
echo "<promise>DONE</promise>"
`;
const OWN_FILE = 'echo "$name" > "$name.txt"; git add "$name.txt"; git commit -qm "Add $name"\n';

/** A repository with these task folders, and what the agent does in each of them. */
function repository(t: TestContext, names: readonly string[], work = OWN_FILE, keys = 'max_iterations: 3'): Project {
  const p = project(t);
  for (const name of names) {
    const gate = 'completion_promise: DONE\ncompletion_gate: disabled';
    p.write(`jobs/${name}/RALPH.md`, `---\n${keys}\n${gate}\n---\nDo ${name}.\n`);
  }
  p.write('agent.sh', AGENT, 0o755);
  p.write('work.sh', work);
  p.write('../notes/log', '');
  git(p, 'init -q -b main && git config gc.auto 0 && git add -A && git commit -qm first');
  return p;
}

function git(p: Project, command: string): string {
  const { code, stdout, stderr } = p.sh(`git ${command}`, '', GIT_ENV);
  assert.equal(code, 0, `${command}: ${stderr}`);
  return stdout.trim();
}

const notes = (p: Project): string => join(p.dir, '..', 'notes');
const log = (p: Project): string[] =>
  readFileSync(join(notes(p), 'log'), 'utf8')
    .split('\n')
    .filter(Boolean);
const agents = (p: Project, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...GIT_ENV,
  NOTES: notes(p),
  ...more,
});
const jobs = (names: readonly string[]): string[] => names.map((name) => `jobs/${name}`);

function run(p: Project, words: readonly string[], env: NodeJS.ProcessEnv = {}): Answer {
  return p.ralph(['run', ...words, '--agent', './agent.sh'], agents(p, env));
}

/** The largest number of agents that were at work at once. */
function mostAtOnce(lines: readonly string[]): number {
  let [now, most] = [0, 0];
  for (const line of lines) {
    now += line.startsWith('+') ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

interface BatchEnd {
  readonly type: string;
  readonly code: number;
  readonly tasks: {
    readonly loop: string;
    readonly status: string;
    readonly iterations: number;
    readonly step: string;
  }[];
}

function batchEnd({ stdout }: Answer): BatchEnd {
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as BatchEnd;
}

test('tasks run side by side, never more than asked for, each on its own branch', (t) => {
  const names = ['a', 'b', 'c', 'd', 'e'];
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

test('several tasks without --parallel run one after the other, in their order', (t) => {
  const p = repository(t, ['b', 'a']);
  const { code, stdout, stderr } = run(p, jobs(['b', 'a']));
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(log(p), ['+b', '-b', '+a', '-a']);
  assert.match(stdout, /^\[b\] ─── Iteration 1 of 3 ───$/m);
  assert.match(stdout, /^a {2}complete {2}1 iteration /m);
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

test('options of one task are refused for several', (t) => {
  const p = repository(t, ['a', 'b']);
  for (const words of [['--loop', 'x'], ['--plan'], ['--parallel', '0'], ['--parallel', '65'], ['--integrate', 'x']]) {
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

test('rebased work gives one line of commits', (t) => {
  const p = repository(t, ['a', 'b']);
  const { code, stdout, stderr } = run(p, [...jobs(['a', 'b']), '--integrate', 'rebase']);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(git(p, 'log --format=%s --no-merges main'), 'Add b\nAdd a\nfirst');
  assert.equal(git(p, 'log --format=%s --merges main'), '');
});

for (const how of ['merge', 'rebase']) {
  test(`a conflict (${how}) leaves both branches as they were, and the exit code says so`, (t) => {
    const p = repository(t, ['a', 'b'], 'echo "$name" > same.txt; git add same.txt; git commit -qm "Write $name"\n');
    const { code, stdout } = run(p, [...jobs(['a', 'b']), '--integrate', how]);
    assert.equal(code, 3, stdout);
    assert.match(stdout, /b: ralph\/b conflicts with the current branch in same\.txt/);
    assert.equal(p.read('same.txt'), 'a\n');
    assert.equal(git(p, 'status --short -- . :!.claude'), '');
    assert.equal(git(p, 'log --format=%s -1 ralph/b'), 'Write b');
    assert.equal(git(p, 'log --format=%s -1 main').includes('b'), false);
  });
}

test('nothing is merged over uncommitted changes of the user', (t) => {
  const p = repository(t, ['a']);
  p.write('agent.sh', `${AGENT}`, 0o755);
  p.write('work.sh', `${OWN_FILE}# changed\n`);
  const { code, stdout } = run(p, [...jobs(['a']), '--integrate', 'merge']);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /nothing was integrated: the project has 1 uncommitted change/);
  assert.equal(p.has('a.txt'), false);
});

test('pr pushes the branches, and says so where gh is missing', (t) => {
  const p = repository(t, ['a']);
  p.sh('git init -q --bare ../remote.git && git remote add origin ../remote.git');
  const { code, stdout } = run(p, [...jobs(['a']), '--integrate', 'pr'], { PATH: p.env['PATH'] });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /a: pushed ralph\/a to origin; gh is not installed/);
  assert.equal(git(p, '--git-dir ../remote.git log --format=%s -1 ralph/a'), 'Add a');
});

test('pr opens a pull request with gh, with the end of the loop as its body', (t) => {
  const p = repository(t, ['a']);
  p.sh('git init -q --bare ../remote.git && git remote add origin ../remote.git');
  p.write('../bin/gh', '#!/bin/sh\nprintf "%s\\n" "$@" > "$NOTES/gh"\necho https://example.invalid/pull/1\n', 0o755);
  const { code, stdout } = run(p, [...jobs(['a']), '--integrate', 'pr'], {
    PATH: `${join(p.dir, '..', 'bin')}:${p.env['PATH']}`,
  });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /a: opened https:\/\/example\.invalid\/pull\/1/);
  const words = readFileSync(join(notes(p), 'gh'), 'utf8');
  assert.match(words, /^pr\ncreate\n--head\nralph\/a\n--title\nralph-loop: a\n--body\nComplete after 1 iteration/);
});

test('a budget is for all loops together', (t) => {
  const p = repository(t, ['a', 'b', 'c']);
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
  const more = p.ralph(
    ['run', '--resume', '--max-cost', '3.5', '--json', '--permission-mode', 'acceptEdits'],
    agents(p, env),
  );
  assert.equal(more.code, 2, more.stdout + more.stderr);
  const [after = 0] = billed();
  assert.ok(after >= input && after <= 5_500_000, `${after / 1e6} dollars`);
});

function begun(p: Project, words: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...words], { cwd: p.dir, env: { ...p.env, ...agents(p) } });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const over = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, said: () => said, over };
}

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

test('Ctrl+C ends the loops after their iterations and begins no other; resume takes up the rest', async (t) => {
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

test('Ctrl+C twice cancels the loops and ends their agents', async (t) => {
  const p = repository(t, ['a', 'b'], 'while :; do sleep 0.05; done\n');
  const words = ['run', ...jobs(['a', 'b']), '--parallel', '2', '--agent', './agent.sh', '--json'];
  const { child, said, over } = begun(p, words);
  await until('two agents at work', () => log(p).length >= 2);
  child.kill('SIGINT');
  await until('the first is taken', () => said().includes('The loops stop after their current iterations'));
  child.kill('SIGINT');
  assert.equal(await over, 130, said());
});
