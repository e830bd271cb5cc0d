import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { emptyFolder } from '../../support/folder.ts';
import { commitFolder, type Git } from '../../support/git.ts';
import { NO_RULES } from './support/corpus-project.ts';

const root = emptyFolder({ after });
const dir = join(root, 'project');
const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
};

const call = (command: string, rules: Partial<Guardrails>, isConfined = false, ownFiles: string[] = []) =>
  evaluateToolCall(
    { tool: 'Bash', input: { command }, cwd: dir },
    {
      ...{ projectDir: dir, home: root, ownFiles, controlProgram: [], agentCommands: [], caseInsensitive: false },
      guardrails: { ...NO_RULES, ...rules },
      ...(isConfined && { writable: [dir] }),
    },
  );
const decide = async (command: string, rules: Partial<Guardrails>): Promise<string> =>
  (await call(command, rules)).decision;

let git: Git;
/** A repository in which secrets are ignored and one protected file is tracked. */
beforeEach(() => {
  rmSync(dir, { recursive: true, force: true });
  put('.gitignore', 'secrets/\n*.pem\nlocal.txt\n');
  put('src/.gitignore', 'generated.key\n');
  put('src/index.ts', 'foo');
  put('src/other.ts', 'foo');
  put('deploy/prod.yaml', 'one');
  git = commitFolder(dir, 'work');
  put('deploy/prod.yaml', 'two');
  git('commit', '-qam', 'Go on');
  for (const file of ['secrets/token.txt', 'config/app.pem', 'local.txt', 'src/generated.key']) put(file, 'foo');
});

describe('a search that skips what .gitignore names', () => {
  const rules = { privateFiles: ['secrets', '*.pem', 'local.txt', '*.key'] };
  const FREE = ['rg foo', 'rg foo .', 'rg -n foo src', 'rg -l foo | xargs wc -l', 'fd -x cat', 'fd . src -X grep foo'];
  for (const command of [...FREE, 'ag foo', 'rg --hidden foo', 'git grep foo'])
    it(`is allowed: ${command}`, async () => assert.equal(await decide(command, rules), 'allow'));
  for (const command of [
    'rg -u foo',
    'rg -uu foo',
    'rg -uuu foo',
    'rg --no-ignore foo',
    'rg --no-ignore-vcs foo src',
    'rg --no-ignore-files foo',
    'ag -u foo',
    'ag -U foo',
    'ag -a foo',
    'fd -I -x cat',
    'fd --no-ignore -X cat',
    'grep -rn foo .',
    'grep -rn foo src',
    'git grep --no-index foo',
    'rg foo secrets/token.txt',
    "echo '!secrets' > .ignore; rg foo",
    ': > .gitignore; rg foo',
    'rm .gitignore; rg foo',
    'echo > src/.gitignore && rg foo src',
    'RIPGREP_CONFIG_PATH=x rg foo',
    'export RIPGREP_CONFIG_PATH=x; rg foo',
    'find . -type f | xargs cat',
  ])
    it(`is denied: ${command}`, async () => assert.equal(await decide(command, rules), 'deny'));
  it('is denied without the ignore files, and if another ignore file may re-include them', async () => {
    put('.rgignore', '!secrets');
    assert.equal(await decide('rg foo', rules), 'deny');
    rmSync(join(dir, '.rgignore'));
    put('.gitignore', '');
    for (const command of FREE.slice(0, 2)) assert.equal(await decide(command, rules), 'deny', command);
  });
  it('names the option that leaves a private file out and allows the same search', async () => {
    for (const [command, pattern, option] of [
      ['rg -u foo', '*.pem', "-g '!*.pem'"],
      ['ag -u foo', '*.pem', "--ignore '*.pem'"],
      ['grep -rn foo .', '*.pem', "--exclude='*.pem'"],
      ['grep -rn foo .', 'secrets', "--exclude-dir='secrets'"],
      ['grep -rn foo .', 'policy:secret-bearing-paths', '--exclude='],
      ['git grep --no-index foo', '*.pem', "-- ':!*.pem'"],
      ['git grep --no-index foo', 'token.txt', "-- ':!*token.txt'"],
      ['git grep --no-index foo', 'secrets', "-- ':!*secrets*'"],
      ['fd -I -x cat', 'local.txt', ''],
    ] as const) {
      const verdict = await call(command, { privateFiles: [pattern] });
      const message = verdict.decision === 'deny' ? verdict.message : '';
      assert.ok(message.includes(option) && message !== '', `${command}: ${message}`);
      if (pattern.startsWith('policy:') || option === '') continue;
      assert.equal(await decide(`${command} ${option}`, { privateFiles: [pattern] }), 'allow', `${command} ${option}`);
    }
  });
});

