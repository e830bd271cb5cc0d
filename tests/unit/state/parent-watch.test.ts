import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupLives } from '../../../src/state/process/group.ts';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';

interface Killed {
  readonly group: number;
  /** Returns whether the program of the group ran. */
  readonly ran: () => boolean;
}

/** Steps of a start that a kill may follow. */
const STEPS = { watchStarted: 1, childStarted: 2, watchTold: 3, gateOpened: 4, running: 5 };

/** A parent that starts a group of two, which does not listen to a polite end, and is killed right after a step of the start. */
const killedParent = async (t: TestContext, start: 'spawnGroup' | 'spawn', after: number): Promise<Killed> => {
  const directory = emptyFolder(t);
  const script = `
    import childProcess from 'node:child_process';
    import { writeSync } from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    import { Socket } from 'node:net';
    import { spawnGroup } from '../../src/state/process/group.ts';
    const { spawn } = childProcess;
    const { write, end } = Socket.prototype;
    let steps = ${start === 'spawn' ? 1 : 0};
    const counted = (work) => function (...words) {
      const result = work.apply(this, words);
      steps += 1;
      if (steps === 2) writeSync(1, result.pid + '\\n');
      if (steps === ${after}) process.kill(process.pid, 'SIGKILL');
      return result;
    };
    childProcess.spawn = counted(spawn);
    syncBuiltinESMExports();
    Socket.prototype.write = counted(write);
    Socket.prototype.end = counted(end);
    const start = ${start === 'spawn' ? 'childProcess.spawn' : start};
    const words = ['-c', 'trap "" TERM; : >ran; sleep 60 & echo up; wait'];
    const child = start('/bin/sh', words, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.once('data', counted(() => {}));
    setInterval(() => {}, 1000);`;
  const program = await plainProgram(directory, script);
  const parent = spawn(process.execPath, [program], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  parent.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [, signal] = await once(parent, 'exit');
  assert.equal(signal, 'SIGKILL');
  return { group: Number(said), ran: () => existsSync(join(directory, 'ran')) };
};

const ends = async (group: number): Promise<boolean> => {
  for (let look = 0; look < 500; look++) {
    if (!groupLives(group)) return true;
    await sleep(100);
  }
  return false;
};

test('a group ends with the process that watches it, even if that is killed', async (t) => {
  const { group, ran } = await killedParent(t, 'spawnGroup', STEPS.running);
  assert.equal(ran(), true);
  assert.equal(await ends(group), true);
});

for (const step of ['childStarted', 'watchTold'] as const) {
  test(`a program whose starter is killed before the watch knows it never runs (${step})`, async (t) => {
    const { group, ran } = await killedParent(t, 'spawnGroup', STEPS[step]);
    assert.equal(await ends(group), true);
    assert.equal(ran(), false);
  });
}

test('a program whose starter is killed as it begins to run ends as well', async (t) => {
  const { group } = await killedParent(t, 'spawnGroup', STEPS.gateOpened);
  assert.equal(await ends(group), true);
});

for (const step of ['childStarted', 'running'] as const) {
  test(`control: a group without a watcher outlives the process that started it (${step})`, async (t) => {
    const { group, ran } = await killedParent(t, 'spawn', STEPS[step] === STEPS.running ? 3 : STEPS[step]);
    await sleep(3_000);
    assert.equal(groupLives(group), true);
    assert.equal(ran(), true);
    process.kill(-group, 'SIGKILL');
  });
}
