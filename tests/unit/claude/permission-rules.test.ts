import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type PermissionRule, permissionRules, refusingRules } from '../../../src/hosts/claude/permission-rules.ts';
import { emptyFolder } from '../../support/folder.ts';

test('Rules of all settings files are read, with the file of each; a broken file has none.', (t) => {
  const base = emptyFolder(t);
  const [project, user] = [join(base, 'project'), join(base, 'config')];
  for (const folder of [join(project, '.claude'), user]) mkdirSync(folder, { recursive: true });
  const env = { CLAUDE_CONFIG_DIR: user };
  assert.deepEqual(permissionRules(project, env), []);
  const write = (path: string, permissions: object): void =>
    writeFileSync(path, `\uFEFF${JSON.stringify({ permissions })}`);
  const files = {
    project: join(project, '.claude/settings.json'),
    local: join(project, '.claude/settings.local.json'),
    user: join(user, 'settings.json'),
  };
  write(files.project, { deny: ['Bash(a)', 7], ask: ['Edit'] });
  writeFileSync(files.local, '{"permissions": {"deny": [');
  write(files.user, { deny: ['WebFetch'], allow: ['Bash(b)'] });
  assert.deepEqual(permissionRules(project, env), [
    { kind: 'deny', rule: 'Bash(a)', path: files.project },
    { kind: 'ask', rule: 'Edit', path: files.project },
    { kind: 'deny', rule: 'WebFetch', path: files.user },
  ]);
});

const COVERED: readonly (readonly [string, string, boolean])[] = [
  ['Bash', 'ls', true],
  ['Bash(git push:*)', 'git push', true],
  ['Bash(git push:*)', 'git push origin', true],
  ['Bash(git push:*)', 'git pushed', false],
  ['Bash(npm run *)', 'npm run build', true],
  ['Bash(npm run *)', 'npm run', true],
  ['Bash(node a*)', 'node abc', true],
  ['Bash(node a*)', 'node b', false],
  ['Bash(rm -rf (x))', 'rm -rf (x)', true],
  ['Bash(git * --force)', 'git push --force', true],
  ['Bash(git * --force)', 'git --force', false],
  ['Bash(* push * --force)', 'git push x --force', true],
  ['Bash(a*b*c*d)', `a${'bc'.repeat(20_000)}`, false],
  ['Bash(git push:*)', 'cd x && sudo git push', true],
  ['Bash(git push:*)', 'bash -c "git push"', true],
];

for (const [rule, command, covers] of COVERED) {
  test(`${rule} ${covers ? 'covers' : 'does not cover'} ${command.slice(0, 30)}`, () => {
    const other: PermissionRule = { kind: 'deny', rule: 'Bash(zzz)', path: 'b.json' };
    const own: PermissionRule = { kind: 'deny', rule, path: 'a.json' };
    const call = { tool: 'Bash', input: { command }, projectDir: '/p' };
    const expected = covers ? { isCertain: true, rules: [own] } : { isCertain: false, rules: [other, own] };
    assert.deepEqual(refusingRules([other, own], 'deny', call), expected);
    const none = { isCertain: false, rules: [] };
    assert.deepEqual(refusingRules([own], 'ask', call), none);
    assert.deepEqual(refusingRules([own], 'deny', { ...call, tool: 'Write' }), none);
  });
}

const FILES: readonly (readonly [string, string, string, boolean])[] = [
  ['Read(secrets/**)', 'Read', '/p/secrets/a.txt', true],
  ['Read(secrets/**)', 'Read', '/p/secret.txt', false],
  ['Read(./.env)', 'Read', '.env', true],
  ['Read(.env)', 'Grep', 'packages/a/.env', true],
  ['Read(secrets)', 'Glob', 'secrets/deep', true],
  ['Edit(b.txt)', 'Edit', '/p/b.txt', true],
  ['Edit(b.txt)', 'Write', '/p/b.txt', true],
  ['Edit(b.txt)', 'Read', '/p/b.txt', false],
  ['Edit(/src/**)', 'Edit', '/p/src/a/b.ts', true],
  ['Read(//etc/host*)', 'Read', '/etc/hostname', true],
  ['Read(//etc/host*)', 'Read', '/p/etc/hostname', false],
  ['Read(~/.ssh/**)', 'Read', `${homedir()}/.ssh/id`, true],
  ['Read(secrets/**)', 'Bash', 'cat secrets/a.txt', true],
  ['Read', 'Read', '/p/a', true],
  ['WebFetch(domain:example.com)', 'WebFetch', 'https://example.com/x', true],
  ['WebFetch(domain:example.com)', 'WebFetch', 'https://example.org/', false],
];

for (const [rule, tool, subject, covers] of FILES) {
  test(`${rule} ${covers ? 'covers' : 'does not cover'} ${tool} of ${subject}`, () => {
    const own: PermissionRule = { kind: 'deny', rule, path: '/p/.claude/settings.json' };
    const key = { Bash: 'command', WebFetch: 'url', Grep: 'path', Glob: 'path' }[tool] ?? 'file_path';
    const call = { tool, input: { [key]: subject }, projectDir: '/p' };
    assert.equal(refusingRules([own], 'deny', call).isCertain, covers);
  });
}
