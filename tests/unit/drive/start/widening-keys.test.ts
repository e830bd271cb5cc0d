import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSIFIED_KEYS, unagreedSettings } from '../../../../src/drive/start/terms/agreed-settings.ts';
import type { Frontmatter } from '../../../../src/task/frontmatter/schema.ts';
import { KEY_PATHS, resolvePolicy, valueAt } from '../../../../src/task/settings/resolve-policy.ts';

/** Keys of a task file that need consent, below these settings of the user. */
function asked(frontmatter: Frontmatter, userConfig: unknown = null, mode: 'hook' | 'runner' = 'runner'): string[] {
  const resolved = resolvePolicy({ kind: 'plan', frontmatter, configs: { 'user config': userConfig } });
  assert.ok(resolved.ok, JSON.stringify(resolved.problems));
  // A home that remembers no agreement.
  const env = { XDG_STATE_HOME: '/nonexistent' };
  return unagreedSettings({ projectDir: import.meta.dirname, env, mode }, resolved)
    .filter(({ line }) => line.endsWith('(task file)'))
    .map(({ line }) => line.split(':')[0] ?? '');
}

test('every key of a file says whether it needs consent, and no other key does', () => {
  const answers = (path: string): string[] =>
    CLASSIFIED_KEYS.filter((key) => path === key || path.startsWith(`${key}.`));
  const groups = new Set(CLASSIFIED_KEYS.flatMap((key) => (key.includes('.') ? [key.split('.')[0] ?? ''] : [])));
  for (const path of KEY_PATHS) assert.equal(answers(path).length, groups.has(path) ? 0 : 1, path);
  for (const key of CLASSIFIED_KEYS) assert.ok(KEY_PATHS.includes(key), key);
  // Control: the walk finds a key that has no answer.
  assert.equal(answers('telemetry.endpoint').length, 0);
});

/** One value of each key that widens, and one that does not. */
const WIDER: readonly (readonly [key: string, wide: Frontmatter, narrow: Frontmatter, user?: unknown])[] = [
  ['agent', { agent: './other' }, {}],
  ['permission_mode', { permission_mode: 'auto' }, { permission_mode: 'acceptEdits' }],
  ['isolation', { isolation: 'client' }, { isolation: 'project' }],
  ['worktree_setup', { worktree_setup: 'npm ci' }, { worktree_copy: ['.env'] }],
  ['notify.command', { notify: { command: ['say'] } }, { notify: { bell: false } }],
  ['notify.url', { notify: { url: 'https://example.org' } }, { notify: { template: 'slack' } }],
  ['sandbox.mode', { sandbox: { mode: 'off' } }, { sandbox: { mode: 'on' } }],
  ['sandbox.mode', { sandbox: { mode: 'auto' } }, { sandbox: { mode: 'on' } }, { sandbox: { mode: 'on' } }],
  ['sandbox.allow_write', { sandbox: { allow_write: ['/var'] } }, { sandbox: { allow_write: [] } }],
  ['sandbox.network', { sandbox: { network: ['example.org'] } }, { sandbox: { network: false } }],
  ...(['deny_read', 'deny_write'] as const).map((key) => {
    const user = { sandbox: { [key]: ['~/.ssh'] } };
    return [`sandbox.${key}`, { sandbox: { [key]: [] } }, { sandbox: { [key]: ['~/.ssh', '/a'] } }, user] as const;
  }),
  ...(['block_commands', 'protected_files', 'private_files'] as const).map((key) => {
    const [narrow, user] = [{ guardrails: { [key]: ['b', 'a'] } }, { guardrails: { [key]: ['a'] } }];
    return [`guardrails.${key}`, { guardrails: { [key]: ['b'] } }, narrow, user] as const;
  }),
  ['guardrails.lift', { guardrails: { lift: ['push-main'] } }, { guardrails: { lift: [] } }],
  [
    'guardrails.strict',
    { guardrails: { strict: false } },
    { guardrails: { strict: true } },
    { guardrails: { strict: true } },
  ],
  [
    'guardrails.shell_policy',
    { guardrails: { shell_policy: { mode: 'blocklist' } } },
    { guardrails: { shell_policy: { mode: 'allowlist', allow: ['npm test'] } } },
    { guardrails: { shell_policy: { mode: 'allowlist', allow: ['npm test'] } } },
  ],
];

for (const [key, wide, narrow, user] of WIDER) {
  test(`${key} of a task file needs consent where it widens: ${JSON.stringify(wide)}`, () => {
    assert.deepEqual(asked(wide, user), [key]);
    assert.deepEqual(asked(narrow, user), [], 'control');
  });
}

for (const [key, wide] of WIDER) {
  test(`${key} can be passed with --set as it is shown: ${JSON.stringify(wide)}`, () => {
    const [value, env] = [valueAt(wide, key), { XDG_STATE_HOME: '/nonexistent' }];
    const flags = { [key]: typeof value === 'string' ? value : JSON.stringify(value) };
    const resolved = resolvePolicy({ kind: 'plan', frontmatter: wide, flags });
    assert.ok(resolved.ok, JSON.stringify(resolved.problems));
    assert.deepEqual(valueAt(resolved.values, key), value);
    assert.deepEqual(unagreedSettings({ projectDir: import.meta.dirname, env, mode: 'runner' }, resolved), []);
  });
}

test('restrictions of a task file that nothing wider sets need no consent', () => {
  assert.deepEqual(asked({ guardrails: { block_commands: [], strict: false }, sandbox: { deny_read: [] } }), []);
});

test('the agent of a task file needs no consent in a session, which has none', () => {
  assert.deepEqual(asked({ agent: './other' }, null, 'hook'), []);
  assert.deepEqual(asked({ agent: './other' }), ['agent'], 'control');
});
