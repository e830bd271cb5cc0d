import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
mkdirSync(join(project.dir, '.claude/skills/ralph-loop/templates'), { recursive: true });
writeFileSync(join(project.dir, '.claude/skills/ralph-loop/templates/task.md'), '');

const decide = async (command: string, rules: object = {}): Promise<string> => {
  const call = { tool: 'Bash', input: { command: project.fill(command) }, cwd: project.dir };
  return (await evaluateToolCall(call, { ...project.rules, guardrails: { ...NO_RULES, ...rules } })).decision;
};

/** Searches, globs and settings of the shell by which a change reaches a file of the loop. */
const REACHES: readonly string[] = [
  "find . -name '*.cjs' -delete",
  "find . -name '*.md' -exec rm {} +",
  "find . -name '*.md' -print0 | xargs -0 sed -i s/a/b/",
  'grep -rl x . | xargs sed -i s/x/y/',
  'grep -rlZ x . | xargs -0 perl -pi -e s/x/y/',
  "grep -rl --include='*.cjs' x . | xargs rm",
  'rm $(grep -rl x .claude)',
  'for f in $(grep -rl x .); do sed -i s/x/y/ "$f"; done',
  'grep -rl x . | while read -r f; do sed -i s/x/y/ "$f"; done',
  'rg -l --hidden x | xargs sed -i s/x/y/',
  'rg --files --hidden | xargs touch',
  'rg -uul x .claude | parallel sed -i s/x/y/',
  'fd -H . -e cjs | xargs rm',
  'fd -H -e md -x sed -i s/a/b/',
  'ls -d .claude/* | xargs rm -rf',
  'ls -A | xargs -I{} rm -rf ./{}',
  'ls -A | xargs -I{} rm -rf "$PWD/{}"',
  "ls -A | xargs -I{} sh -c 'rm -rf ./{}'",
  'fd -H -x rm ./{}',
  'find .claude -type f -newer README.md -delete',
  'find . -size +0 -delete',
  'find .cl* -type f -delete',
  'find @STATE@ -delete',
  'find .claude/context/runtime/ralph* -delete',
  'ls .claude/context/runtime/*.json | xargs rm',
  'find .claude/ho*/ -type f | xargs rm',
  'rm $(find .[c]laude -name "*.cjs")',
  'fd -H -e cjs . .cl* -x rm',
  'grep -rl x .clau?e | xargs sed -i s/x/y/',
  'for d in .cl*/; do find "$d" -type f -delete; done',
  "find . -not -path './node_modules/*' -type f | xargs sed -i s/a/b/",
  "find . -path ./src -prune -o -name '*.cjs' -delete",
  "find . -not -path './.claude/*' -delete",
  'xargs rm < <(find . -name "*.cjs")',
  "find . -maxdepth 5 -name '*.json' -delete",
  'grep -L x .claude/*.json | xargs rm',
  'grep -lr x .claude | xargs -I{} mv {} {}.bak',
  'shopt -s dotglob; rm -rf *',
  'shopt -s dotglob nullglob; mv * /tmp/',
  'shopt -s globstar; rm -f .claude/**/*.cjs',
  'shopt -s globstar dotglob; rm -f **/*.cjs',
  'shopt -s nocaseglob; rm -rf .CLAUD*',
  'shopt -s extglob; rm -rf .!(git)',
  'GLOBIGNORE=x; rm -rf *',
  'GLOBIGNORE=.git; chmod -R a-w *',
  "bash -O dotglob -c 'rm -rf *'",
  "bash -O globstar -O dotglob -c 'sed -i s/a/b/ **/*.json'",
  'CDPATH=.claude; cd hooks && rm ralph-stop-hook.cjs',
  "find . ! \\( -path './src/*' \\) -delete",
  "find . -not \\( -type d -path './src/*' \\) -type f -delete",
  "find . -type f -exec test -path './src/*' \\; -exec rm {} +",
  'shopt -s dotglob; ls -d * | xargs rm -rf',
  'shopt -s dotglob; ls -d */* | xargs rm -rf',
  'shopt -s dotglob globstar; ls -d **/*.cjs | xargs rm -f',
  'CDPATH=src:.claude; cd hooks; rm ralph-stop-hook.cjs',
  'export CDPATH=@PROJECT@/.claude; cd hooks && rm ralph-stop-hook.cjs',
  "zsh -c 'setopt globdots; rm -rf *'",
];