describe('policy:persistence-paths', () => {
  const rules = { protectedFiles: ['policy:persistence-paths'] };
  for (const path of [
    ...['~/.bashrc', '~/.zshenv', '~/.ssh/authorized_keys', '~/.gitconfig', '~/.config/git/config', '~/.npmrc'],
    ...['~/.config/systemd/user/x.service', '~/.config/autostart/x.desktop', '~/Library/LaunchAgents/x.plist'],
    ...['.mcp.json', '.envrc', '.claude/agents/x.md', '.claude/skills/x/SKILL.md', '.git/hooks/pre-commit'],
    ...['/etc/cron.d/x', '/var/spool/cron/root', '/etc/profile.d/x.sh', 'packages/a/.npmrc'],
  ])
    it(`covers ${path}`, async () => assert.equal(await decide(`echo x > ${path}`, rules), 'deny'));
  for (const path of [
    ...['src/profile.ts', 'docs/bashrc.md', '.gitignore', '.github/workflows/x.yml', 'src/ssh/index.ts', 'crontab.txt'],
    ...[
      '.claude/notes.md',
      '.config.json',
      'src/.gitkeep',
      'src/hooks/use-x.ts',
      'agents/x.md',
      'src/profile/index.ts',
    ],
  ])
    it(`does not cover ${path}`, async () => assert.equal(await decide(`echo x > ${path}`, rules), 'allow'));
  it('is a separate policy', async () =>
    assert.equal(await decide('echo x > ~/.bashrc', { protectedFiles: ['policy:secret-bearing-paths'] }), 'allow'));
});

describe('a reset or a stash', () => {
  const rules = { protectedFiles: ['deploy/**'] };
  const SAME = [
    'git stash',
    'git stash push -m wip',
    'git reset --hard',
    'git reset --hard HEAD',
    'git reset --hard @',
  ];
  for (const command of SAME)
    it(`is allowed if protected files are as in HEAD: ${command}`, async () => {
      put('src/index.ts', 'changed');
      assert.equal(await decide(command, rules), 'allow');
    });
  it('is denied if they differ, or if another commit has other versions', async () => {
    for (const command of ['git reset --hard HEAD~1', 'git reset --keep HEAD^', 'git reset --hard "$X"'])
      assert.equal(await decide(command, rules), 'deny', command);
    put('deploy/prod.yaml', 'changed');
    for (const command of SAME) assert.equal(await decide(command, rules), 'deny', command);
  });
  it('may be popped if the stash contains none of them', async () => {
    put('src/index.ts', 'changed');
    git('stash');
    for (const command of ['git stash pop', 'git stash apply', 'git stash apply stash@{0}', 'git stash pop 0'])
      assert.equal(await decide(command, rules), 'allow', command);
    git('stash', 'drop');
    put('deploy/prod.yaml', 'changed');
    git('stash');
    for (const command of ['git stash pop', 'git stash apply 0'])
      assert.equal(await decide(command, rules), 'deny', command);
  });
  it('may be popped by the command that stashed, which is judged for what it stashes', async () => {
    const command = 'git stash push -- src && npm test && git stash pop';
    put('src/index.ts', 'changed');
    assert.equal(await decide(command, rules), 'allow');
    assert.equal(await decide(command.replace('src', 'deploy'), rules), 'deny', 'control: what is stashed');
    assert.equal(await decide('git stash store HEAD~1 && git stash pop', rules), 'deny', 'a commit as the stash');
    put('deploy/prod.yaml', 'changed');
    git('stash');
    assert.equal(await decide(command, rules), 'deny', 'control: another stash');
  });
  it('is compared, in a loop with a sandbox, without the programs that settings of the repository name', async () => {
    git('config', 'filter.x.clean', "touch '../ran'; cat");
    put('.gitattributes', '*.ts filter=x\n');
    put('src/index.ts', 'changed');
    for (const command of SAME) assert.equal((await call(command, rules, true)).decision, 'allow', command);
    assert.equal(existsSync(join(root, 'ran')), false);
    await call('git stash', rules);
    assert.equal(existsSync(join(root, 'ran')), true, 'control: without a sandbox');
    put('deploy/prod.yaml', 'changed');
    for (const command of SAME) assert.equal((await call(command, rules, true)).decision, 'deny', command);
  });
});

