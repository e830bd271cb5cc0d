import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyFolder } from '../support/folder.ts';
import { DIST } from '../support/project.ts';

const HOOKS = join(DIST, 'hooks');

test('no hook of a loop keeps the variables of the fleet in its environment', (t) => {
  const dir = emptyFolder(t);
  const look = join(dir, 'look.cjs');
  writeFileSync(look, 'process.on("exit", () => console.error(`KEY=${process.env.RALPH_FLEET_KEY}`));\n');
  const plain = join(dir, 'plain.cjs');
  writeFileSync(plain, '');
  const seen = (script: string, words: readonly string[] = []): string => {
    const env = { PATH: process.env['PATH'], HOME: dir, RALPH_ACTIVE: '1', RALPH_FLEET_KEY: 'planted' };
    const said = spawnSync(process.execPath, ['--require', look, script, ...words], { cwd: dir, env, input: '{}' });
    return String(said.stderr);
  };
  assert.match(seen(plain), /KEY=planted/, 'control');
  const hooks = readdirSync(HOOKS).filter((name) => name.endsWith('.cjs'));
  for (const name of ['pre-execute', 'post-execute', 'router-tool-use', 'ralph-stop-hook', 'pre-tool-use']) {
    assert.ok(
      hooks.some((file) => file.endsWith(`${name}.cjs`)),
      `${name} is in ${hooks}`,
    );
  }
  for (const name of hooks) assert.match(seen(join(HOOKS, name)), /KEY=undefined/, name);
  const [router = ''] = hooks.filter((name) => name.endsWith('router-tool-use.cjs'));
  assert.match(seen(join(HOOKS, router), ['note']), /KEY=undefined/);
});
