import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { emptyFolder } from '../support/folder.ts';
import { commitFolder } from '../support/git.ts';
import fc from '../support/property.ts';
import { until } from '../support/until.ts';

/** RALPH_PARALLEL_KILLS=100 is the long form. */
const KILLS = Number(process.env['RALPH_PARALLEL_KILLS'] ?? 2);
const TASKS = ['a', 'b', 'c'];
const ITERATIONS = 2;

const main = fileURLToPath(new URL('../../dist/plugin/scripts/main.cjs', import.meta.url));

/** Adds one commit in each run and is done at the second. */
const AGENT = `#!/bin/sh
cat > /dev/null
name=$(basename "$PWD")
done=$(git rev-list --count main..HEAD)
if [ "$done" -lt ${ITERATIONS} ]; then
  rm -f .git/index.lock; next=$((done + 1))
  echo "$next" > "$name-$next.txt"; git add "$name-$next.txt"; git commit -qm "$name $next"
fi
[ "$(git rev-list --count main..HEAD)" -ge ${ITERATIONS} ] && echo "<promise>DONE</promise>"
exit 0
`;

interface Place {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** What the runs were killed by and printed, for the message of a failure. */
  readonly said: string[];
}

function made(base: string): Place {
  const dir = join(base, 'project');
  const env = {
    ...{ PATH: process.env['PATH'], HOME: base, XDG_STATE_HOME: join(base, 'state') },
    ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b.c', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b.c' },
  };
  for (const name of TASKS) {
    mkdirSync(join(dir, 'jobs', name), { recursive: true });
    const keys = 'max_iterations: 50\ncompletion_promise: DONE\ncompletion_gate: disabled';
    writeFileSync(join(dir, 'jobs', name, 'RALPH.md'), `---\n${keys}\n---\nDo ${name}.\n`);
  }
  writeFileSync(join(dir, 'agent.sh'), AGENT, { mode: 0o755 });
  const place = { dir, env, said: [] };
  commitFolder(dir);
  return place;
}

function git({ dir, env }: Place, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', words, { cwd: dir, env, encoding: 'utf8' });
  assert.equal(status, 0, `git ${words.join(' ')}: ${stderr}`);
  return stdout.trim();
}

/** Processes below this folder, by their command line and their directory. */
function processesOf(dir: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const environment = readFileSync(`/proc/${name}/environ`, 'utf8');
        const isOurs = command.includes(dir) || environment.includes(`PWD=${dir}`);
        return isOurs ? [{ pid: Number(name), command }] : [];
      } catch {
        return []; // it has exited
      }
    });
}

interface Kill {
  readonly afterMs: number;
  /** The run itself, one of its loops, or an agent. */
  readonly whom: 'run' | 'loop' | 'agent';
}

const anyKill: fc.Arbitrary<Kill> = fc.record({
  afterMs: fc.integer({ min: 0, max: 1500 }),
  whom: fc.constantFrom('run', 'run', 'loop', 'agent'),
});

/** A loop names the agent's command as well, so only what is no node counts as an agent. */
function victimOf(dir: string, runner: number | undefined, { whom }: Kill): { pid: number } | undefined {
  if (whom === 'run') return { pid: runner ?? 0 };
  const named = { loop: '--json', agent: 'agent.sh' }[whom];
  return processesOf(dir).find(
    ({ pid, command }) =>
      pid !== runner && command.includes(named) && (whom === 'loop') === command.includes('main.cjs'),
  );
}

/** Kills once, if there is something to kill, and waits until everything has ended. Returns the exit code. */
async function runAndKill(
  { dir, env, said }: Place,
  words: readonly string[],
  kill: Kill | null,
): Promise<number | null> {
  const child = spawn(process.execPath, [main, ...words], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  said.push(`# ${words.join(' ')} ${JSON.stringify(kill)}\n`);
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const over = new Promise<number | null>((resolve) => child.once('exit', resolve));
  if (kill !== null) {
    await Promise.race([sleep(kill.afterMs), over]);
    const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
    const victim = await until('a process to kill', () => (isOver() ? { pid: 0 } : victimOf(dir, child.pid, kill)));
    try {
      if (victim.pid !== 0) process.kill(victim.pid, 'SIGKILL');
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  }
  const code = await over;
  await until('no process is left', () => processesOf(dir).length === 0);
  return code;
}

test('parallel tasks survive kills of the run, of loops and of agents', async (t) => {
  const kills = fc.sample(anyKill, { numRuns: KILLS, seed: 7 });
  let place = made(emptyFolder(t));
  let begun = false;
  let rounds = 0;
  for (let at = 0; at <= kills.length; at++) {
    const start = ['run', ...TASKS.map((name) => `jobs/${name}`), '--parallel', '2', '--agent', './agent.sh'];
    const words = begun ? ['run', '--resume'] : [...start, '--integrate', 'merge'];
    const code = await runAndKill(place, words, kills[at] ?? null);
    begun = existsSync(recordOf(place));
    if (begun && at < kills.length) continue;
    if (begun) assert.equal(await runAndKill(place, ['run', '--resume'], null), 0);
    else if (code !== 0) continue; // killed before anything was created
    rounds += 1;
    for (const name of TASKS) {
      for (let step = 1; step <= ITERATIONS; step++) {
        assert.equal(readFileSync(join(place.dir, `${name}-${step}.txt`), 'utf8'), `${step}\n`);
        assert.equal(git(place, 'log', '--format=%s', '--grep', `^${name} ${step}$`), `${name} ${step}`, 'once');
      }
    }
    assert.equal(
      git(place, 'branch', '--list', 'ralph/*'),
      '',
      place.said.join('') + git(place, 'worktree', 'list') + git(place, 'log', '--graph', '--oneline', '--all'),
    );
    assert.equal(git(place, 'worktree', 'list').split('\n').length, 1);
    assert.equal(existsSync(recordOf(place)), false);
    place = made(emptyFolder(t));
    begun = false;
  }
  t.diagnostic(`${kills.length} kills, ${rounds} runs that ended whole`);
  assert.ok(rounds > 0);
});

test('control: without its record, a killed run leaves worktrees that no resume takes over', async (t) => {
  const place = made(emptyFolder(t));
  const words = ['run', ...TASKS.map((name) => `jobs/${name}`), '--agent', './agent.sh', '--integrate', 'merge'];
  const child = spawn(process.execPath, [main, ...words], { cwd: place.dir, env: place.env, stdio: 'ignore' });
  const over = new Promise((resolve) => child.once('exit', resolve));
  await until('the first worktree', () => existsSync(join(place.dir, '.ralph/worktrees/a/.git')));
  child.kill('SIGKILL');
  await over;
  await until('no process is left', () => processesOf(place.dir).length === 0);
  rmSync(recordOf(place));
  assert.notEqual(await runAndKill(place, ['run', '--resume'], null), 0);
  assert.notEqual(git(place, 'branch', '--list', 'ralph/*'), '');
});

function recordOf({ env }: Place): string {
  const state = join(env['XDG_STATE_HOME'] ?? '', 'ralph-loop');
  const found = existsSync(state) ? readdirSync(state, { recursive: true, encoding: 'utf8' }) : [];
  return join(state, found.find((path) => path.endsWith('parallel.json')) ?? 'none');
}
