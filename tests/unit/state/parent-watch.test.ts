import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupLives } from '../../../src/state/process/group.ts';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';

/** A parent that starts a group of two, which does not listen to a polite end, and is then killed. Gives the group. */
const killedParent = async (t: TestContext, watched: boolean): Promise<number> => {
  const script = `
    import { spawn } from 'node:child_process';
    import { spawnGroup } from '../../src/state/process/group.ts';
    const start = ${watched} ? spawnGroup : spawn;
    const child = start('/bin/sh', ['-c', 'trap "" TERM; sleep 60 & echo up; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.once('data', () => console.log(child.pid));
    setInterval(() => {}, 1000);`;
  const program = await plainProgram(emptyFolder(t), script);
  const parent = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
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

test('a group ends with the process that watches it, even if that is killed', async (t) => {
  assert.equal(await ends(await killedParent(t, true)), true);
});

test('control: a group without a watcher outlives the process that started it', async (t) => {
  const group = await killedParent(t, false);
  await sleep(3_000);
  assert.equal(groupLives(group), true);
  process.kill(-group, 'SIGKILL');
});
