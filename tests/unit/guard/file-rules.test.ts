import assert from 'node:assert/strict';
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules, Verdict } from '../../../src/guard/guard.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
const at = (path: string): string => join(project.dir, path);
after(() => rmSync(project.root, { recursive: true, force: true }));
before(() => {
  symlinkSync(at('.env'), at('env-link'));
  symlinkSync(at('config'), at('src/config-link'));
  symlinkSync(project.dir, join(project.root, 'project-link'));
  linkSync(at('.env'), at('hard'));
});

const SECRETS: Partial<Guardrails> = { protectedFiles: ['policy:secret-bearing-paths'] };
const PRIVATE: Partial<Guardrails> = { privateFiles: ['policy:secret-bearing-paths'] };

function evaluate(
  tool: string,
  input: object,
  rules: Partial<Guardrails>,
  more: Partial<GuardRules> = {},
  cwd = project.dir,
): Promise<Verdict> {
  return evaluateToolCall(
    { tool, input, cwd },
    { ...project.rules, ownFiles: [], ownGlobs: [], guardrails: { ...NO_RULES, ...rules }, ...more },
  );
}
async function ruleOf(tool: string, input: object, rules: Partial<Guardrails>, more?: Partial<GuardRules>) {
  const verdict = await evaluate(tool, input, rules, more);
  return verdict.decision === 'deny' ? verdict.rule : null;
}
const write = (path: string, globs: string[], more?: Partial<GuardRules>) =>
  ruleOf('Write', { file_path: path, content: '' }, { protectedFiles: globs }, more);
const bash = (command: string, rules: Partial<Guardrails>, more?: Partial<GuardRules>) =>
  ruleOf('Bash', { command }, rules, more);

describe('a glob', () => {
  it('without a slash is compared with the name, wherever the file is', async () => {
    for (const path of ['.env', at('.env'), 'packages/a/.env.local', '/elsewhere/.env'])
      assert.equal(await write(path, ['.env*']), 'protected_files: .env*', path);
    for (const path of ['env', 'src/.environment/x', 'a.env']) assert.equal(await write(path, ['.env']), null, path);
  });
  it('with a slash is compared with the path in the project, the absolute one and the given one', async () => {
    for (const path of ['deploy/eu/prod.yaml', at('deploy/prod.yaml'), './deploy/x.yaml', 'src/../deploy/x.yaml'])
      assert.equal(await write(path, ['deploy/**/*.yaml']), 'protected_files: deploy/**/*.yaml', path);
    for (const path of ['deploy/prod.json', 'src/deploy/x.yaml', at('x.yaml')])
      assert.equal(await write(path, ['deploy/**/*.yaml']), null, path);
    assert.notEqual(await write('/etc/hosts', ['/etc/**']), null);
    assert.notEqual(await write('~/.bashrc', ['~/.bash*']), null);
    assert.notEqual(await write(at('src/a.ts'), [`${project.dir}/src/*.ts`]), null);
  });
  it('with a leading "./" applies to the top of the project only', async () => {
    assert.notEqual(await write(at('Makefile'), ['./Makefile']), null);
    assert.equal(await write(at('src/Makefile'), ['./Makefile']), null);
  });
  it('matches names that begin with a dot', async () => {
    assert.notEqual(await write('src/.hidden', ['src/*']), null);
    assert.notEqual(await write('.github/workflows/x.yml', ['**/*.yml']), null);
  });
  it('without wildcards covers a folder and everything below it', async () => {
    for (const glob of ['migrations', 'db/migrations', './db/migrations/']) {
      assert.notEqual(await write('db/migrations/001.sql', [glob]), null, glob);
      assert.equal(await write('db/migrations.md', [glob]), null, glob);
    }
  });
  it('has the syntax of picomatch: braces, classes, extended globs', async () => {
    assert.notEqual(await write('a.key', ['*.{key,pem}']), null);
    assert.notEqual(await write('lib/v2.ts', ['lib/v[0-9].ts']), null);
    assert.notEqual(await write('lib/x.lock', ['lib/*.@(lock|sum)']), null);
    assert.equal(await write('lib/x.ts', ['lib/*.@(lock|sum)']), null);
  });
  it('ignores letter case if the file system does', async () => {
    assert.equal(await write('SRC/A.PEM', ['src/*.pem']), null);
    assert.notEqual(await write('SRC/A.PEM', ['src/*.pem'], { caseInsensitive: true }), null);
    assert.notEqual(await write('lib/a.pem', ['LIB/*.PEM'], { caseInsensitive: true }), null);
  });
});

