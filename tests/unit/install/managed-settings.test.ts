import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Examined, Outcome } from '../../../src/install/doctor/finding.ts';
import { hooksEnabled, managedSettings, settingsReadable } from '../../../src/install/doctor/hooks.ts';
import type { SettingsSource } from '../../../src/install/settings/settings-sources.ts';

function examined(more: Partial<Examined>): Examined {
  return {
    projectDir: '/project',
    env: { PATH: process.env['PATH'] },
    platform: 'linux',
    bundle: '/bundle',
    version: '0.0.0',
    now: '2026-01-01T00:00:00Z',
    node: { path: process.execPath },
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

test('managed settings that allow only managed hooks are an error that only an administrator can fix', () => {
  const [error] = managedSettings(examined({ sources: managed({ allowManagedHooksOnly: true }) }));
  assert.equal(error?.level, 'error');
  assert.match(error?.message ?? '', /no loop can/);
  assert.equal(error?.repair, undefined);
});

test('managed settings that turn all hooks off are an error', () => {
  const [found] = hooksEnabled(examined({ sources: managed({ disableAllHooks: true }) }));
  assert.match(found?.message ?? '', /no hook runs\.$/);
});

test('other managed settings are fine', () => {
  const sources = managed({ permissions: {} });
  const found = [settingsReadable, hooksEnabled, managedSettings].flatMap((check): readonly Outcome[] =>
    check(examined({ sources })),
  );
  assert.equal(found.length, 3);
  assert.ok(found.every(({ level }) => level === 'ok'));
});
