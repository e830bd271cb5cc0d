import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { agreeTo } from '../support/agree-to.ts';
import { commitFolder } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { agent } from './support/command-agent.ts';

const FILL = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6kL9m';
/** Secrets by where the loop meets them. */
const SECRETS = {
  evidence: `ghp_${FILL.slice(0, 36)}`,
  check: `hvs.${FILL}${FILL}x1`,
  message: `xoxb-123456789012-${FILL}`,
  task: `glpat-${FILL.slice(0, 20)}`,
  command: `npm_${FILL.slice(0, 36)}`,
  named: 'correct-horse-7',
} as const;

/** Files below a folder that hold this text, without those of the user and the agent. */
function holding(folder: string, secret: string, without: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !without.some((part) => path.endsWith(part)) && readFileSync(path).includes(secret));
}

/** Runs a loop of two iterations that meets every secret, and returns everything that it printed. */
function runWithSecrets(p: Project, args: readonly string[]): string {
  p.write('evidence.txt', `token ${SECRETS.evidence}\n`);
  p.write('check.txt', `denied for ${SECRETS.check}\nPGPASSWORD=${SECRETS.named}\n`);
  p.write('check.sh', 'cat check.txt; exit 1\n');
  p.write(
    'job/RALPH.md',
    [
      '---',
      'completion_promise: DONE',
      'max_iterations: 2',
      'open_questions: optional',
      'commands: [{name: evidence, run: cat evidence.txt}]',
      `validation: ["sh check.sh ${SECRETS.command}"]`,
      '---',
      `Use ${SECRETS.task} and read this: {{ commands.evidence }}`,
    ].join('\n'),
  );
  const command = agent(p, `echo "I used ${SECRETS.message}"; echo "<promise>DONE</promise>"`);
  const ran = p.ralph(['run', '--path', 'job', ...args, '--agent', command]);
  const shown = [
    ['explain', 'job'],
    ['logs', 'job'],
    ['status', 'job', '--json'],
    ['report', 'job'],
    ['check', 'job', '--json'],
    ['list', '--json'],
  ].map((words) => {
    const { stdout, stderr } = p.ralph(words);
    return stdout + stderr;
  });
  return [ran.stdout, ran.stderr, ...shown].join('\n');
}

for (const view of ['--plain', '--json']) {
  test(`no secret of output, task or agent is in a file or on the screen of run ${view}`, (t) => {
    const p = project(t);
    const printed = runWithSecrets(p, [view]);
    const own = ['evidence.txt', 'check.txt', 'job/RALPH.md', 'agent.sh'];
    for (const [where, secret] of Object.entries(SECRETS)) {
      assert.ok(!printed.includes(secret), `${where}: ${printed.slice(Math.max(0, printed.indexOf(secret) - 200))}`);
      const found = holding(dirname(p.dir), secret, [...own, 'contract.job.json', 'contract.job.json.ended']);
      assert.deepEqual(found, [], where);
    }
    // The control: the files that are searched hold what the loop met, masked.
    assert.ok(holding(p.dir, 'I used ***', own).length > 0);
    assert.ok(holding(p.dir, 'PGPASSWORD=***', own).length > 0);
  });
}

test('no secret in the name of a file or the subject of a commit is shown or kept', (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  const [name, subject] = [SECRETS.command, SECRETS.message];
  const command = agent(p, `echo x > '${name}ü'; git add -A; git commit -qm 'use ${subject}ü'; echo y > 'y ${name}'`);
  commitFolder(p.dir);
  const shown = [
    ['run', 'job', '--plain', '--agent', command],
    ...[
      ['status', 'job'],
      ['status', 'job', '--json'],
      ['undo', 'job', '--dry-run'],
      ['undo', '--yes', '--json'],
    ],
    ...[['report', 'job'], ['explain', 'job'], ['worktree', 'list'], ['list']],
  ].map((words) => p.ralph(words).stdout);
  for (const secret of [name, subject]) {
    for (const text of shown) assert.ok(!text.includes(secret), text);
    assert.deepEqual(holding(join(dirname(p.dir), 'state'), secret, []), []);
  }
  assert.match(shown.join(''), /use \*\*\*/, 'control: the subject is shown');
  assert.match(shown.join(''), /y \*\*\*/, 'control: the name is shown');
});

test('no secret in what a failing agent or a failing set-up of a worktree says is shown or kept', (t) => {
  const p = project(t);
  const setUp = `echo ${SECRETS.evidence}; exit 3`;
  p.write('job/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  p.write('set/RALPH.md', `---\nmax_iterations: 1\nworktree_setup: ${setUp}\n---\nWork.\n`);
  agreeTo(p.dir, p.env, { worktree_setup: setUp });
  const command = agent(p, `echo "Cannot log in: PGPASSWORD=${SECRETS.named} ${SECRETS.command}" >&2; exit 126`);
  commitFolder(p.dir);
  const shown = [
    ['run', 'job', '--plain', '--agent', command],
    ...[['status', 'job', '--json'], ['explain', 'job', '--json'], ['list', '--json'], ['archive'], ['report', 'job']],
    ['run', 'set', '--worktree', '--plain', '--agent', command],
  ].map((words) => p.ralph(words));
  const text = shown.map(({ stdout, stderr }) => stdout + stderr).join('');
  for (const secret of [SECRETS.named, SECRETS.command, SECRETS.evidence]) {
    assert.ok(!text.includes(secret), text);
    assert.deepEqual(holding(dirname(p.dir), secret, ['agent.sh', 'set/RALPH.md', '/index', 'contract.set.json']), []);
  }
  assert.match(text, /Cannot log in: PGPASSWORD=\*\*\*/, 'control: what it said is shown');
  assert.match(text, /set-up failed \(echo \*\*\*; exit 3/, 'control: the command is shown');
});

test('files of a loop in the project that hold output can be read by their user alone', (t) => {
  const p = project(t);
  runWithSecrets(p, ['--plain']);
  const open = readdirSync(p.dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /ralph-(?:state|events|archive|prompt)|\.ralph-runner\//.test(path))
    .filter((path) => (statSync(path).mode & 0o077) !== 0);
  assert.deepEqual(open, []);
});
