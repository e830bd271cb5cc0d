import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupLives } from '../../../src/state/process/group.ts';

const source = new URL('../../../src/state/process/group.ts', import.meta.url).href;

/** A parent that starts a group of two, which does not listen to a polite end, and is then killed. Gives the group. */
const killedParent = async (watched: boolean): Promise<number> => {
  const script = `
    const { spawn } = await import('node:child_process');
    const { watchParent } = await import(${JSON.stringify(source)});
    const child = spawn('/bin/sh', ['-c', 'trap "" TERM; sleep 60 & echo up; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    if (${watched}) watchParent(child.pid);
    child.stdout.once('data', () => console.log(child.pid));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  return Number(line.toString());
};

const ends = async (group: number): Promise<boolean> => {
  for (let look = 0; look < 500; look++) {
    if (!groupLives(group)) return true;
    await sleep(100);
  }
  return false;
};

test('a group ends with the process that watches it, even if that is killed', async () => {
  assert.equal(await ends(await killedParent(true)), true);
});

test('control: a group without a watcher outlives the process that started it', async () => {
  const group = await killedParent(false);
  await sleep(3_000);
  assert.equal(groupLives(group), true);
  process.kill(-group, 'SIGKILL');
});
