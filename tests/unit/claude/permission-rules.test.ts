import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type PermissionRule, permissionRules, refusingRules } from '../../../src/claude/permission-rules.ts';
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
    assert.deepEqual(refusingRules([other, own], 'deny', 'Bash', command), covers ? [own] : [other, own]);
    assert.deepEqual(refusingRules([own], 'ask', 'Bash', command), []);
    assert.deepEqual(refusingRules([own], 'deny', 'Write', command), []);
  });
}