const REACHES_NOT: readonly string[] = [
  "find . -name '*.pyc' -delete",
  "find . -name '*.cjs' -not -path './.claude/*' -delete",
  "find . -path ./.claude -prune -o -name '*.cjs' -delete",
  'find . -name .claude -prune -o -type f -exec sed -i s/a/b/ {} +',
  "find . -type f ! -path './.claude/*' -exec sed -i s/a/b/ {} +",
  "find src -name '*.ts' | xargs sed -i s/a/b/",
  "find . -maxdepth 1 -name '*.json' -delete",
  'find . -type d -empty -delete',
  'find */ -name "*.tmp" -delete',
  'find s* docs/* -type f -exec touch {} +',
  'grep -rl x s* d* | xargs sed -i s/x/y/',
  'for d in */; do find "$d" -name "*.tmp" -delete; done',
  'find . -name "*.cjs" | xargs wc -l',
  'find . -type f | wc -l',
  'grep -rl x src | xargs sed -i s/x/y/',
  'grep -rl x . --exclude-dir=.claude | xargs sed -i s/x/y/',
  "grep -rl --include='*.ts' x . | xargs sed -i s/x/y/",
  'rg -l x | xargs sed -i s/x/y/',
  "rg -l --hidden -g '!.claude' x | xargs sed -i s/x/y/",
  'rg --files src | xargs touch',
  'fd -e ts | xargs prettier --write',
  'fd -H -E .claude -e cjs | xargs rm',
  'ls | xargs -I{} rm -rf ./{}',
  'ls -A src | xargs -I{} rm -rf ./src/{}',
  'git ls-files | xargs sed -i s/x/y/',
  "git ls-files '*.md' | xargs prettier --write",
  'git grep -l x | xargs sed -i s/x/y/',
  'grep -rn x . | head',
  'grep -rl x .claude | xargs cat',
  'for f in $(grep -rl x .); do wc -l "$f"; done',
  'ls src/* | xargs touch',
  'shopt -s globstar; ls **/*.cjs',
  'shopt -s globstar; rm -f **/*.tmp',
  'shopt -s globstar; sed -i s/a/b/ src/**/*.ts',
  'shopt -s nullglob; rm -rf *',
  'shopt -s dotglob; rm -rf dist/*',
  'shopt -s dotglob; cp -r src/* /tmp/x/',
  'shopt -s extglob; rm -f src/!(index).ts',
  'shopt -u dotglob; rm -rf *',
  "bash -O globstar -c 'wc -l **/*.json'",
  'CDPATH=/tmp; cd build && rm -rf x',
  'CDPATH=.claude; cd ./src && rm -f x.tmp',
  'cd src && rm -f x.tmp',
  'GLOBIGNORE=x; ls *',
];

describe('what a search or a glob reaches below a protected folder', () => {
  for (const command of REACHES)
    it(`is not changed by: ${command}`, async () => assert.equal(await decide(command), 'deny'));
  for (const command of REACHES_NOT)
    it(`is not reached by: ${command}`, async () => assert.equal(await decide(command), 'allow'));
  it('depends on what the folders contain: without the files the same searches are allowed', async () => {
    const bare = {
      ...project.rules,
      ownFiles: [join(project.dir, '.claude/nothing-here')],
      ownGlobs: [],
      controlProgram: [],
    };
    const free: string[] = [];
    for (const command of REACHES) {
      const call = { tool: 'Bash', input: { command: project.fill(command) }, cwd: project.dir };
      if ((await evaluateToolCall(call, bare)).decision === 'allow') free.push(command);
    }
    assert.ok(free.length >= 15, `the control is free in only ${free.length} of ${REACHES.length}`);
  });
  it('is protected like the loop’s own files', async () => {
    const rules = { protectedFiles: ['*.yaml'] };
    for (const command of [
      'grep -rl x . --exclude-dir=.claude | xargs sed -i s/x/y/',
      'rg -l x | xargs sed -i s/x/y/',
      'git ls-files | xargs touch',
    ])
      assert.equal(await decide(command, rules), 'deny', command);
    for (const command of [
      "rg -l -g '!*.yaml' x | xargs sed -i s/x/y/",
      "grep -rl --include='*.ts' x . | xargs sed -i s/x/y/",
    ])
      assert.equal(await decide(command, rules), 'allow', command);
  });
});

describe('a search at the root beside private files', () => {
  const rules = { privateFiles: ['.env*', '*.pem'] };
  const envOnly = { privateFiles: ['.env*'] };
  for (const command of [
    'rg foo',
    'rg foo .',
    'rg -n foo | head',
    'ag foo',
    'git grep foo',
    'git grep -n foo -- src',
    "grep -rn foo . --exclude='.env*'",
    "grep -rn foo . --include='*.ts'",
    "rg --hidden -g '!.env*' foo",
    'grep -rn foo src',
    'rg foo src docs',
    'grep -rn foo src* docs/*',
    'find */ -name "*.ts" -exec cat {} +',
    'find . -name "*.ts" | xargs grep foo',
    'fd -e ts | xargs cat',
  ])
    it(`is allowed: ${command}`, async () => assert.equal(await decide(command, envOnly), 'allow'));
  for (const command of [
    'rg --hidden foo',
    'rg -uu foo',
    'rg -. foo .',
    'grep -rn foo .',
    'grep -R foo',
    'git grep --no-index foo',
    'grep -rn foo . --exclude=README.md',
    "rg --hidden -g '!*.md' foo",
    'cat $(rg --hidden -l foo)',
  ])
    it(`is denied: ${command}`, async () => assert.equal(await decide(command, envOnly), 'deny'));
  it('is denied if the file is searched, and allowed with the option that leaves it out', async () => {
    assert.equal(await decide('rg foo', rules), 'deny');
    for (const command of ['grep -rn foo con*', 'cat $(find conf* -type f)', 'find c*/ -exec cat {} +'])
      assert.equal(await decide(command, rules), 'deny', command);
    assert.equal(await decide('rg --files --hidden | head', rules), 'allow', 'names only');
    assert.equal(await decide('rg --files --hidden | xargs cat', rules), 'deny');
    for (const call of ['-e --files -e x .env', 'x -- --files .env', '--files --json x .env', '--regexp --files .env'])
      assert.equal(await decide(`rg ${call}`, rules), 'deny', call);
    assert.equal(await decide('grep -e --files -e x .env', rules), 'deny');
    assert.equal(await decide("rg -g '!*.pem' foo", rules), 'allow');
    assert.equal(await decide('git grep foo', rules), 'allow');
    assert.equal(await decide("grep -rn foo . --exclude='.env*' --exclude='*.pem'", rules), 'allow');
  });
});