describe('a restore of a folder', () => {
  const rules = { protectedFiles: ['deploy/**'] };
  const SAME = ['git restore .', 'git checkout .', 'git checkout -f -- .', 'git checkout HEAD -- .', "git restore '*'"];
  SAME.push('git restore -s HEAD :/', 'git restore -SW .', 'git stash -u', 'git stash push -u -- . && git stash pop');
  for (const command of SAME)
    it(`is allowed if protected files are the same: ${command}`, async () => {
      put('src/index.ts', 'changed');
      put('src/new.ts', 'new');
      for (const text of ['', `; echo 'git reset'`, '; git diff --cached', " # git fetch\ncat <<'E'\ngit tag\nE"])
        assert.equal(await decide(command + text, rules), 'allow', text);
      put('deploy/prod.yaml', 'changed');
      assert.equal(await decide(command, rules), 'deny', 'control');
    });
  const MOVED = [
    'git restore .; git restore -s HEAD~1 .',
    'git restore --sourc=HEAD~1 .',
    'git switch x; git reset --hard HEAD~1',
  ];
  MOVED.push('git restore -s HEAD...HEAD~1 .', 'git reset HEAD~1 && git checkout .', 'git --git-dir=o/.git checkout .');
  MOVED.push(
    'GIT_INDEX_FILE=x git checkout .',
    'sudo GIT_DIR=x git checkout .',
    'v=reset; git $v HEAD~1; git restore .',
  );
  MOVED.push('git restore -Ss HEAD~1 .; git restore .', 'while :; do git restore .; export GIT_INDEX_FILE=x; done');
  MOVED.push('git $verb; git restore .', 'python3 -c \'import os; os.system("git reset HEAD~1")\'; git restore .');
  for (const command of [
    'git checkout HEAD~1 -- .',
    'git restore -s HEAD~1 .',
    'git read-tree -u --reset HEAD~1',
    ...MOVED,
  ])
    it(`is denied if another commit has other versions: ${command}`, async () =>
      assert.equal(await decide(command, rules), 'deny'));
});

describe('what removes files that git does not track', () => {
  const rules = { protectedFiles: ['deploy/**', 'local.txt', 'secrets'] };
  const LIST = 'git ls-files -o --exclude-standard | xargs rm -f';
  for (const command of ['git clean -fd', 'git clean -ffd .', 'git clean -fd -e x deploy src', 'git stash -u', LIST])
    it(`leaves what it tracks or ignores: ${command}`, async () => {
      put('src/new.ts', 'new');
      const own = ['deploy/prod.yaml', 'local.txt'].map((path) => join(dir, path));
      assert.equal(await decide(command, rules), 'allow');
      assert.equal((await call(command, {}, false, own)).decision, 'allow');
      put('deploy/new.yaml', 'new');
      assert.equal(await decide(command, rules), 'deny', 'control');
      assert.equal((await call(command, {}, false, [join(dir, 'deploy/new.yaml')])).decision, 'deny', 'control');
    });
  for (const command of [
    ...[
      'git clean -fdx',
      'git clean -fX',
      "git clean -fd -e '!local.txt'",
      'git stash -a',
      'git ls-files -o | xargs rm',
      'git ls-files -oi --exclude-standard | xargs rm',
    ],
    ...[
      ': > .gitignore; git clean -fd',
      'git checkout . && git clean -fd',
      'git clean -fdx -e project',
      `echo > .gitignore; ${LIST}`,
      'git clean -fdx -e secrets',
    ],
  ])
    it(`may remove what git ignores: ${command}`, async () => {
      assert.equal(await decide(command, rules), 'deny');
      assert.equal((await call(command, {}, false, [join(dir, 'local.txt')])).decision, 'deny');
    });
  for (const place of ['GIT_INDEX_FILE=x git', 'git --git-dir=o/.git', 'sudo GIT_DIR=x git'])
    it(`counts every file as untracked for another index: ${place}`, async () => {
      for (const command of [
        'clean -fd',
        'stash -u',
        'ls-files -o --exclude-standard | xargs rm',
        'ls-files | xargs rm',
      ])
        assert.equal(await decide(`${place} ${command}`, { protectedFiles: ['deploy/**'] }), 'deny', command);
      assert.equal(await decide('GIT_PAGER=cat git clean -fd', { protectedFiles: ['deploy/**'] }), 'allow');
    });
});

