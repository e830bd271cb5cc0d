import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { iterationsOf } from '../../src/drive/records/journal.ts';
import { type LoopFiles, loopFiles, readState } from '../../src/state/loop-files.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { type Past, type StressResult, stress, type Verdict } from '../support/faults/stress.ts';

/** RALPH_STRESS_KILLS=10000 is the long form, about 25 minutes on two cores. */
const KILLS = Number(process.env['RALPH_STRESS_KILLS'] ?? 12);
/** Of each round of the control, so that it finds a lost Stop soon. */
const CONTROL_KILLS = 30;
/** Of a stress test in which no Stop has been answered yet, and of a control that has seen nothing yet. */
const MOST_ROUNDS = 30;
/** A loop gets a hundred iterations at most: then a fresh one begins. */
const STOPS_A_ROUND = 95;

const dist = fileURLToPath(new URL('../../dist/plugin', import.meta.url));
const { directory, remove } = scratch('disk');
const bundle = join(directory, 'bundle');

const SESSION = 'session-1';
let rounds = 0;

before(async () => {
  assert.ok(existsSync(join(dist, 'hooks', 'ralph-stop-hook.cjs')), 'the bundle is there: npm run build');
  cpSync(dist, bundle, { recursive: true });
  // The first hook keeps its compiled code when it leaves; while each is killed before, each is slower than users know it.
  await new Promise((resolve) => stop(startLoop(), 'warm', []).once('close', resolve));
});
after(remove);

interface Loop {
  readonly files: LoopFiles;
  readonly env: NodeJS.ProcessEnv;
}

/** A loop that `main.cjs start` made, with the environment that its launcher would give the client. */
function startLoop(): Loop {
  rounds += 1;
  const project = join(directory, `project-${rounds}`);
  const task = join(project, '.claude', 'ralph', 'PROMPT.md');
  mkdirSync(dirname(task), { recursive: true });
  writeFileSync(task, 'Do the work.\n');
  const outside = { PATH: process.env['PATH'], HOME: directory, XDG_STATE_HOME: join(directory, 'outside') };
  const main = join(bundle, 'scripts', 'main.cjs');
  const started = spawnSync(process.execPath, [main, 'start', '--json', '--max-iterations', '100'], {
    cwd: project,
    env: outside,
    encoding: 'utf8',
  });
  assert.equal(started.status, 0, started.stderr);
  const { loopId } = JSON.parse(started.stdout) as { loopId: string };
  const env = { ...outside, RALPH_ACTIVE: '1', RALPH_LOOP_ID: loopId, CLAUDE_PROJECT_DIR: project };
  const session = { hook_event_name: 'SessionStart', session_id: SESSION, source: 'startup', cwd: project };
  const bound = spawnSync(process.execPath, [join(bundle, 'hooks', 'session-start.cjs')], {
    env,
    input: JSON.stringify(session),
    encoding: 'utf8',
  });
  assert.equal(bound.status, 0, bound.stderr);
  return { files: loopFiles(project, null, outside), env };
}

/** One Stop of the client's session, as the client would call the hook. */
function stop({ files, env }: Loop, name: string, preload: readonly string[]): ChildProcess {
  const hook = spawn(process.execPath, [...preload, join(bundle, 'hooks', 'ralph-stop-hook.cjs')], {
    env,
    stdio: 'pipe',
  });
  const input = {
    hook_event_name: 'Stop',
    session_id: SESSION,
    transcript_path: join(files.projectDir, 'transcript.jsonl'),
    cwd: files.projectDir,
    prompt_id: 'prompt-1',
    last_assistant_message: `I did some of it: ${name}`,
    stop_hook_active: true,
  };
  hook.stdin?.on('error', () => undefined); // killed before it read
  hook.stdin?.end(JSON.stringify(input));
  return hook;
}

/** A block that came out whole is an iteration that the client goes on with. Anything else but silence of a killed one is wrong. */
function blocks(output: string, code: number | null): number {
  if (output === '' && code === null) return 0;
  assert.notEqual(output, '', `the hook let the Stop happen and left with ${code}`);
  const answer = JSON.parse(output) as { decision?: string };
  assert.equal(answer.decision, 'block', output);
  return 1;
}

async function stressOver(
  kills: number,
  acknowledged = blocks,
  preload: readonly string[] = [],
): Promise<StressResult & Loop> {
  const loop = startLoop();
  const begun = process.hrtime.bigint();
  spawnSync(process.execPath, ['-e', '']);
  const bareNode = Number(process.hrtime.bigint() - begun) / 1e6;
  const result = await stress({
    processes: 6,
    kills,
    most: STOPS_A_ROUND,
    endsByItself: true,
    spawnUpdater: (name) => stop(loop, name, preload),
    acknowledged,
    // Six at a time on a few cores: from before the program begins until after it ended.
    kill: { after: () => bareNode * (0.5 + Math.random() * 9), from: 'start' },
    evaluate: (past) => evaluateCount(loop.files, past),
  });
  return { ...result, ...loop };
}

test('Of Stops that are killed at any moment, every acknowledged one is counted, and no other.', async (t) => {
  let killed = 0;
  let answered = 0;
  // On a busy machine a whole round can be killed before it answers: then another one follows.
  for (let round = 0; killed < KILLS || (answered === 0 && round < MOST_ROUNDS); round++) {
    const { lost, phantom, corrupt, failures, files, ...counts } = await stressOver(Math.max(12, KILLS - killed));
    assert.deepEqual(failures, []);
    assert.deepEqual({ lost, phantom, corrupt }, { lost: 0, phantom: 0, corrupt: 0 });
    checkJournal(files);
    killed += counts.killed;
    answered += counts.acknowledged;
  }
  assert.ok(answered > 0, 'some Stops were answered');
  t.diagnostic(`${killed} kills, ${answered} answered Stops`);
});

test('Control: the same Stops without a lock lose acknowledged ones.', async () => {
  const preload = ['--require', await bundleProgram('own-lock', directory)];
  // Hooks that meet each other let Stops happen too: here only those count that were answered with a block.
  const answered = (output: string): number => (output.startsWith('{"decision":"block"') ? 1 : 0);
  let lost = 0;
  for (let round = 0; round < MOST_ROUNDS && lost === 0; round++)
    lost += (await stressOver(CONTROL_KILLS, answered, preload)).lost;
  assert.ok(lost > 0, 'the stress test did not see that Stops were lost');
});

/** The journal is written after the state: it can miss iterations of killed hooks and never know more than the state. */
function checkJournal(files: LoopFiles): void {
  const read = readState(files.state);
  assert.ok(read.kind === 'loop');
  const numbers = iterationsOf(files).entries.map(({ iteration }) => Number(iteration));
  assert.ok(numbers.every((number) => number <= read.state.iteration));
  assert.equal(new Set(numbers).size, numbers.length, 'an iteration is in the journal once');
}

/** For updates without a name of their own, such as Stops of a hook: there are no fewer than acknowledged, no more than begun. */
function evaluateCount(files: LoopFiles, past: readonly Past[]): Verdict {
  const read = readState(files.state);
  if (read.kind !== 'loop') return { lost: 0, phantom: 0, corrupt: 1 };
  const { iteration } = read.state;
  const acknowledged = past.reduce((sum, one) => sum + one.acknowledged, 0);
  return { lost: Math.max(0, acknowledged - iteration), phantom: Math.max(0, iteration - past.length), corrupt: 0 };
}
