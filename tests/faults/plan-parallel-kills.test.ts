import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CHECK, listedRuns, MAKES, type PlanProject, planProject, planText } from '../support/plan-beside.ts';
import fc from '../support/property.ts';
import { until } from '../support/until.ts';

/** RALPH_PARALLEL_KILLS=100 is the long form. */
const KILLS = Number(process.env['RALPH_PARALLEL_KILLS'] ?? 1);
const TASKS = [{ id: 1 }, { id: 2 }, { id: 3, needs: [1] }, { id: 4, needs: [2, 3] }];
const START = ['PLAN.md', '--plan', '--parallel', '2', '--agent', './agent.sh'];

const main = fileURLToPath(new URL('../../dist/plugin/scripts/main.cjs', import.meta.url));

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Processes below this folder, by their command line and their directory. */
function processesOf(dir: string): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const environment = readFileSync(`/proc/${name}/environ`, 'utf8');
        const isOurs = command.includes(dir) || environment.includes(`PWD=${dir}`);
        const [, parent] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8')) ?? [];
        return isOurs ? [{ pid: Number(name), parent: Number(parent), command }] : [];
      } catch {
        return []; // it has exited
      }
    });
}

interface Kill {
  readonly afterMs: number;
  /** The run itself, one of its loops, an agent, or the validation of its work. */
  readonly whom: 'run' | 'loop' | 'agent' | 'check';
}

const anyKill: fc.Arbitrary<Kill> = fc.record({
  afterMs: fc.integer({ min: 300, max: 6000 }),
  whom: fc.constantFrom('run', 'loop', 'agent', 'check'),
});

/**
 * A loop names the agent's command as well, so only what is no node counts as an agent. A shell for `$(…)` has the name of
 * its script: without it the script would go on with an empty value, and do other work.
 */
function victimOf(dir: string, runner: number | undefined, { whom }: Kill): { pid: number } | undefined {
  if (whom === 'run') return { pid: runner ?? 0 };
  const named = { loop: '--json', agent: 'agent.sh', check: 'check.sh' }[whom];
  const found = processesOf(dir).filter(
    ({ pid, command }) =>
      pid !== runner && command.includes(named) && (whom === 'loop') === command.includes('main.cjs'),
  );
  return found.find(({ parent }) => whom === 'loop' || found.every(({ pid }) => pid !== parent));
}

