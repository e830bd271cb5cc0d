import { clientSandboxProblem } from '../../../src/hosts/claude/claude-code.ts';
import { sandboxProblem, sandboxTerms } from '../../../src/sandbox/bubblewrap.ts';
import { clientSandbox, gitExcludes } from '../../../src/sandbox/client-settings.ts';
import { pathOutside, withoutGitExcludes } from '../../../src/sandbox/environment.ts';
import { exclusionText } from '../../../src/sandbox/messages.ts';
import { secretNames } from '../../../src/sandbox/secret-names.ts';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { resolvePolicy } from '../../../src/task/settings/resolve-policy.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const ENV = { PATH: process.env['PATH'] ?? '', HOME: '/home/user' };

test('paths of the settings become absolute: from the project, from the home, or as they are', () => {
  const settings = { mode: 'on', allow_write: ['~/.cache', '/srv/x'], deny_write: ['a/b'], deny_read: ['~'] } as const;
  assert.deepEqual(sandboxTerms({ ...settings, network: ['example.com'] }, '/project', ENV), {
    allowWrite: ['/home/user/.cache', '/srv/x'],
    denyWrite: ['/project/a/b'],
    denyRead: ['/home/user'],
    network: ['example.com'],
  });
});

test('recognises secrets by the end of their names, unless a command names them', () => {
  const env = { API_KEY: '', GH_TOKEN: '', db_password: '', AWS_SECRET: '', KEYBOARD: '', PATH: '', MY_GH_TOKEN: '' };
  assert.deepEqual(secretNames(env, []), ['API_KEY', 'GH_TOKEN', 'db_password', 'AWS_SECRET', 'MY_GH_TOKEN']);
  assert.deepEqual(secretNames(env, ['x "$GH_TOKEN"', 'deploy ${API_KEY}']), [
    'db_password',
    'AWS_SECRET',
    'MY_GH_TOKEN',
  ]);
});

test("merges the sandbox of a task file and of the user's settings key by key", () => {
  const text = '---\nsandbox:\n  deny_read: [secret]\n  network: true\n---\n\nDo it.\n';
  const { frontmatter, problems } = checkTaskFile('PROMPT.md', text);
  assert.deepEqual(problems, []);
  const configs = { 'user config': { sandbox: { mode: 'on', network: false } } };
  const resolved = resolvePolicy({ kind: 'prompt', frontmatter, configs, flags: { 'sandbox.network': 'false' } });
  assert.ok(resolved.ok);
  const { sandbox } = resolved.settings;
  assert.deepEqual(sandbox, { mode: 'on', allow_write: [], deny_write: [], deny_read: ['secret'], network: false });
});

