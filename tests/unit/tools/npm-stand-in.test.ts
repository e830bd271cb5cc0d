import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { COMMAND_PATH } from '../../support/command-path.ts';
import { folderWith } from '../../support/folder.ts';

const SCRIPTS = {
  test: 'echo tested; echo said >&2; exit 3',
  quoted: 'echo "two  words"',
  predeploy: 'echo before',
  deploy: 'echo after',
  whose: 'echo $npm_execpath',
};
const CALLS = [['test'], ['run', 'test'], ['run', 'quoted'], ['run', 'deploy'], ['run', 'none']];

test('the npm of the tests does with the scripts of a package what npm does', (t) => {
  const said = (dir: string, words: readonly string[], PATH: string | undefined): object => {
    // A run of `npm test` tells these tests of its npm.
    const { npm_execpath: _, ...around } = process.env;
    const env = { ...around, PATH, HOME: dir, npm_config_update_notifier: 'false', npm_config_logs_max: '0' };
    const { status, stdout, stderr } = spawnSync('npm', words, { cwd: dir, env, encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  for (const about of [{ name: 'a', version: '1.0.0' }, {}]) {
    const dir = folderWith(t, { 'package.json': JSON.stringify({ ...about, scripts: SCRIPTS }, null, 2) });
    for (const words of CALLS)
      assert.deepEqual(said(dir, words, COMMAND_PATH), said(dir, words, process.env['PATH']), words.join(' '));
    const [ours, npms] = [COMMAND_PATH, process.env['PATH']].map((path) => said(dir, ['run', 'whose'], path));
    assert.notDeepEqual(ours, npms, 'control: two programs are compared');
  }
});