/** Kills once, if there is something to kill, and waits until everything has ended. Returns exit code and output. */
async function runAndKill(p: PlanProject, words: readonly string[], kill: Kill | null) {
  const child = spawn(process.execPath, [main, 'run', ...words], {
    cwd: p.dir,
    env: p.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const over = new Promise<number | null>((resolve) => child.once('close', resolve));
  if (kill !== null) {
    await Promise.race([sleep(kill.afterMs), over]);
    const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
    const victim = await until('a process to kill', () => (isOver() ? { pid: 0 } : victimOf(p.dir, child.pid, kill)));
    try {
      if (victim.pid !== 0) process.kill(victim.pid, 'SIGKILL');
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  }
  const code = await over;
  await until('no process is left', () => processesOf(p.dir).length === 0);
  return { code, said };
}

/** Resumes until it works: the lease of a loop that was killed while taking it is free after half a minute. */
async function runToEnd(p: PlanProject) {
  for (let tries = 1; ; tries++) {
    const last = await runAndKill(p, existsSync(recordOf(p)) ? ['--resume'] : START, null);
    if (!last.said.includes('holds the lease') || tries === MOST_TRIES) return last;
  }
}

const MOST_TRIES = 60;

function recordOf({ env }: PlanProject): string {
  const state = join(env['XDG_STATE_HOME'] ?? '', 'ralph-loop');
  const found = existsSync(state) ? readdirSync(state, { recursive: true, encoding: 'utf8' }) : [];
  return join(state, found.find((path) => path.endsWith('parallel.json')) ?? 'none');
}

function assertWhole(p: PlanProject, said: string): void {
  const subjects = p.git('log --reverse --format=%s').split('\n').slice(1);
  const expected = TASKS.map(({ id }) => `feat: Task ${id} - Make ${id}`);
  assert.deepEqual(subjects.sort(), expected, `each once: ${said}`);
  const progress = p.read('PLAN.progress.md');
  for (const { id } of TASKS) {
    const entries = progress.split(`## Task ${id}: `).slice(1);
    const done = entries.filter((entry) => entry.includes('- Status: completed'));
    assert.equal(done.length, 1, `one entry of Task ${id}: ${progress}`);
  }
  assert.doesNotMatch(progress, /- Status: (?!completed)|ended by SIG/, 'a kill is no failed attempt');
  assert.equal(p.read('work/4/made'), '2\n1\n3\n4\n');
  assert.equal(p.sh('sh check.sh').code, 0);
  assert.equal(p.git('status --short -- . :!.claude'), '');
  assert.equal(p.git('branch --list "ralph/*"'), '');
  assert.equal(p.git('worktree list').split('\n').length, 1);
  assert.equal(existsSync(recordOf(p)), false);
  const [run, ...others] = listedRuns(p);
  assert.deepEqual([others, run?.status, run?.live, run?.done, run?.total], [[], 'complete', false, 4, 4]);
}

/** After a kill the run is one entry that waits for its resume, with exactly the tasks done that the plan says. */
function assertLeft(p: PlanProject): void {
  const [run, ...others] = listedRuns(p);
  const done = (p.read('PLAN.md').match(/^- \[x\]/gm) ?? []).length;
  assert.deepEqual([others, run?.live, run?.done, run?.total], [[], false, done, 4]);
  assert.notEqual(run?.status, 'running');
  assert.match(run?.next ?? '', / resume\.$/);
}

const made = (t: Parameters<typeof planProject>[0]): PlanProject =>
  planProject(t, planText(TASKS), `sleep 0.$id\n${MAKES}`, `sleep 0.2\n${CHECK}`);

test('parallel tasks of a plan survive kills of the run, of loops and of agents', async (t) => {
  const kills = fc.sample(anyKill, { numRuns: KILLS, seed: 11 });
  let p = made(t);
  let rounds = 0;
  for (let at = 0; at <= kills.length; ) {
    const words = existsSync(recordOf(p)) ? ['--resume'] : START;
    const { code, said } = await runAndKill(p, words, kills[at++] ?? null);
    // What a killed agent left is tried again; the plan pauses only where a kill made it end early.
    if (existsSync(recordOf(p)) || code === null) {
      if (existsSync(recordOf(p))) assertLeft(p);
      if (at <= kills.length) continue;
      const last = await runToEnd(p);
      assert.equal(last.code, 0, `${last.said}\n${p.read('PLAN.progress.md')}`);
    }
    rounds += 1;
    assertWhole(p, said);
    p = made(t);
  }
  t.diagnostic(`${kills.length} kills, ${rounds} runs that ended whole`);
  assert.ok(rounds > 0);
});

test('control: without its record, a killed run leaves worktrees that no resume takes over', async (t) => {
  const p = made(t);
  const child = spawn(process.execPath, [main, 'run', ...START], { cwd: p.dir, env: p.env, stdio: 'ignore' });
  const over = new Promise((resolve) => child.once('exit', resolve));
  await until('an agent', () => p.log().length > 0);
  child.kill('SIGKILL');
  await over;
  await until('no process is left', () => processesOf(p.dir).length === 0);
  rmSync(recordOf(p));
  assert.equal(listedRuns(p)[0]?.status, 'unreadable', 'a lost record is no project without runs');
  assert.notEqual((await runAndKill(p, ['--resume'], null)).code, 0);
  assert.throws(() => assertWhole(p, ''));
});
