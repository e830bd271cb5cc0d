import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { startRouter } from '../../src/drive/router/start.ts';
import { readLines } from '../../src/state/files/journal-lines.ts';
import { type LoopFiles, loopFiles } from '../../src/state/loop-files.ts';
import { listArchive } from '../../src/state/with-state.ts';
import { approvedOf, type Ready } from '../support/drive/start-now.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { iterationsIn as recordsIn } from '../support/journal.ts';

const ITERATIONS = Number(process.env['RALPH_ROUTER_ITERATIONS'] ?? 12);
const KILLS = Number(process.env['RALPH_ROUTER_KILLS'] ?? 3);
const SESSIONS = 8;
const MOST_ROUNDS = 30;

const { directory, remove } = scratch('disk');
let program: string;
before(async () => {
  program = await bundleProgram('router-session', directory);
});
after(remove);

interface Session {
  readonly process: ChildProcess;
  readonly said: string[];
  readonly done: Promise<unknown>;
}

function aLoop(name: string): { files: LoopFiles; env: NodeJS.ProcessEnv } {
  const projectDir = join(directory, name);
  const env = { PATH: process.env['PATH'], HOME: directory, XDG_STATE_HOME: join(directory, `${name}-state`) };
  mkdirSync(join(projectDir, '.claude/ralph'), { recursive: true });
  const breaker = 'breaker: {same_reply: 0, findings: 0}';
  writeFileSync(
    join(projectDir, '.claude/ralph/PROMPT.md'),
    `---\nmax_iterations: ${ITERATIONS}\n${breaker}\n---\n\nWork.\n`,
  );
  const files = loopFiles(projectDir, null, env);
  const ready: Ready = {
    ...{ projectDir, name: null, task: null, flags: {}, env, at: new Date().toISOString(), existing: 'refuse' },
    ...{ mode: 'router', consented: true },
  };
  startRouter(approvedOf(ready));
  return { files, env };
}

function aSession({ files, env }: ReturnType<typeof aLoop>, name: string, way = ''): Session {
  const child = spawn(process.execPath, [program, files.projectDir, name, way], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  return { process: child, said, done: Promise.all([once(child, 'close'), once(lines, 'close')]) };
}

/** The session that drives the loop now: one that was handed out something; null once the loop is over. */
async function holder(sessions: readonly Session[], killed: ReadonlySet<Session> = new Set()): Promise<Session | null> {
  const left = sessions.filter((session) => !killed.has(session));
  for (;;) {
    if (left.some(({ said }) => said.at(-1)?.startsWith('stop'))) return null;
    const found = left.find(({ said }) => said.some((line) => line.startsWith('spawn')));
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function iterationsIn({ files }: ReturnType<typeof aLoop>): number {
  const [last] = listArchive(files).flatMap(({ content }) => (content.kind === 'loop' ? [content.state] : []));
  assert.equal(last?.status === 'ended' && last.ended.as, 'max-iterations');
  return last?.iteration ?? -1;
}

/** Spawns that were handed out, once for each session and number: a repeated call gets the same one. */
function handedOut(sessions: readonly Session[]): number[] {
  return sessions.flatMap(({ said }) => [
    ...new Set(said.flatMap((line) => (line.startsWith('spawn') ? [Number(line.split(' ')[1])] : []))),
  ]);
}

test(`a host that repeats each of ${ITERATIONS} calls counts exactly, and seven others hear that it is busy`, async () => {
  const loop = aLoop('stress');
  // Its first agent takes until the others have met it: else the loop could be over before they are there.
  const met = join(directory, 'met');
  const first = aSession(loop, 'session-0', met);
  await holder([first]);
  const others = Array.from({ length: SESSIONS - 1 }, (_, index) => aSession(loop, `session-${index + 1}`));
  while (!others.every(({ said }) => said.includes('busy'))) await new Promise((resolve) => setTimeout(resolve, 5));
  writeFileSync(met, '');
  await first.done;
  await Promise.all(others.map(({ done }) => done));
  assert.equal(iterationsIn(loop), ITERATIONS);
  const expected = Array.from({ length: ITERATIONS }, (_, index) => index + 1);
  assert.deepEqual(
    recordsIn(loop.files).map(({ iteration }) => iteration),
    expected,
  );
  assert.deepEqual(handedOut([first]), expected);
  assert.deepEqual(handedOut(others), []);
  assert.equal(first.said.at(-1), 'stop max-iterations');
  for (const { said } of others) {
    assert.ok(said.includes('busy'));
    assert.deepEqual(new Set(said), new Set(['busy', 'stop max-iterations']));
  }
});

test('control: without the number of the spawn a repeated call counts again', async () => {
  const loop = aLoop('numberless');
  const session = aSession(loop, 'session-0', 'numberless');
  await session.done;
  assert.ok(
    handedOut([session]).length < ITERATIONS,
    `${handedOut([session]).length} agents for ${ITERATIONS} iterations`,
  );
});

test(`a host killed ${KILLS} times is taken over once each time, and each iteration counts once`, async () => {
  let killed = 0;
  // A loop can be over before the next one is killed: then another one follows.
  for (let round = 0; killed < KILLS && round < MOST_ROUNDS; round++)
    killed += await killing(`killed-${round}`, KILLS - killed);
  assert.ok(killed >= KILLS, `${killed} were killed`);
});

/** Kills so many hosts of one loop, or as many as it has before it is over, holds what is left of it to the rules and gives their number. */
async function killing(name: string, kills: number): Promise<number> {
  const loop = aLoop(name);
  const sessions = Array.from({ length: SESSIONS }, (_, index) => aSession(loop, `session-${index}`));
  const killed = new Set<Session>();
  while (killed.size < kills) {
    const victim = await holder(sessions, killed);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    if (victim === null || victim.said.at(-1)?.startsWith('stop')) break;
    killed.add(victim);
    victim.process.kill('SIGKILL');
    await victim.done;
    sessions.push(aSession(loop, `session-${sessions.length}`));
  }
  await Promise.all(sessions.map(({ done }) => done));
  assert.equal(iterationsIn(loop), ITERATIONS);
  const takenOver = readLines(loop.files.events).entries.filter(({ type }) => type === 'loop.taken-over');
  assert.ok(
    takenOver.length === killed.size || takenOver.length === killed.size - 1,
    `${takenOver.length} of ${killed.size}`,
  );
  assert.equal(new Set(takenOver.map(({ by }) => by)).size, takenOver.length);
  const numbers = handedOut(sessions);
  assert.equal(new Set(numbers).size, numbers.length, 'no piece of work was handed to two sessions');
  const counted = recordsIn(loop.files).map(({ iteration }) => iteration);
  assert.equal(new Set(counted).size, counted.length, 'no iteration was recorded twice');
  // Whoever is killed between the state and the journal leaves a line out.
  assert.ok(counted.length >= ITERATIONS - killed.size);
  assert.deepEqual(
    sessions.flatMap(({ said }) => said.filter((line) => line.startsWith('differs'))),
    [],
  );
  return killed.size;
}