describe('policy:secret-bearing-paths', () => {
  it('covers the known places of secrets, in any letter case', async () => {
    const paths = [
      ...['.aws/x', '.azure/x', '.gcloud/x', '.ssh/id_rsa', 'secrets/x', 'a/credentials/b', 'ops-secrets/x'],
      ...['credentials-prod/x', '.npmrc', '.pypirc', 'a/.netrc', 'a.pem', 'b/c.key', 'd.asc', '.env', '.env.prod'],
      ...['.envrc', 'a/.env.d/b', 'SECRETS/x', 'A.PEM', '.Env', '.SSH/config', '~/.aws/credentials'],
    ];
    for (const path of paths) assert.notEqual(await ruleOf('Write', { file_path: path }, SECRETS), null, path);
  });
  it('ignores names that only resemble one', async () => {
    for (const path of [
      'src/secretary.ts',
      'src/credential-form.tsx',
      'src/env.ts',
      'my.env',
      'pem/x',
      'key.ts',
      'secrets.ts',
    ])
      assert.equal(await ruleOf('Write', { file_path: path }, SECRETS), null, path);
  });
  it('does not depend on the path of the project itself', async () => {
    const dir = join(project.root, 'secrets', 'shop');
    mkdirSync(dir, { recursive: true });
    const more = { projectDir: dir };
    const call = (path: string) => evaluate('Write', { file_path: path }, SECRETS, more, dir);
    assert.equal((await call(join(dir, 'src/a.ts'))).decision, 'allow');
    assert.equal((await call(join(dir, '.env'))).decision, 'deny');
    assert.equal((await call(join(project.root, 'secrets', 'other'))).decision, 'deny');
  });
  it('does not cover copies in a folder for temporary files, unless the project or the home is there', async () => {
    const elsewhere = { projectDir: '/srv/shop', home: '/home/me' };
    const write = async (path: string, more: Partial<GuardRules>) =>
      (await evaluate('Write', { file_path: path }, SECRETS, more, '/srv/shop')).decision;
    for (const path of ['/tmp/copy/.env.example', '/var/tmp/test.key']) {
      assert.equal(await write(path, elsewhere), 'allow', path);
      assert.equal(await write(path, { ...elsewhere, home: '/tmp' }), 'deny', path);
    }
    for (const path of ['/srv/shop/.env', '/home/me/.ssh/config', '/srv/other/.env', '/tmpx/.env'])
      assert.equal(await write(path, elsewhere), 'deny', path);
  });
  it('is the only policy: a call under another one cannot be decided', async () => {
    await assert.rejects(write('x', ['policy:no-such-thing']), /policy that is unknown/);
  });
});

