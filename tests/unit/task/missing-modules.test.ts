import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import '../../support/starts-processes.ts';
import { folderWith } from '../../support/folder.ts';

/** The system's Python first: others may have imported much before they begin. */
const ENV = { PATH: `/usr/bin:${process.env['PATH']}` };

function check(
  t: TestContext,
  run: string,
  files: Readonly<Record<string, string>> = {},
): [string, string | undefined] {
  const dir = folderWith(t, files);
  const text = `---\nvalidation:\n  - ${JSON.stringify(run)}\n---\nWork.\n`;
  const { problems } = checkTaskFile('PROMPT.md', text, 'prompt', { dir, env: ENV });
  return [dir, problems[0]?.message];
}

test('warns of a module that Python does not find, and of no other', (t) => {
  const [, missing] = check(t, 'python3 -m nosuchmodule.sub -q');
  assert.match(missing ?? '', /cannot run here: python3 has no module "nosuchmodule"\. Install it,/);
  assert.equal(check(t, 'python3 -m unittest -v')[1], undefined);
  assert.equal(check(t, 'python3 -m calc', { 'calc.py': '' })[1], undefined, 'a module of the project');
});

test('runs nothing of the project to learn which modules there are', (t) => {
  const trap = "open('ran', 'w').close()\n";
  const files = Object.fromEntries(['contextlib', 'functools', 'types', 'calc'].map((name) => [`${name}.py`, trap]));
  const [dir, missing] = check(t, 'python3 -m calc', files);
  assert.deepEqual([missing, existsSync(join(dir, 'ran'))], [undefined, false]);
  spawnSync('python3', ['-S', '-c', 'import contextlib'], { cwd: dir, env: ENV });
  assert.ok(existsSync(join(dir, 'ran')), 'control: an import by its folder would have run it');
});
