import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';

/** As where a container is entered without a /proc of its own: there it counts processes as the system outside does. */
const ELSEWHERE = ['--user', '--map-root-user', '--pid', '--fork'];
const canGo = spawnSync('unshare', [...ELSEWHERE, 'true'], { stdio: 'ignore' }).status === 0;

test('kills a group that ignores signals, even if /proc does not list its processes', {
  skip: !canGo && 'this system gives nobody a namespace of processes',
}, async (t) => {
  const script = `
    import { spawn } from 'node:child_process';
    import { once } from 'node:events';
    import { endGroup } from '../../src/state/process/group.ts';
    const deaf = 'trap "" TERM; echo up; while :; do sleep 0.05; done';
    const child = spawn('/bin/sh', ['-c', deaf], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const exit = once(child, 'exit');
    await endGroup(child.pid);
    setTimeout(() => process.exit(1), 30_000).unref();
    console.log((await exit)[1]);
    process.exit(0);`;
  const node = [process.execPath, await plainProgram(emptyFolder(t), script)];
  const { stdout } = spawnSync('unshare', [...ELSEWHERE, '--kill-child', ...node], { encoding: 'utf8' });
  assert.equal(stdout, 'SIGKILL\n');
});
