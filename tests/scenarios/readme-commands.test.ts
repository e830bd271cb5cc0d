import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyFolder } from '../support/folder.ts';
import { commitFolder } from '../support/git.ts';
import { type Answer, type Project, project } from '../support/project.ts';
import { TEST_TIMEOUT_MS } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const README = readFileSync(join(root, 'README.md'), 'utf8');

/** Commands that another test plays, because they need a client, a terminal or a running loop, and a word of that test. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, word: string]>> = {
  'npm install -g .': ['scenarios/package.test.ts', "'install', '--global'"],
  'claude plugin marketplace add ../ralph-loop-plugin': ['client/plugin.test.ts', "'marketplace'"],
  'claude plugin install ralph-loop@ralph': ['client/plugin.test.ts', "'install', 'ralph-loop@ralph'"],
  'npm start': ['client/quick-start.test.ts', 'tests/tools/quick-start.ts'],
  'ralph-loop start --task TASK --launch': ['client/terminal-launcher.test.ts', 'launch'],
  'ralph-loop run TASK --agent codex': ['client/hosts.test.ts', 'codex'],
  'ralph-loop start --task TASK --launch --agent gemini': ['support/gemini/gemini-project.ts', "'--launch'"],
  'ralph-loop attach': ['client/live-view.test.ts', "'attach'"],
  'ralph-loop dashboard': ['scenarios/web/dashboard-server.test.ts', "'dashboard'"],
  'ralph-loop pause': ['scenarios/pause-run.test.ts', "'pause'"],
  'ralph-loop resume': ['scenarios/resume.test.ts', "'resume'"],
  'ralph-loop stop': ['scenarios/command-line.test.ts', "'stop'"],
  'ralph-loop cancel': ['scenarios/command-line.test.ts', "'cancel'"],
  'ralph-loop accept': ['scenarios/command-agent.test.ts', "'accept'"],
};

/** Every command of README: in its blocks, in its sentences, and in lists of names behind one in a table. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, code = '']) => code.trim().split('\n'));
  const spans = [...text.matchAll(/`((?:ralph-loop|npm|claude) [^`]+)`/g)].map(([, line = '']) => line);
  const more = [...text.matchAll(/^\| `ralph-loop [a-z]+`((?:, `[a-z]+`)+)/gm)].flatMap(([, names = '']) =>
    names.match(/[a-z]+/g)?.map((name) => `ralph-loop ${name}`),
  );
  return [...new Set([...blocks, ...spans, ...more].flatMap((line) => line ?? []))];
}

const wordsOf = (line: string): string[] =>
  (line.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => word.replace(/^"(.*)"$/, '$1'));

/** Plays a command with the words of the page; `more` is what a person or an account would add. */
function play(p: Project, line: string, names: Readonly<Record<string, string>>, more: readonly string[]): Answer {
  return p.ralph([...wordsOf(line).map((word) => names[word] ?? word), ...more]);
}

test('every command of README is run here, or by the test that is named for it', (t) => {
  const p = project(t);
  p.write('package.json', { scripts: { test: 'test -e made.txt' } });
  p.write('agent.sh', '#!/bin/sh\ncat > /dev/null\necho x > made.txt\necho "<promise>DONE</promise>"\n', 0o755);
  p.write('test/a.test.js', '');
  const task = '---\nmax_iterations: 2\ncompletion_promise: DONE\nvalidation: ["test -e made.txt"]\n---\nMake it.\n';
  for (const name of ['job', 'one', 'two', 'three', 'four']) p.write(`${name}/RALPH.md`, task);
  commitFolder(p.dir);
  const agent = ['--agent', './agent.sh', '--plain'];
  const names = { TASK: 'job', FILE: 'job/RALPH.md', A: 'two', B: 'three', C: 'four', CMD: './agent.sh' };
  const here: Readonly<Record<string, () => Answer>> = {
    'ralph-loop init': () => play(p, 'ralph-loop init', names, []),
    'ralph-loop init --gemini': () => play(p, 'ralph-loop init --gemini', names, ['--yes']),
    'ralph-loop check FILE': () => play(p, 'ralph-loop check FILE', names, []),
    'ralph-loop run TASK': () => play(p, 'ralph-loop run TASK', names, agent),
    'ralph-loop run TASK --worktree': () => play(p, 'ralph-loop run TASK --worktree', { ...names, TASK: 'one' }, agent),
    'ralph-loop run A B C --parallel 2': () => play(p, 'ralph-loop run A B C --parallel 2', names, agent),
    'ralph-loop run "make the failing tests pass"': () => {
      p.sh('rm made.txt');
      return play(p, 'ralph-loop run "make the failing tests pass"', names, ['--yes', ...agent]);
    },
    ...Object.fromEntries(
      ['status', 'list', 'explain', 'logs', 'report'].map((name) => [`ralph-loop ${name}`, () => p.ralph([name])]),
    ),
    'ralph-loop verify': () => p.ralph(['verify', 'make-failing-tests-pass']),
    'ralph-loop undo': () => p.ralph(['undo', 'make-failing-tests-pass', '--yes']),
  };
  const commands = commandsOf(README).filter((line) => !/^npm (?:run release|start --)/.test(line));
  const played = [...Object.keys(here), ...Object.keys(ELSEWHERE)];
  assert.deepEqual(
    commands.filter((line) => !played.includes(line)),
    [],
    'commands that no test plays',
  );
  assert.deepEqual(
    played.filter((line) => !commands.includes(line)),
    [],
    'README has them no longer',
  );
  for (const [line, run] of Object.entries(here)) {
    const { code, stdout, stderr } = run();
    assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
  }
  assert.equal(p.ralph(['uninit']).code, 0);
  for (const [line, [file, word]] of Object.entries(ELSEWHERE)) {
    const path = join(root, 'tests', file);
    assert.ok(existsSync(path) && readFileSync(path, 'utf8').includes(word), `${line}: ${file} has no ${word}`);
  }
});

test('the release that README names writes a marketplace which the client accepts', (t) => {
  const dest = join(emptyFolder(t), 'ralph-loop-plugin');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', 'tests/tools/release.ts', '--dest', dest],
    { cwd: root, encoding: 'utf8', timeout: TEST_TIMEOUT_MS },
  );
  assert.equal(status, 0, stdout + stderr);
  for (const file of [
    '.claude-plugin/marketplace.json',
    'plugin/hooks/hooks.json',
    'plugin/skills/ralph-loop/SKILL.md',
  ])
    assert.ok(existsSync(join(dest, file)), file);
});
