import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { uniqueToken } from '../../src/state/files/regular-file.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';

/** Processes that run for the same lock, again and again. */
class Race {
  readonly #contenders: { process: ChildProcess; answers: AsyncIterator<string> }[];

  constructor(program: string, way: string, contenders: number) {
    this.#contenders = Array.from({ length: contenders }, () => {
      const process_ = spawn(process.execPath, [program, way], { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface({ input: process_.stdout });
      return { process: process_, answers: lines[Symbol.asyncIterator]() };
    });
  }

  /** One race for the lock at this path: how many contenders held it, and how many of them not alone. */
  async run(lock: string): Promise<{ held: number; together: number }> {
    const start = Date.now() + 5;
    for (const { process } of this.#contenders) process.stdin?.write(`${lock} ${start}\n`);
    const answers = await Promise.all(this.#contenders.map(({ answers: lines }) => lines.next()));
    const values = answers.map(({ value }) => value as string | undefined);
    return {
      held: values.filter((value) => value !== undefined).length,
      together: values.filter((value) => value === 'together').length,
    };
  }

  async end(): Promise<void> {
    await Promise.all(
      this.#contenders.map(async ({ process }) => {
        const closed = once(process, 'close');
        process.stdin?.end();
        await closed;
      }),
    );
  }
}

/** Lets a process take the lock and kills it with SIGKILL while it holds it. */
async function killHolder(program: string, lock: string): Promise<void> {
  const holder = spawn(process.execPath, [program, lock], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(holder, 'close');
  await Promise.race([closed, once(holder.stdout, 'data')]);
  holder.kill('SIGKILL');
  await closed;
}

const ROUNDS = Number(process.env['RALPH_TAKE_OVER_ROUNDS'] ?? 20);
/** One killed holder's lock serves so many rounds, each time under a token of its own, as if it had died again. */
const ROUNDS_A_HOLDER = 30;

const { directory, remove } = scratch('disk');
let contender: string;
let holder: string;

before(async () => {
  [contender, holder] = await Promise.all([bundleProgram('contender', directory), bundleProgram('holder', directory)]);
});
after(remove);

/** Races for a dead owner's lock; returns how many holders were not alone. The naive way ends with the first that was not. */
async function races(way: string, contenders: number, rounds: number, markers = 0): Promise<number> {
  const race = new Race(contender, way, contenders);
  const folder = join(directory, `${way}-${contenders}-${markers}`);
  mkdirSync(folder);
  let dead = '';
  let together = 0;
  try {
    for (let round = 0; round < rounds && (way !== 'naive' || together === 0); round++) {
      const lock = join(folder, `${round}.lock`);
      if (round % ROUNDS_A_HOLDER === 0) {
        await killHolder(holder, lock);
        dead = readFileSync(lock, 'utf8');
      }
      leaveDead(lock, dead, markers);
      const result = await race.run(lock);
      assert.equal(result.held, contenders, 'every contender got the lock in the end');
      together += result.together;
    }
  } finally {
    await race.end();
  }
  if (way !== 'naive') assert.deepEqual(readdirSync(folder), []);
  return together;
}

/** The dead owner's lock, and markers of so many reapers that died over it. */
function leaveDead(lock: string, dead: string, markers: number): void {
  let path = lock;
  for (let depth = 0; depth <= markers; depth++) {
    const token = uniqueToken();
    writeFileSync(path, JSON.stringify({ ...JSON.parse(dead), token }));
    path += `.reap-${token.slice(-8)}`;
  }
}

for (const contenders of [2, 8]) {
  test(`In ${ROUNDS} races of ${contenders} contenders for a killed holder's lock, no two hold it at once.`, async () => {
    assert.equal(await races('elected', contenders, ROUNDS), 0);
  });
}

for (const markers of [1, 2]) {
  test(`The same with ${markers} reapers killed one after the other while they held their markers.`, async () => {
    assert.equal(await races('elected', 8, Math.ceil(ROUNDS / 6), markers), 0);
  });
}

for (const way of ['without-links', 'with-pauses', 'with-pauses-without-links']) {
  test(`The same ${way.replaceAll('-', ' ')} between the steps, and with a reaper that was killed.`, async () => {
    assert.equal(await races(way, 8, Math.ceil(ROUNDS / 6), 1), 0);
  });
}

test('Control: a naive take-over (check, remove, take) has two holders at once in the same races.', async () => {
  assert.ok((await races('naive', 8, Math.max(ROUNDS, 300))) > 0, 'the races did not see two holders');
});
