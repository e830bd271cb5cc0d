import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TddRecord, TddState } from '../../src/engine/schema/tdd.ts';
import { type LoopFiles, loopFiles } from '../../src/state/loop-files.ts';
import { agreement, tddFiles, withTdd } from '../../src/state/tdd-store.ts';
import { makeList } from '../../src/task/tdd/make-list.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { type StressResult, stress } from '../support/faults/stress.ts';

/** Of workers that work through one list together. RALPH_TDD_KILLS=1000 is the long form. */
const KILLS = Number(process.env['RALPH_TDD_KILLS'] ?? 8);
const KILLS_A_ROUND = 8;
const SCENARIOS = 12;
const MAIN = fileURLToPath(new URL('../../dist/plugin/scripts/main.cjs', import.meta.url));

const { directory, remove } = scratch('disk');
let worker: string;
let rounds = 0;

before(async () => {
  worker = await bundleProgram('tdd-worker', directory);
});
after(remove);

interface Project {
  readonly files: LoopFiles;
  readonly env: NodeJS.ProcessEnv;
}

/** A project whose scenarios each want a file, and whose evidence command notes when it ran. */
function aProject(scenarios: number): Project {
  rounds += 1;
  const project = join(directory, `project-${rounds}`);
  mkdirSync(join(project, '.claude'), { recursive: true });
  const env = { PATH: process.env['PATH'], HOME: directory, XDG_STATE_HOME: join(directory, 'outside') };
  const files = loopFiles(project, null, env);
  const wanted = Array.from({ length: scenarios }, (_, at) => {
    const id = `sc-${String(at + 1).padStart(3, '0')}`;
    const run = `echo "${id} $(date +%s%N)" >> runs; test -f made-${id}`;
    return { id, description: `makes ${id}`, run, timeoutSeconds: null };
  });
  const at = new Date().toISOString();
  const next = makeList({ projectDir: project, wanted, command: null, timeoutSeconds: null, consented: true, env, at });
  withTdd(files, at, () => ({ next, result: undefined }));
  return { files, env };
}

function recordOf({ files }: Project): TddRecord {
  return withTdd(files, new Date().toISOString(), (found) => {
    assert.ok(found.kind === 'list');
    return { next: 'keep', result: found.record };
  });
}

const phases = ({ log }: TddRecord): string[] => log.map(({ scenarioId, phase }) => `${scenarioId} ${phase}`);

/** Every scenario red and then green, once, in order. */
function assertComplete(project: Project, scenarios: number): void {
  const record = recordOf(project);
  const ids = Array.from({ length: scenarios }, (_, at) => `sc-${String(at + 1).padStart(3, '0')}`);
  assert.deepEqual(
    phases(record),
    ids.flatMap((id) => [`${id} red`, `${id} green`]),
  );
  assert.deepEqual(
    record.completed.map(({ id }) => id),
    ids,
  );
  const state = JSON.parse(readFileSync(tddFiles(project.files).state, 'utf8')) as TddState;
  assert.equal(agreement(state, record), 'same');
}

/**
 * An agent that works through the list by the command line, in a process group of its own. It begins with no scenario `before` which it is to
 * be killed.
 */
function agent({ files, env }: Project, before = 'none'): ChildProcess {
  const script = join(files.projectDir, 'agent.sh');
  writeFileSync(
    script,
    `while :; do
  next=$(node '${MAIN}' tdd next) || exit 1
  case $next in RALPH_AUDIT_COMPLETE_NO_FINDINGS) exit 0;; esac
  id=$(printf '%s' "$next" | sed -n 's/.*"id": "\\(sc-[0-9]*\\)".*/\\1/p')
  [ "$id" = ${before} ] && exec sleep 600
  node '${MAIN}' tdd red; touch "made-$id"; node '${MAIN}' tdd green
done`,
  );
  return spawn('bash', [script], { cwd: files.projectDir, env, stdio: 'ignore', detached: true });
}

