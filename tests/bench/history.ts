import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Times of what reads the past: status, list, explain and report of a loop after 10 iterations in a project with 3 ended loops,
 * and after 2,000 with 300, taking turns. The long past is the short one, with its records and archived states repeated.
 *   node --import tsx tests/bench/history.ts [--rounds 10] [--check]
 */
const LIMIT = 1.5;
const SHORT = { iterations: 10, loops: 3 };
const LONG = { iterations: 2000, loops: 300 };
const COMMANDS = {
  status: ['status'],
  list: ['list'],
  explain: ['explain'],
  report: ['report', '--out', 'report.html'],
};
const at = process.argv.indexOf('--rounds');
const rounds = at === -1 ? 10 : Number(process.argv[at + 1]);
const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'plugin', 'scripts', 'main.cjs');
const place = mkdtempSync(join(tmpdir(), 'ralph-bench-history-'));

try {
  process.exitCode = measure();
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 5 });
}

function measure(): number {
  const short = past('short', SHORT);
  const long = past('long', LONG);
  console.log(`${rounds} rounds on node ${process.version}, load ${loadavg()[0]?.toFixed(2)}`);
  const ratios = Object.entries(COMMANDS).map(([name, words]) => {
    const times = { short: [] as number[], long: [] as number[] };
    for (let round = -1; round < rounds; round++) {
      for (const [kind, dir] of [
        ['short', short],
        ['long', long],
      ] as const) {
        const taken = timeOf(dir, words);
        if (round >= 0) times[kind].push(taken);
      }
    }
    const ratio = median(times.long) / median(times.short);
    const least = Math.min(...times.long) / Math.min(...times.short);
    console.log(
      `${name.padEnd(8)} ${median(times.short).toFixed(0)} ms, ${median(times.long).toFixed(0)} ms: ${ratio.toFixed(2)}, of the minima ${least.toFixed(2)} (limit ${LIMIT})`,
    );
    return ratio;
  });
  return ratios.some((ratio) => ratio > LIMIT) && process.argv.includes('--check') ? 1 : 0;
}

/** A project whose last loop ended at its limit of iterations, after others. */
function past(name: string, size: typeof SHORT): string {
  const dir = join(place, name, 'project');
  mkdirSync(join(dir, '.claude/ralph'), { recursive: true });
  const settings = `max_iterations: ${SHORT.iterations}\nbreaker: {same_reply: 0, no_progress: 0}`;
  writeFileSync(join(dir, '.claude/ralph/PROMPT.md'), `---\n${settings}\n---\nDo the work.\n`);
  writeFileSync(join(dir, 'agent.sh'), '#!/bin/sh\ncat > /dev/null\necho "Step $$ is done."\n', { mode: 0o755 });
  for (let loop = 0; loop < SHORT.loops; loop++) ralph(dir, ['run', '--agent', './agent.sh', '--yes']);
  const runtime = join(dir, '.claude/context/runtime');
  const streams = readdirSync(runtime).filter((one) => /^ralph-events.*\.jsonl$/.test(one));
  for (const stream of streams) repeat(join(runtime, stream), size.iterations / SHORT.iterations);
  const archive = readdirSync(runtime).find((one) => one.startsWith('ralph-archive')) ?? 'archive';
  const states = readdirSync(join(runtime, archive)).filter((one) => one.endsWith('.json'));
  for (let copy = states.length; copy < size.loops; copy++) {
    const day = new Date(Date.UTC(2026, 0, 1) + copy * 3_600_000).toISOString().replaceAll(':', '-');
    const from = states[copy % states.length] ?? '';
    cpSync(join(runtime, archive, from), join(runtime, archive, `${day}${from.slice(24)}`));
  }
  return dir;
}

/** Repeats the records of the iterations of the last loop, with numbers that go on. */
function repeat(path: string, times: number): void {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const last = (JSON.parse(lines.at(-1) ?? '{}') as { loopId?: string }).loopId;
  const own = lines.filter((line) => line.includes(`"loopId":"${last}"`));
  const more = Array.from({ length: times - 1 }, (_, round) =>
    own
      .filter((line) => /"type":"(?:iteration|agent|tool)\./.test(line))
      .map((line) =>
        line.replace(
          /"iteration":(\d+)/,
          (_all, n: string) => `"iteration":${Number(n) + (round + 1) * SHORT.iterations}`,
        ),
      ),
  ).flat();
  const end = own.at(-1) ?? '';
  writeFileSync(path, `${[...lines.slice(0, -1), ...more, end].join('\n')}\n`);
}

function ralph(dir: string, words: readonly string[]) {
  const env = { PATH: process.env['PATH'], HOME: join(dir, '..'), XDG_STATE_HOME: join(dir, '..', 'state') };
  return spawnSync(process.execPath, [main, ...words], { cwd: dir, env, encoding: 'utf8' });
}

function timeOf(dir: string, words: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = ralph(dir, words);
  if (status !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
