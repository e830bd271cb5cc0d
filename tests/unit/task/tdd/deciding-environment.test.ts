import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decidingEnvironment, withDeciding } from '../../../../src/task/commands/deciding-environment.ts';
import { runCommand } from '../../../../src/task/commands/run-command.ts';
import { emptyFolder } from '../../../support/folder.ts';

const AGREED = { PATH: process.env['PATH'] ?? '', LANG: 'C' };
const kept = decidingEnvironment(AGREED);

/** What an agent's shell can be given so that a command which fails passes. */
const FAKES: readonly (readonly [string, string, Record<string, string>])[] = [
  ['a function in the place of a program', 'node -e "process.exit(1)"', { 'BASH_FUNC_node%%': '() { return 0; }' }],
  ['a shell that runs nothing', 'false', { SHELLOPTS: 'noexec' }],
  ['a make that runs nothing', 'make test', { MAKEFLAGS: 'n' }],
  ['another shell for the scripts of npm', 'npm test', { NPM_CONFIG_SCRIPT_SHELL: '/bin/true' }],
];
for (const [what, run, fake] of FAKES) {
  test(`a shell that runs a step does not affect its result: ${what}`, async (t) => {
    const directory = emptyFolder(t);
    writeFileSync(join(directory, 'Makefile'), 'test:\n\tfalse\n');
    writeFileSync(join(directory, 'package.json'), '{"scripts": {"test": "false"}}');
    const asked = { ...AGREED, HOME: directory, ...fake };
    const code = async (env: Readonly<Record<string, string | undefined>>): Promise<unknown> => {
      const { signal } = new AbortController();
      const { end } = await runCommand({ run, directory, env, timeoutMs: 60_000, signal });
      return end.kind === 'exit' ? end.code : end;
    };
    assert.equal(await code(asked), 0, 'control: as the shell says it, it passes');
    assert.notEqual(await code(withDeciding(asked, kept)), 0);
  });
}

test('variables without effect stay as the shell sets them, and no credential is stored', () => {
  const asked = { ...AGREED, LANG: 'de', DATABASE_URL: 'x', NODE_AUTH_TOKEN: 'ours', Path: './fake' };
  assert.deepEqual(withDeciding(asked, kept), {
    ...{ LANG: 'de', DATABASE_URL: 'x', NODE_AUTH_TOKEN: 'ours', PATH: AGREED.PATH },
  });
  assert.deepEqual(decidingEnvironment({ NODE_AUTH_TOKEN: 'secret', npm_config__auth: 'secret', NODE_ENV: 'test' }), {
    NODE_ENV: 'test',
  });
});
