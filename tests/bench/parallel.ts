import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * What working side by side saves with agents that wait: the wall time of 12 independent tasks of a plan, two at once,
 * as a share of the wall time of the same plan one task after the other, in one run. With --check it exits 1 over the
 * limit.
 *   node --import tsx tests/bench/parallel.ts [--seconds 5] [--tasks 12] [--check]
 */
const LIMIT = 0.6;

const seconds = numberOf('--seconds', 5);
const tasks = numberOf('--tasks', 12);
const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'plugin', 'scripts', 'main.cjs');
const place = mkdtempSync(join(tmpdir(), 'ralph-bench-parallel-'));

const AGENT = `#!/bin/sh
id=$(sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' | head -1)
echo + >> "$NOTES"; sleep ${seconds}; echo - >> "$NOTES"
mkdir -p work && echo "$id" > work/$id.txt
echo "Summary: made $id."
`;

process.exitCode = measure();

function measure(): number {
  try {
    const alone = run('alone', []);
    const beside = run('beside', ['--parallel', '2']);
    const share = beside.ms / alone.ms;
    console.log(`${tasks} tasks, agents that wait ${seconds} s, load ${loadavg()[0]?.toFixed(2)}`);
    for (const [name, { ms, most }] of Object.entries({ 'one after the other': alone, 'two at once': beside })) {
      console.log(`${name.padEnd(20)} ${(ms / 1000).toFixed(1)} s   at most ${most} agents`);
    }
    const isKept = share <= LIMIT && beside.most <= 2;
    console.log(`share ${share.toFixed(2)}, at most ${LIMIT}: ${isKept ? 'kept' : 'EXCEEDED'}`);
    return isKept || !process.argv.includes('--check') ? 0 : 1;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Returns the wall time of a plan, and the most agents that were at work at once. */
function run(name: string, options: readonly string[]): { readonly ms: number; readonly most: number } {
  const dir = join(place, name);
  mkdirSync(dir);
  const notes = join(place, `${name}.log`);
  const env = { PATH: process.env['PATH'], HOME: place, XDG_STATE_HOME: join(place, 'state'), NOTES: notes };
  const lines = Array.from({ length: tasks }, (_, at) => at + 1).flatMap((id) => [
    `- [ ] **Task ${id}: Make ${id}**`,
    `  - Scope: \`work/${id}.txt\``,
    '  - Acceptance: it is there',
  ]);
  writeFileSync(join(dir, 'PLAN.md'), `${lines.join('\n')}\n`);
  writeFileSync(join(dir, 'agent.sh'), AGENT, { mode: 0o755 });
  const git = (...words: string[]): unknown => execFileSync('git', words, { cwd: dir, env });
  git('init', '-q', '-b', 'work');
  git('config', 'user.name', 'A');
  git('config', 'user.email', 'a@b.c');
  git('add', '-A');
  git('commit', '-qm', 'Begin');
  const words = [main, 'run', 'PLAN.md', '--plan', '--max-tasks', String(tasks), '--agent', './agent.sh', ...options];
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: dir, env, encoding: 'utf8' });
  const ms = performance.now() - began;
  if (status !== 0) throw new Error(`exit code ${status}: ${stdout}${stderr}`);
  let [now, most] = [0, 0];
  for (const line of readFileSync(notes, 'utf8').split('\n').filter(Boolean)) {
    now += line === '+' ? 1 : -1;
    most = Math.max(most, now);
  }
  return { ms, most };
}

function numberOf(option: string, otherwise: number): number {
  const at = process.argv.indexOf(option);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
}
