import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * Memory of a runner over a long loop: what it has resident at each hundredth end of an agent (Linux). The iterations are idle
 * ones, of which a loop can have any number. With --check it exits 1 if the later half has more than LIMIT times what iterations 100 to 300 had.
 *   node --import tsx tests/bench/runner-memory.ts [--iterations 2000] [--check]
 */
const LIMIT = 1.2;
const STEP = 100;
const at = process.argv.indexOf('--iterations');
const iterations = at === -1 ? 2000 : Number(process.argv[at + 1]);
const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'plugin', 'scripts', 'main.cjs');
const place = mkdtempSync(join(tmpdir(), 'ralph-bench-memory-'));

try {
  process.exitCode = await measure();
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 5 });
}

async function measure(): Promise<number> {
  const dir = join(place, 'project');
  mkdirSync(join(dir, '.claude/ralph'), { recursive: true });
  const settings = 'validation: ["true"]\nidle: {delay: 1ms, max_delay: 1ms, max: 12h}';
  writeFileSync(join(dir, '.claude/ralph/PROMPT.md'), `---\n${settings}\n---\nDo the work.\n`);
  writeFileSync(
    join(dir, 'agent.sh'),
    '#!/bin/sh\ncat >/dev/null\necho "Nothing to do."; echo "<!-- ralph:state idle -->"\n',
    { mode: 0o755 },
  );
  const words = [main, 'run', '--json', '--agent', './agent.sh', '--yes'];
  const env = { PATH: process.env['PATH'], HOME: place, XDG_STATE_HOME: join(place, 'state') };
  const child = spawn(process.execPath, words, { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const sizes: number[] = [];
  let ended = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{"type":"agent.ended"')) continue;
    ended += 1;
    if (ended > iterations) continue;
    if (ended % STEP === 0) sizes.push(residentMb(child.pid ?? 0));
    if (ended === iterations) child.kill('SIGTERM');
  }
  const [early, late] = [sizes.slice(0, 3), sizes.slice(Math.floor(sizes.length / 2))].map(mean);
  console.log(`${ended} iterations, MB at each ${STEP}th: ${sizes.map((size) => size.toFixed(0)).join(' ')}`);
  const ratio = (late ?? 0) / (early ?? 1);
  console.log(`later half ${late?.toFixed(0)} MB, iterations 100 to 300 ${early?.toFixed(0)} MB: ${ratio.toFixed(2)}`);
  return ended < iterations || (ratio > LIMIT && process.argv.includes('--check')) ? 1 : 0;
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