test('a TDD loop of 4 scenarios, killed twice, repeats no complete scenario and logs each phase once', async (t) => {
  const scenarios = 4;
  const project = aProject(scenarios);
  for (let kill = 1; kill <= 2; kill++) {
    const running = agent(project, `sc-00${scenarios}`);
    const done = kill * 2 - 1;
    while (phases(recordOf(project)).length < done * 2) await sleep(5);
    await sleep(Math.random() * 250);
    process.kill(-(running.pid ?? 0), 'SIGKILL');
    await once(running, 'close');
  }
  const killed = phases(recordOf(project)).length;
  assert.ok(killed < scenarios * 2, 'it was killed before the end');
  const [code] = (await once(agent(project), 'close')) as [number];
  assert.equal(code, 0);
  assertComplete(project, scenarios);
  const passedAt = new Map(recordOf(project).completed.map(({ id, passedAt: at }) => [id, Date.parse(at)]));
  const runs = readFileSync(join(project.files.projectDir, 'runs'), 'utf8').trim().split('\n');
  for (const run of runs) {
    const [id = '', at = ''] = run.split(' ');
    assert.ok(Number(at) / 1e6 <= (passedAt.get(id) ?? 0) + 1, `${id} ran again after it was complete`);
  }
  assert.ok(runs.length >= scenarios * 2 && runs.length <= scenarios * 2 + 2, `${runs.length} runs`);
  t.diagnostic(`${runs.length} runs, ${killed} phases when killed last`);
});

interface Outcome extends StressResult {
  readonly project: Project;
  /** Why the list could not be read any more, or null. */
  readonly unreadable: string | null;
}

async function workers(kills: number, preload: readonly string[], untilFailure = false): Promise<Outcome> {
  const project = aProject(SCENARIOS);
  const { files, env } = project;
  let unreadable: string | null = null;
  const result = await stress({
    processes: 3,
    kills,
    most: kills + 3,
    endsByItself: true,
    untilFailure,
    spawnUpdater: () => spawn(process.execPath, [...preload, worker, files.projectDir], { env, stdio: 'pipe' }),
    acknowledged: (output) => output.split('\n').length - 1,
    // Mostly within the next phases, now and then after many, however long the start takes.
    kill: { after: () => Math.random() ** 2 * 120, from: 'output' },
    evaluate: (past) => {
      try {
        const found = phases(recordOf(project));
        const said = past.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
        const once_ = new Set(found).size;
        return { lost: Math.max(0, said - once_), phantom: found.length - once_, corrupt: 0 };
      } catch (error) {
        unreadable = (error as Error).message;
        return { lost: 0, phantom: 0, corrupt: 1 };
      }
    },
  });
  return { ...result, project, unreadable };
}

test('of workers on one list that are killed at any moment, every acknowledged phase is recorded, once', async (t) => {
  let killed = 0;
  let said = 0;
  while (killed < KILLS) {
    const result = await workers(KILLS_A_ROUND, []);
    assert.deepEqual(result.failures, []);
    const { lost, phantom, corrupt, unreadable } = result;
    assert.deepEqual({ lost, phantom, corrupt, unreadable }, { lost: 0, phantom: 0, corrupt: 0, unreadable: null });
    killed += Math.max(1, result.killed);
    said += result.acknowledged;
    assert.ok(result.acknowledged > 0, 'the workers did work');
    const { env, files } = result.project;
    const last = spawnSync(process.execPath, [worker, files.projectDir], { env, encoding: 'utf8' });
    assert.equal(last.status, 0, last.stderr);
    assertComplete(result.project, SCENARIOS);
  }
  t.diagnostic(`${killed} kills, ${said} phases said`);
});

test('control: workers with separate locks lose phases or log them twice', async () => {
  const preload = ['--require', await bundleProgram('own-lock', directory)];
  for (let round = 0; round < 20; round++) {
    const { lost, phantom, failures } = await workers(6, preload, true);
    if (lost + phantom > 0 || failures.length > 0) return;
  }
  assert.fail('no stress run saw that the lock was missing');
});

test('control: workers that write in place leave an unreadable record', async () => {
  const preload = ['--require', await bundleProgram('in-place', directory)];
  for (let round = 0; round < 20; round++) {
    const { corrupt, failures } = await workers(10, preload, true);
    if (corrupt > 0 || failures.length > 0) return;
  }
  assert.fail('no stress run saw a torn record');
});