describe('a protected file under another name', () => {
  it('counts through a symlink to it and to its folder', async () => {
    assert.notEqual(await write('env-link', ['.env']), null);
    assert.notEqual(await write('src/config-link/app.pem', ['config/**']), null);
    assert.notEqual(await write('src/config-link/new.json', ['config/**']), null);
    assert.notEqual(await bash('echo x > env-link', { protectedFiles: ['.env'] }), null);
    assert.notEqual(await bash('cd src/config-link && rm app.pem', { protectedFiles: ['config/*.pem'] }), null);
    assert.notEqual(await bash('cat env-link', PRIVATE), null);
    assert.notEqual(await ruleOf('Read', { file_path: at('env-link') }, PRIVATE), null);
  });
  it('counts if the project is reached through a symlink', async () => {
    const path = join(project.root, 'project-link', 'deploy/prod.yaml');
    assert.notEqual(await write(path, ['deploy/prod.yaml']), null);
  });
  it('counts behind "..", resolved as the kernel does', async () => {
    assert.notEqual(await write('src/config-link/../deploy/prod.yaml', ['deploy/prod.yaml']), null);
    assert.equal(await write('src/index-link/../deploy/prod.yaml', ['deploy/prod.yaml']), null);
    assert.notEqual(await bash('cat src/config-link/../.env', PRIVATE), null);
  });
  it('counts before it exists', async () => {
    assert.notEqual(await write('not/yet/there/.env', ['.env']), null);
    assert.notEqual(await bash('mkdir -p a/b && echo x > a/b/new.pem', SECRETS), null);
  });
  it('does not count through an existing hard link; making one is denied', async () => {
    // A hard link is the same file under a name of its own: only looking at every file of the disk could tell.
    assert.equal(await write('hard', ['.env']), null);
    assert.notEqual(await bash('ln .env hard2', { protectedFiles: ['.env'] }), null);
    assert.notEqual(await bash('cp -l .env hard2', { protectedFiles: ['.env'] }), null);
  });
  it('does not count for the link itself, which may be removed', async () => {
    assert.equal(await bash('rm other-link', { protectedFiles: ['.env'] }), null);
  });
});

describe('tools', () => {
  it('that write have to respect protected and private files', async () => {
    for (const tool of ['Write', 'Edit', 'MultiEdit']) {
      assert.equal(
        await ruleOf(tool, { file_path: at('.env') }, SECRETS),
        'protected_files: policy:secret-bearing-paths',
      );
      assert.equal(
        await ruleOf(tool, { file_path: at('.env') }, PRIVATE),
        'private_files: policy:secret-bearing-paths',
      );
      assert.equal(await ruleOf(tool, { file_path: at('src/index.ts') }, SECRETS), null);
    }
    assert.notEqual(await ruleOf('NotebookEdit', { notebook_path: 'secrets/a.ipynb' }, SECRETS), null);
  });
  it('that read have to respect private files only', async () => {
    for (const [tool, input] of [
      ['Read', { file_path: at('.env') }],
      ['NotebookRead', { notebook_path: at('secrets/a.ipynb') }],
      ['Grep', { pattern: 'KEY', path: at('.env') }],
      ['Grep', { pattern: 'KEY', path: at('config') }],
      ['Grep', { pattern: 'KEY' }],
      ['Grep', { pattern: 'KEY', glob: '.env*' }],
      ['Glob', { pattern: '.env*' }],
      ['Glob', { pattern: '**/*.pem' }],
      ['Glob', { pattern: '*', path: at('secrets') }],
      ['mcp__fs__read_file', { path: at('.env') }],
      ['mcp__fs__read_multiple_files', { paths: [at('README.md'), at('.env')] }],
    ] as const) {
      assert.notEqual(await ruleOf(tool, input, PRIVATE), null, JSON.stringify([tool, input]));
      assert.equal(await ruleOf(tool, input, SECRETS), null, JSON.stringify([tool, input]));
    }
    for (const [tool, input] of [
      ['Read', { file_path: at('src/index.ts') }],
      ['Grep', { pattern: 'KEY', path: at('src') }],
      ['Grep', { pattern: '.env', path: 'docs' }],
      ['Grep', { pattern: 'KEY', glob: '*.ts' }],
      ['Grep', { pattern: 'KEY', glob: 'src/**/*.{ts,tsx}' }],
      ['Glob', { pattern: '**/*.ts' }],
      ['Glob', { pattern: 'src/**' }],
      ['WebFetch', { url: 'https://x.example/.env' }],
      ['Task', { prompt: 'read .env' }],
    ] as const)
      assert.equal(await ruleOf(tool, input, PRIVATE), null, JSON.stringify([tool, input]));
  });
  it('of MCP servers have to respect what they write, remove and read', async () => {
    assert.notEqual(await ruleOf('mcp__fs__write_file', { path: at('.env') }, SECRETS), null);
    assert.notEqual(await ruleOf('mcp__fs__move_file', { source: at('config'), destination: '/tmp/x' }, SECRETS), null);
    assert.notEqual(await ruleOf('mcp__fs__delete', { uri: `file://${at('secrets')}` }, SECRETS), null);
    assert.notEqual(await ruleOf('mcp__shell__run', { command: 'rm .env' }, SECRETS), null);
    assert.equal(await ruleOf('mcp__fs__write_file', { path: at('src/a.ts') }, SECRETS), null);
    assert.equal(await ruleOf('mcp__fs__list_directory', { path: at('config') }, SECRETS), null);
  });
});

