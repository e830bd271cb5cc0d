import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNode } from '../../../src/install/doctor/check-client.ts';
import { checkSettings } from '../../../src/install/doctor/check-registration.ts';
import type { Examined } from '../../../src/install/doctor/finding.ts';
import type { SettingsSource } from '../../../src/install/settings/settings-sources.ts';

function examined(more: Partial<Examined>): Examined {
  return {
    projectDir: '/project',
    env: { PATH: process.env['PATH'] },
    platform: 'linux',
    bundle: '/bundle',
    version: '0.0.0',
    now: '2026-01-01T00:00:00Z',
    node: { path: process.execPath, version: process.version },
    client: null,
    sources: [],
    policy: null,
    gateSeconds: 0,
    settingsProblem: null,
    ...more,
  };
}

function managed(value: Record<string, unknown>): readonly SettingsSource[] {
  return [{ name: 'managed', path: '/etc/claude-code/managed-settings.json', value, exists: true, problem: null }];
}

test('managed settings that allow managed hooks alone are an error that only an administrator can mend', () => {
  const found = checkSettings(examined({ sources: managed({ allowManagedHooksOnly: true }) }));
  const error = found.find(({ check }) => check === 'managed-settings');
  assert.equal(error?.level, 'error');
  assert.match(error?.message ?? '', /no loop can/);
  assert.equal(error?.fix, undefined);
});

test('managed settings that turn all hooks off are an error', () => {
  const found = checkSettings(examined({ sources: managed({ disableAllHooks: true }) }));
  assert.match(found.find(({ check }) => check === 'hooks-enabled')?.message ?? '', /no hook runs\.$/);
});

test('other managed settings are fine', () => {
  const found = checkSettings(examined({ sources: managed({ permissions: {} }) }));
  assert.ok(found.every(({ level }) => level === 'ok'));
});

test('extra certificates cost time on Windows only, where the hooks cannot be started without them', () => {
  const env = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: '/x' };
  const level = (platform: NodeJS.Platform): string | undefined =>
    checkNode(examined({ env, platform })).find(({ check }) => check === 'extra-ca-certs')?.level;
  assert.deepEqual([level('linux'), level('win32')], ['ok', 'warning']);
});

test('a node that is too old to run this is named', () => {
  const found = checkNode(examined({ node: { path: '/old/node', version: 'v18.0.0' } }));
  assert.match(found.find(({ check }) => check === 'node-version')?.message ?? '', /\/old\/node is node 18\.0\.0/);
});
