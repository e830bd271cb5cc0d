import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import '../../support/starts-processes.ts';
import { CODEX } from '../../../src/hosts/codex/codex.ts';
import { trustedHooks } from '../../../src/hosts/codex/hooks.ts';

/** A stand-in for Codex's app server that lists both hooks, and these features. */
const server = (features: readonly object[]): string => `#!${process.execPath}
const answer = (id, data) => console.log(JSON.stringify({ id, result: { data } }));
const hooks = ['pre', 'post'].map((key) => ({ key, currentHash: 'h', source: 'sessionFlags', enabled: true }));
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'hooks/list') answer(id, [{ hooks, warnings: [] }]);
  if (method === 'experimentalFeature/list') setTimeout(() => answer(id, ${JSON.stringify(features)}), 50);
});
`;

test('a Codex whose commands would have a terminal is refused', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'ralph-codex-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  const program = join(cwd, 'codex.cjs');
  const listed = (features: readonly object[]): Promise<string[]> => {
    writeFileSync(program, server(features), { mode: 0o755 });
    return trustedHooks(() => program, { cwd, env: process.env, node: 'node', hookPath: (file) => file }, 'iteration');
  };
  const name = 'unified_exec_tty';
  assert.deepEqual((await listed([{ name, enabled: false }])).slice(-2), ['--disable', name]);
  await assert.rejects(listed([{ name, enabled: true }]), /let the agent type into running commands/);
  await assert.rejects(listed([{ name: 'another', enabled: false }]), /let the agent type into running commands/);
});

test('a session at a terminal never asks in a mode that never does; in others, its user decides', () => {
  const rest = { model: null, effort: null, checks: [], mayRun: [], hooks: [], own: [], session: null, settings: '{}' };
  const asks = (permissionMode: string | null, headless = false): boolean =>
    !CODEX.sessionArgs({ ...rest, permissionMode, headless, prompt: 'Work.' }).includes('approval_policy="never"');
  assert.deepEqual(
    ['bypassPermissions', 'dontAsk', 'acceptEdits', null].map((mode) => asks(mode)),
    [...[false, false], ...[true, true]],
  );
  assert.equal(asks('bypassPermissions', true), true, 'without a terminal, Codex never asks');
});