describe('a folder with a protected file in it', () => {
  it('may not be removed or moved', async () => {
    assert.notEqual(await bash('rm -rf config', { protectedFiles: ['config/app.pem'] }), null);
    assert.notEqual(await bash('mv config old', { protectedFiles: ['*.pem'] }), null);
    assert.equal(await bash('rm -rf docs', { protectedFiles: ['*.pem'] }), null);
  });
  it('may be removed if tools created it: keys in node_modules are not protected', async () => {
    assert.equal(await bash('rm -rf node_modules', { protectedFiles: ['*.pem'] }), null);
  });
  it('that is too large to search is recorded, and denied under strict', async () => {
    mkdirSync(at('many'));
    for (let index = 0; index < 5100; index += 1) writeFileSync(at(`many/${index}`), '');
    const verdict = await evaluate('Bash', { command: 'rm -rf many' }, SECRETS);
    assert.deepEqual(verdict.decision === 'allow' ? verdict.recorded : verdict, ['many-files: rm']);
    assert.equal(await bash('rm -rf many', { ...SECRETS, strict: true }), 'undecided');
    rmSync(at('many'), { recursive: true });
  });
});

describe('git', () => {
  const tracked = { protectedFiles: ['deploy/prod.yaml'] };
  const untracked = { protectedFiles: ['.env'] };
  it('resets, restores and stashes only what it tracks', async () => {
    for (const command of [
      'git reset --hard',
      'git restore .',
      'git checkout -- .',
      'git stash',
      'git restore "*.yaml"',
    ]) {
      assert.notEqual(await bash(command, tracked), null, command);
      assert.equal(await bash(command, untracked), null, command);
    }
  });
  it('cleans what it does not track, except for excluded files', async () => {
    assert.equal(await bash('git clean -fdx', tracked), null);
    assert.notEqual(await bash('git clean -fdx', untracked), null);
    assert.equal(await bash('git clean -fdx -e .env', untracked), null);
  });
  it('switches branches, which is recorded and denied under strict', async () => {
    assert.equal(await bash('git checkout main', tracked), null);
    assert.equal(await bash('git checkout main', { ...tracked, strict: true }), 'undecided');
    assert.equal(await bash('git checkout -b feature', { ...tracked, strict: true }), null);
  });
});

describe('a denial', () => {
  it('names the file, the list and what to do', async () => {
    const verdict = await evaluate('Edit', { file_path: at('deploy/prod.yaml') }, { protectedFiles: ['deploy/*'] });
    assert.deepEqual(verdict, {
      decision: 'deny',
      rule: 'protected_files: deploy/*',
      message:
        `Edit would change ${at('deploy/prod.yaml')}, which the user keeps protected. Leave it alone and do the task ` +
        'without it. If the command reaches it only incidentally, name the files you mean more narrowly. If the task cannot be done ' +
        'without it, say so in your reply: the user can do it.',
    });
  });
});

describe('a protected lock file', () => {
  const rules = { protectedFiles: ['package-lock.json'] };
  it('is changed by commands that change dependencies, or the version in it', async () => {
    for (const command of ['npm install left-pad', 'npm uninstall left-pad', 'npm version patch'])
      assert.notEqual(await bash(command, rules), null, command);
  });
  it('is not changed by those that edit the manifest alone', async () => {
    for (const command of ['npm pkg set scripts.lint="eslint src"', 'npm init -y']) {
      assert.equal(await bash(command, rules), null, command);
      assert.notEqual(await bash(command, { protectedFiles: ['package.json'] }), null, `control: ${command}`);
    }
  });
});
