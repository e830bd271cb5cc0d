import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const source = new URL('../../../src/state/process/group.ts', import.meta.url).href;
/** As where a container is entered without a /proc of its own: there it counts processes as the system outside does. */
const ELSEWHERE = ['--user', '--map-root-user', '--pid', '--fork'];
const canGo = spawnSync('unshare', [...ELSEWHERE, 'true'], { stdio: 'ignore' }).status === 0;

test('kills a group that ignores signals, even if /proc does not list its processes', {
  skip: !canGo && 'this system gives nobody a namespace of processes',
}, () => {
  const script = `
    const { spawn } = await import('node:child_process');
    const { once } = await import('node:events');
    const { endGroup } = await import(${JSON.stringify(source)});
    const deaf = 'trap "" TERM; echo up; while :; do sleep 0.05; done';
    const child = spawn('/bin/sh', ['-c', deaf], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const exit = once(child, 'exit');
    await endGroup(child.pid);
    setTimeout(() => process.exit(1), 30_000).unref();
    console.log((await exit)[1]);
    process.exit(0);`;
  const node = [process.execPath, '--import', 'tsx', '--input-type=module', '-e', script];
  const { stdout } = spawnSync('unshare', [...ELSEWHERE, '--kill-child', ...node], { encoding: 'utf8' });
  assert.equal(stdout, 'SIGKILL\n');
});
