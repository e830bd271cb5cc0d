import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { COMMAND_PATH } from '../support/command-path.ts';
import { commitTools } from '../support/commit-tools.ts';
import { type PlanProject, planProject, planText } from '../support/plan-beside.ts';
import { pathOfProgram } from '../support/programs.ts';
import { IS_LONG, someOf } from '../support/short-form.ts';

/** What each tool needs in a project: its files, and the command that installs its hooks. */
interface Tool {
  readonly files: Readonly<Record<string, string>>;
  readonly install: string;
}

const NOTE = 'echo pre-commit >> "$HOOK_LOG"';
const JUDGE = 'echo commit-msg >> "$HOOK_LOG"; commitlint --edit';
/** What commitlint says and does, in a tenth of the time. */
const SHORT_JUDGE =
  'echo commit-msg >> "$HOOK_LOG"; grep -qE "^(feat|chore): ." "$1" || { echo "type may not be empty"; exit 1; }';

const TOOLS: Readonly<Record<string, Tool>> = {
  // As husky does: git runs what is not committed, and a new worktree lacks.
  'core.hooksPath': {
    files: { '.husky/pre-commit': `${NOTE}\n`, '.husky/commit-msg': `${SHORT_JUDGE}\n` },
    install: `mkdir .husky/_; cd .husky/_; echo '*' > .gitignore
      printf '#!/bin/sh\\nsh -e ".husky/\${0##*/}" "$@"\\n' | tee pre-commit > commit-msg; chmod +x pre-commit commit-msg
      git config core.hooksPath .husky/_`,
  },
  husky: {
    files: { '.husky/pre-commit': `${NOTE}\n`, '.husky/commit-msg': `${JUDGE} "$1"\n` },
    install: 'husky',
  },
  lefthook: {
    files: {
      'lefthook.yml': `pre-commit:\n  commands:\n    note:\n      run: ${NOTE}\ncommit-msg:\n  commands:\n    lint:\n      run: ${JUDGE} {1}\n`,
    },
    install: 'lefthook install',
  },
  'pre-commit': {
    files: {
      'note.sh': `${NOTE}\n`,
      'judge.sh': `${JUDGE} "$1"\n`,
      '.pre-commit-config.yaml': [
        'repos:',
        '  - repo: local',
        '    hooks:',
        '      - {id: note, name: note, language: system, entry: sh note.sh, stages: [commit], always_run: true, pass_filenames: false}',
        '      - {id: lint, name: lint, language: system, entry: sh judge.sh, stages: [commit-msg]}',
        '',
      ].join('\n'),
    },
    install: 'pre-commit install --hook-type pre-commit --hook-type commit-msg',
  },
};

/** Husky in the long form; in the short one the setting of git by which it works, since npm would have to install it. */
const HUSKY = IS_LONG ? 'husky' : 'core.hooksPath';
const TASKS = 2;

function toolProject(t: TestContext, name: string, form = ''): PlanProject & { readonly hooked: () => string[] } {
  const tool = TOOLS[name];
  assert.ok(tool);
  if (name === 'pre-commit') pathOfProgram('pre-commit');
  const isReal = name !== 'core.hooksPath';
  const modules = isReal ? commitTools() : '';
  const plan = planText([{ id: 1 }, { id: 2 }]).replace('---\n', `---\n${form}`);
  const p = planProject(t, plan, 'mkdir -p work/$id; echo $id > work/$id/made\n');
  const log = join(p.dir, '..', 'notes', 'hooks');
  Object.assign(p.env, { HOOK_LOG: log, PATH: isReal ? `${join(modules, '.bin')}:${COMMAND_PATH}` : COMMAND_PATH });
  const config = { extends: [join(modules, '@commitlint/config-conventional/lib/index.js')] };
  for (const [path, text] of Object.entries(tool.files)) p.write(path, text, 0o755);
  p.write('.commitlintrc.json', config);
  p.git('add -A');
  p.git('commit -q -m "chore: add hooks"');
  const installed = p.sh(tool.install, '', p.env);
  assert.equal(installed.code, 0, installed.stderr);
  p.write('../notes/hooks', '');
  return { ...p, hooked: () => p.read('../notes/hooks').split('\n').filter(Boolean) };
}

type Run = readonly [tool: string, words: readonly string[]];

/** The short form plays the first; that a hook judges the commits of a plan in place is in plan-git, too. */
const RUNS: readonly Run[] = [
  [HUSKY, ['--worktree', '--loop', 'own']],
  [HUSKY, []],
  ['lefthook', ['--parallel', '2']],
  ['husky', ['--parallel', '2']],
  ['pre-commit', []],
];

for (const [tool, words] of someOf(RUNS, RUNS.length)) {
  test(`${tool} judges every commit of run --plan ${words.join(' ')}, and no attempt is lost`, (t) => {
    const p = toolProject(t, tool);
    const { code, stdout, stderr } = p.run(['PLAN.md', '--plan', ...words]);
    assert.equal(code, 0, `${stdout}${stderr}`);
    const log = p.git('log --all --reverse --format=%s').split('\n');
    const made = log.filter((subject) => subject.includes('ake '));
    assert.deepEqual(made.sort(), ['feat: make 1', 'feat: make 2'], log.join('\n'));
    assert.equal(p.log().filter((line) => line.startsWith('+')).length, TASKS, 'one agent run for each task');
    const hooked = p.hooked();
    assert.ok(hooked.filter((line) => line === 'pre-commit').length >= TASKS, hooked.join());
    assert.ok(hooked.filter((line) => line === 'commit-msg').length >= TASKS, hooked.join());
  });
}

test('a form that the commit-msg hook rejects refuses the start, before the agent runs', (t) => {
  const p = toolProject(t, HUSKY, 'commit_message: "{id} {title}"\n');
  const { code, stderr } = p.run(['PLAN.md', '--plan']);
  assert.equal(code, 1);
  assert.match(stderr, /commit-msg hook .* rejects .*commit_message: "\{type\}: \{title\}"/s);
  assert.match(stderr, /type may not be empty/);
  assert.deepEqual(p.log(), []);
});

test('a message that the hook begins to reject blocks the task at once, and costs no second attempt', (t) => {
  const p = toolProject(t, HUSKY);
  // The rule arrives with the work of the first task.
  p.write('.husky/commit-msg', 'test -e work/1/made && exit 1; exit 0\n');
  p.git('add -A');
  p.git('commit -q --no-verify -m "chore: judge"');
  const { code, stdout } = p.run(['PLAN.md', '--plan']);
  assert.equal(code, 3, stdout);
  assert.equal(p.log().filter((line) => line === '+1').length, 1);
  assert.match(p.read('PLAN.md'), /\(blocked\) \*\*Task 1/);
});