describe('the pathspecs of git grep and git ls-files', () => {
  const rules = { protectedFiles: ['deploy/**'], privateFiles: ['prod.yaml'] };
  for (const command of [
    'git grep -n foo -- src',
    'git grep -n foo src/',
    "git grep -nA 2 -e foo HEAD '*.ts'",
    "git grep -n foo -- 'src/*.ts'",
    "git grep foo -- '*.ts' '*.js'",
    'git grep -l foo -- src | xargs sed -i s/a/b/',
    'git ls-files src | xargs sed -i s/a/b/',
    "git ls-files -z -- 'src/*.ts' | xargs -0 npx prettier --write",
    'for f in $(git ls-files src/); do sed -i s/a/b/ "$f"; done',
  ])
    it(`leave protected files out: ${command}`, async () => {
      assert.equal(await decide(command, rules), 'allow');
      const whole = command.replace(/ --(?= )| '[^']*'| src\/?/g, '');
      assert.equal(await decide(whole, rules), 'deny', `control: ${whole}`);
    });
  for (const command of [
    'git grep foo -- deploy',
    'git grep foo HEAD deploy',
    'git grep -e foo deploy/prod.yaml',
    'git grep src',
    'git grep foo -- src/../deploy',
    "git grep foo -- 'de*'",
    "git grep foo -- ':/deploy'",
    "git grep foo -- ':(glob)**/*.yaml'",
    'git grep foo -- "$place"',
    'git ls-files src deploy | xargs sed -i s/a/b/',
    "git ls-files 'de*' | xargs rm",
    "git ls-files '*.yaml' | xargs rm",
    "git ls-files 'deploy?prod.yaml' | xargs rm",
    "git ls-files 'deploy[/]prod.yaml' | xargs rm",
    String.raw`git ls-files 'deploy/pro\d.yaml' | xargs rm`,
    "git grep -l foo -- 'deploy[!a]prod.yaml' | xargs rm",
    'git --icase-pathspecs ls-files DEPLOY/PROD.YAML | xargs rm',
    'GIT_ICASE_PATHSPECS=1 git ls-files DEPLOY/PROD.YAML | xargs rm',
    "git ls-files deploy/prod.yaml ':!prod.yaml' | xargs rm",
    'git -C deploy ls-files src prod.yaml | xargs -I{} rm deploy/{}',
    "git ls-files --exclude='*.ts' | xargs rm",
  ])
    it(`name protected files: ${command}`, async () => assert.equal(await decide(command, rules), 'deny'));
});

describe('globs and searches', () => {
  const rules = { protectedFiles: ['deploy/**', 'README.md'] };
  beforeEach(() => put('README.md', 'foo'));
  for (const [free, control] of [
    ['rm -rf */dist', 'rm -rf */prod.yaml'],
    ['ls src/*.ts | xargs sed -i s/a/b/', 'ls deploy/*.yaml | xargs sed -i s/a/b/'],
    ["find . -path './src/*' -delete", "find . -path './deploy/*' -delete"],
    ["find . -name '*.*' -path './src/*' -exec sed -i s/a/b/ {} +", "find . -name '*.*' -exec sed -i s/a/b/ {} +"],
    ["find . -path './src/*' -type f | xargs rm", "find . -not -path './src/*' -type f | xargs rm"],
    ["find . -path './src/*' -type f | xargs rm", "find . -path './src/*' -o -type f | xargs rm"],
  ] as const)
    it(`reach what they match: ${free} and ${control}`, async () => {
      assert.equal(await decide(free, rules), 'allow');
      assert.equal(await decide(control, rules), 'deny', 'control');
    });
});

it('a git that ends only as its time is up cannot tell what is tracked', {
  skip: process.platform === 'win32',
}, async () => {
  const bin = join(root, 'bin');
  const { PATH } = process.env;
  const decideWith = async (...lines: readonly string[]): Promise<string> => {
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'git'), ['#!/bin/sh', ...lines, 'exit 0', ''].join('\n'), { mode: 0o755 });
    process.env['PATH'] = `${bin}:${PATH}`;
    try {
      return await decide('git ls-files | xargs rm', { protectedFiles: ['deploy/prod.yaml'] });
    } finally {
      process.env['PATH'] = PATH;
    }
  };
  // A machine that is so busy that this process does not run meanwhile.
  const busy = ['(sleep 3; kill -CONT $PPID) > /dev/null 2>&1 < /dev/null &', 'kill -STOP $PPID'];
  assert.equal(await decideWith(...busy), 'deny');
  assert.equal(await decideWith('sleep 3'), 'deny');
  assert.equal(await decideWith(), 'allow', 'control: a repository without tracked files');
});