for (const [wrong, message] of [
  ['mode: yes', /sandbox\.mode must be one of off, auto, on/],
  ['deny_read: ["a/*.pem"]', /sandbox\.deny_read\[0\] must be a path without pattern/],
  ['allow_write: ["~other/x"]', /must name a home as ~\//],
  ['network: maybe', /sandbox\.network must be true, false or a list of domains/],
  ['network: ["https://x.org/"]', /sandbox\.network\[0\] must be a domain|true, false or a list of domains/],
] as const) {
  test(`"sandbox: ${wrong}" is refused with the rule`, () => {
    const { problems } = checkTaskFile('PROMPT.md', `---\nsandbox:\n  ${wrong}\n---\n\nDo it.\n`);
    assert.match(problems.map((problem) => problem.message).join('\n'), message);
  });
}

test("the client's settings close every path to its shell and to its file tools", (context) => {
  const dir = folderWith(context, { 'folder/file': '', file: '' });
  const [folder, file, missing] = ['folder', 'file', 'missing'].map((name) => join(dir, name));
  const terms = { allowWrite: [], denyWrite: [file ?? ''], denyRead: [folder ?? ''], network: false };
  const closed = [missing ?? ''];
  const { sandbox, permissions } = clientSandbox({ terms, closed, excluded: ['x *'], secrets: ['KEY'] });
  assert.deepEqual(permissions, {
    allow: ['Bash', 'Bash(x *)'],
    deny: [`Edit(/${missing})`, `Edit(/${missing}/**)`, `Edit(/${file})`, `Read(/${folder})`, `Read(/${folder}/**)`],
  });
  assert.deepEqual(sandbox, {
    ...{ enabled: true, failIfUnavailable: true, autoAllowBashIfSandboxed: true, allowUnsandboxedCommands: false },
    excludedCommands: ['x *'],
    filesystem: { allowWrite: [], denyWrite: [file], denyRead: [folder] },
    network: { allowedDomains: [], deniedDomains: ['*'], strictAllowlist: true },
    credentials: { envVars: [{ name: 'KEY', mode: 'deny' }] },
  });
  const open = clientSandbox({ terms: { ...terms, network: true }, closed, excluded: [], secrets: [] });
  assert.deepEqual(open.sandbox.network, { allowedDomains: ['*'] });
  const some = clientSandbox({ terms: { ...terms, network: ['x.org'] }, closed, excluded: [], secrets: [] });
  assert.deepEqual(some.sandbox.network, { allowedDomains: ['x.org'], strictAllowlist: true });
});

test("git ignores what the sandbox shows and keeps the user's list; the loop's own git sees everything", (context) => {
  const dir = folderWith(context, { 'own-list': '*.log\n', 'git/app/x.log': '' });
  const git = join(dir, 'git');
  execFileSync('git', ['init', '-q', git]);
  const own = join(dir, 'own-list');
  const env = { ...ENV, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.excludesFile', GIT_CONFIG_VALUE_0: own };
  const file = join(dir, 'state', 'excludes');
  const closed = [join(git, 'app', 'closed'), '/elsewhere'];
  const files = { projectDir: join(git, 'app'), placeholders: join(dir, 'state', 'placeholders.json') };
  const seen = { ...env, ...gitExcludes(files, closed, file, env) };
  assert.match(readFileSync(file, 'utf8'), /^\*\.log\n\/app\/\.bash_profile\n[\s\S]*\n\/app\/closed\n$/);
  writeFiles(git, { 'app/.bashrc': '', 'app/sub/.bashrc': '', 'app/closed/x': '', '.bashrc': '' });
  const status = (variables: Record<string, string>): string =>
    execFileSync('git', ['status', '--porcelain', '-uall'], { cwd: git, env: variables, encoding: 'utf8' });
  assert.equal(status(seen), '?? .bashrc\n?? app/sub/.bashrc\n');
  assert.deepEqual(withoutGitExcludes(seen), env);
  assert.match(status(withoutGitExcludes(seen)), /\?\? app\/closed\/x/);
});

test('the message of a confined command names the setting for exactly its calls', () => {
  const [router, tdd] = (['router', 'tdd'] as const).map((command) =>
    JSON.parse(/\{"sandbox.*\}/.exec(exclusionText('/x', command, '/a b/main.cjs', 'other'))?.[0] ?? '{}'),
  );
  assert.deepEqual(router.sandbox.excludedCommands, ["node '/a b/main.cjs' router *"]);
  const steps = ['next', 'red', 'green', 'refactored', 'status'];
  const calls = steps.map((step) => `node '/a b/main.cjs' tdd --loop other ${step}*`);
  assert.deepEqual(tdd.sandbox.excludedCommands, calls);
});

test('tells a missing program, a refusing system and another system apart, each with a fix', (context) => {
  const bin = folderWith(context, {
    'bwrap.sh': '#!/bin/sh\necho "No permissions to create new namespace" >&2; exit 1\n',
  });
  assert.match(sandboxProblem({ PATH: bin }, 'linux')?.fix ?? '', /apt-get install bubblewrap socat/);
  writeFiles(bin, { 'socat.sh': '' });
  for (const name of ['bwrap', 'socat']) execFileSync('ln', ['-s', `${bin}/${name}.sh`, `${bin}/${name}`]);
  const refused = sandboxProblem({ PATH: bin }, 'linux');
  assert.match(refused?.text ?? '', /bubblewrap fails: No permissions to create new namespace/);
  assert.match(refused?.fix ?? '', /user\.max_user_namespaces/);
  assert.match(sandboxProblem(ENV, 'darwin')?.text ?? '', /needs Linux/);
  assert.equal(sandboxProblem(process.env, 'linux'), null, 'apt-get install bubblewrap socat');
});

test('a PATH outside the project has no entry that leads through it, by a link, relative or missing so far', (context) => {
  const root = realpathSync(folderWith(context, { 'project/bin/tool': '', 'elsewhere/bin/tool': '' }));
  const at = (path: string): string => join(root, path);
  symlinkSync(at('elsewhere'), at('project/.venv'));
  symlinkSync(at('project'), at('link'));
  const kept = ['/usr/bin', at('elsewhere/bin'), at('missing/bin')];
  const through = ['project/bin', 'project/later', 'project/.venv/bin', 'link/bin', 'link/later/bin'].map(at);
  const path = ['', '.', 'node_modules/.bin', ...through, ...kept].join(':');
  assert.equal(pathOutside(path, [at('project')]), kept.join(':'));
});

test('a client or node that the agent could replace is not confined', (context) => {
  const root = folderWith(context, { 'project/node_modules/.bin/claude': '#!/bin/sh\necho 2.1.332\n' });
  const project = join(root, 'project');
  const claude = join(project, 'node_modules/.bin/claude');
  chmodSync(claude, 0o755);
  const problem = (path: string, writable: string) => clientSandboxProblem({ ...ENV, RALPH_CLAUDE: path }, [writable]);
  assert.match(problem(claude, project)?.text ?? '', /could replace .*\.bin\/claude/);
  assert.equal(problem(claude, join(root, 'other')), null, 'control: the client is outside of what it may write to');
  symlinkSync(claude, join(root, 'claude'));
  assert.match(problem(join(root, 'claude'), project)?.text ?? '', /could replace/, 'a link leads into the project');
  assert.match(problem('missing', dirname(process.execPath))?.text ?? '', /could replace .*node/);
});
