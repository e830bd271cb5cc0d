import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * What a runner costs between two agents: the time from the end of one agent's process to the start of the next, beside
 * a bare shell loop that starts the same agent again and again, in one run, taking turns. And the most memory it takes
 * with an agent whose stream has 100 MB. With --check it exits 1 over a budget.
 *   node --import tsx tests/bench/runner.ts [--rounds 8] [--check]
 */
const LIMIT_MS = 60;
const LIMIT_MB = 120;
const STREAM_MB = 100;
/** Iterations of each loop in a round; the first one has no agent before it. */
const ITERATIONS = 12;

const rounds = numberOf('--rounds', 8);
const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'plugin', 'scripts', 'main.cjs');
const RUN = [main, 'run', '--json', '--permission-mode', 'bypassPermissions'];
const place = mkdtempSync(join(tmpdir(), 'ralph-bench-runner-'));

/**
 * Writes the time at its very beginning and its very end, in nanoseconds. `date` costs a process each: the same in both
 * loops, outside of what is measured.
 */
const AGENT = `#!/bin/sh
case "$1" in --version) echo 2.1.330; exit 0 ;; esac
began=$(date +%s%N)
IFS= read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s","model":"fake"}'
echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"Step '$$' is done.","total_cost_usd":0.25,"modelUsage":{}}'
cat >/dev/null
echo "$began $(date +%s%N)" >>"$TIMES"
`;

/** 100 MB of words and of what tools said, in lines of 20 KB; then a result. */
const TALKER = `#!/usr/bin/env node
if (process.argv[2] === '--version') { console.log('2.1.330'); process.exit(0); }
const fs = require('node:fs');
const say = (message) => { let rest = Buffer.from(JSON.stringify(message) + '\\n');
  while (rest.length > 0) { try { rest = rest.subarray(fs.writeSync(1, rest)); } catch (error) { if (error.code !== 'EAGAIN') throw error; } } };
say({ type: 'system', subtype: 'init', session_id: 's', model: 'fake' });
const text = 'word '.repeat(4000);
for (let at = 0; at < ${STREAM_MB * 50}; at++) {
  const id = 'call-' + at;
  if (at % 3 === 0) say({ type: 'assistant', message: { content: [{ type: 'text', text: text + at }] } });
  else if (at % 3 === 1) say({ type: 'assistant', message: { content: [{ type: 'tool_use', id, name: 'Bash', input: { command: text } }] } });
  else say({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'call-' + (at - 1), content: text }] } });
}
say({ type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed', num_turns: 1, result: 'All.\\n\\nRALPH_AUDIT_COMPLETE_NO_FINDINGS', total_cost_usd: 0.25, modelUsage: {} });
process.exit(0);
`;

process.exitCode = await measure();

async function measure(): Promise<number> {
  try {
    const agent = program('agent', AGENT);
    const times = { runner: [] as number[], folder: [] as number[], shell: [] as number[] };
    for (let round = -1; round < rounds; round++) {
      const found = {
        runner: runnerGaps(agent, 'plain'),
        folder: runnerGaps(agent, 'folder'),
        shell: shellGaps(agent),
      };
      if (round < 0) continue;
      for (const [name, gaps] of Object.entries(found)) times[name as keyof typeof times].push(...gaps);
    }
    console.log(
      `${rounds} rounds of ${ITERATIONS} agents on node ${process.version}, load ${loadavg()[0]?.toFixed(2)}\n`,
    );
    for (const [name, gaps] of Object.entries(times)) {
      console.log(`${name.padEnd(8)} median ${median(gaps).toFixed(1)} ms   p90 ${quantile(gaps, 0.9).toFixed(1)} ms`);
    }
    const peak = await peakMemory(program('talker', TALKER));
    const shell = median(times.shell);
    const kept = [
      say('runner over a shell loop, prompt file', median(times.runner) - shell, LIMIT_MS, 'ms'),
      say('runner over a shell loop, task folder', median(times.folder) - shell, LIMIT_MS, 'ms'),
      say(`peak memory with a stream of ${STREAM_MB} MB`, peak, LIMIT_MB, 'MB'),
    ];
    return kept.includes(false) && process.argv.includes('--check') ? 1 : 0;
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
}

function program(name: string, text: string): string {
  const path = join(place, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** A fresh project with a loop of so many iterations, and the words behind `run` that name its task. */
function project(kind: 'plain' | 'folder'): { readonly folder: string; readonly words: readonly string[] } {
  const folder = mkdtempSync(join(place, 'project-'));
  const settings = ['validation: ["true"]', `max_iterations: ${ITERATIONS}`, 'breaker: {same_reply: 0}'];
  const [path, words] = kind === 'plain' ? ['.claude/ralph/PROMPT.md', []] : ['tasks/one/RALPH.md', ['tasks/one']];
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `---\n${settings.join('\n')}\n---\n\nDo the work.\n`);
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
  ])
    spawnSync('git', args, { cwd: folder });
  return { folder, words };
}

function environment(folder: string, agent: string): NodeJS.ProcessEnv {
  const own = { HOME: folder, XDG_STATE_HOME: join(folder, '..', 'outside'), RALPH_CLAUDE: agent };
  return { PATH: process.env['PATH'], ...own, TIMES: join(folder, '..', 'times.txt') };
}

function runnerGaps(agent: string, kind: 'plain' | 'folder'): number[] {
  const { folder, words } = project(kind);
  const env = environment(folder, agent);
  const { stdout, stderr } = spawnSync(process.execPath, [...RUN, ...words], { cwd: folder, env, encoding: 'utf8' });
  const gaps = readGaps(env);
  if (gaps.length !== ITERATIONS - 1) throw new Error(`the runner made ${gaps.length} gaps: ${stdout}${stderr}`);
  return gaps;
}

/** The loop that a runner stands in for: the prompt in, the answer away, again. */
function shellGaps(agent: string): number[] {
  const { folder } = project('plain');
  const env = environment(folder, agent);
  const loop = `i=0; while [ $i -lt ${ITERATIONS} ]; do "$RALPH_CLAUDE" -p <.claude/ralph/PROMPT.md >/dev/null; i=$((i + 1)); done`;
  spawnSync('/bin/sh', ['-c', loop], { cwd: folder, env });
  return readGaps(env);
}

/** Milliseconds between the end of each agent and the start of the next. */
function readGaps({ TIMES: path = '' }: NodeJS.ProcessEnv): number[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  rmSync(path);
  const agents = lines.map((line) => line.split(' ').map(BigInt));
  return agents.slice(1).map(([began = 0n], index) => Number(began - (agents[index]?.[1] ?? 0n)) / 1e6);
}

/** Megabytes: the most that the runner ever had resident (Linux). */
async function peakMemory(agent: string): Promise<number> {
  const { folder } = project('plain');
  const child = spawn(process.execPath, RUN, {
    cwd: folder,
    env: environment(folder, agent),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let peak = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // it has just gone
    }
  }, 20);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`the runner left with ${code}`);
  return peak / 1024;
}

function say(name: string, figure: number, limit: number, unit: string): boolean {
  const kept = figure <= limit;
  console.log(`${kept ? 'kept' : 'OVER'}  ${name}: ${figure.toFixed(1)} ${unit} (at most ${limit})`);
  return kept;
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
}

function numberOf(name: string, otherwise: number): number {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
}
