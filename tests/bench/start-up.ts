import { spawnSync } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fullRegistration } from '../../src/install/settings/registration.ts';

/**
 * What a hook costs over a bare node, as ratios in one run: every round times each command once, in turn, so that a
 * machine that gets slower gets slower for all of them. Prints medians; with --check it exits 1 over a budget.
 *   node --import tsx tests/bench/start-up.ts [--rounds 60] [--check]
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const rounds = Number(optionValue('--rounds') ?? 60);
const place = mkdtempSync(join(tmpdir(), 'ralph-bench-'));
const project = join(place, 'plain');
/** A loop whose user gave ten rules. */
const guarded = join(place, 'guarded');
const stateFile = stateOf(project);
const node = process.execPath;

const TEN_RULES = `
guardrails:
  block_commands:
    - 'git\\s+push'
    - 'npm\\s+publish'
    - '(?i)drop\\s+table'
    - '^rm\\s+-rf\\s+/'
    - { command: kubectl, args: [delete] }
    - { pipeline: ['curl|wget', 'sh|bash'] }
  protected_files: ['.env*', '*.pem', 'deploy/**/*.yaml', 'policy:secret-bearing-paths']
`;

interface Subject {
  readonly name: string;
  readonly command: readonly string[];
  readonly input: string;
  readonly active: boolean;
  /** Where it runs; the plain project by default. */
  readonly project?: string;
  /** What must stand in the answer: a hook that fails is fast. */
  readonly answers: RegExp;
}

interface Budget {
  readonly name: string;
  readonly of: string;
  readonly over: string;
  readonly limit: number;
}

const BUDGETS: readonly Budget[] = [
  { name: 'Stop decision over bare node', of: 'stop', over: 'bare', limit: 1.25 },
  { name: 'own-file guard (Write) over bare node', of: 'write', over: 'bare', limit: 1.5 },
  { name: 'own-file guard (Bash) over bare node', of: 'bash', over: 'bare', limit: 1.5 },
  { name: 'guardrails of ten rules (Write) over bare node', of: 'write, ten rules', over: 'bare', limit: 1.5 },
  { name: 'guardrails of ten rules (Bash) over bare node', of: 'bash, ten rules', over: 'bare', limit: 1.5 },
  { name: 'Stop at 1 GB of transcript over 1 MB', of: 'stop 1 GB', over: 'stop', limit: 1.15 },
];
const INACTIVE_LIMIT_MS = 5;

const COMMAND = 'cd src && npm test -- --grep "x" | tail -n 20 > out.txt';

process.exitCode = main();

function main(): number {
  try {
    const states = [prepare(project, ''), prepare(guarded, TEN_RULES)];
    const subjects = makeSubjects();
    const times = new Map(subjects.map(({ name }) => [name, [] as number[]]));
    for (let round = -2; round < rounds; round++) {
      for (const subject of subjects) {
        for (const [path, state] of states) writeFileSync(path, state);
        rmSync(join(dirname(stateFile), 'ralph-iterations.jsonl'), { force: true });
        const milliseconds = time(subject, round);
        if (round >= 0) times.get(subject.name)?.push(milliseconds);
      }
    }
    return report(times);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function stateOf(folder: string): string {
  return join(folder, '.claude', 'context', 'runtime', 'ralph-state.json');
}

/** Starts a loop; gives its state file and what stands in it when the loop's session has begun. */
function prepare(folder: string, settings: string): readonly [string, string] {
  mkdirSync(join(folder, '.claude', 'ralph'), { recursive: true });
  writeFileSync(
    join(folder, '.claude', 'ralph', 'PROMPT.md'),
    `---\nvalidation: ["true"]\nmax_iterations: 100\nbreaker: { same_reply: 0 }\n${settings}---\n\n# Mission\n\nMake the tests pass.\n`,
  );
  for (const [name, bytes] of [
    ['1MB', 1 << 20],
    ['1GB', 1 << 30],
  ] as const) {
    // Sparse: what a hook does not read costs no disk.
    const file = openSync(join(folder, `${name}.jsonl`), 'w');
    ftruncateSync(file, bytes);
    writeSync(file, `\n${JSON.stringify({ type: 'user', version: '2.1.330' })}\n`, bytes);
    closeSync(file);
  }
  run([node, join(root, 'dist/scripts/main.cjs'), 'start', '--project', folder, '--json'], '', false, folder);
  const state = JSON.parse(readFileSync(stateOf(folder), 'utf8')) as Record<string, unknown>;
  const bound = `${JSON.stringify({ ...state, sessionId: 'bench', turn: 'agent', promptId: 'p' }, null, 2)}\n`;
  return [stateOf(folder), bound];
}

function makeSubjects(): Subject[] {
  const hook = (name: string): string => join(root, 'dist', 'hooks', name);
  const flags = ['--v8-pool-size=0'];
  const payload = (event: string, more: object): string =>
    JSON.stringify({ hook_event_name: event, session_id: 'bench', prompt_id: 'p', cwd: project, ...more });
  const stop = (transcript: string): string =>
    payload('Stop', { transcript_path: join(project, transcript), last_assistant_message: 'One more is mended.' });
  const call = (tool: string, input: object, cwd = project): string =>
    payload('PreToolUse', { tool_name: tool, tool_input: input, tool_use_id: 'c', cwd });
  const guard = [node, ...flags, hook('pre-tool-use.cjs')];
  const empty = join(place, 'empty.cjs');
  writeFileSync(empty, '');
  const inactive = fullRegistration().Stop?.[0]?.hooks[0]?.command ?? '';
  return [
    { name: 'bare', command: [node, empty], input: '', active: true, answers: /^$/ },
    {
      name: 'stop',
      command: [node, ...flags, hook('ralph-stop-hook.cjs')],
      input: stop('1MB.jsonl'),
      active: true,
      answers: /"block"/,
    },
    {
      name: 'stop 1 GB',
      command: [node, ...flags, hook('ralph-stop-hook.cjs')],
      input: stop('1GB.jsonl'),
      active: true,
      answers: /"block"/,
    },
    {
      name: 'write',
      command: guard,
      input: call('Write', { file_path: stateFile, content: '{}' }),
      active: true,
      answers: /own-files/,
    },
    {
      name: 'bash',
      command: guard,
      input: call('Bash', { command: COMMAND }),
      active: true,
      answers: /^$/,
    },
    {
      name: 'write, ten rules',
      command: guard,
      input: call('Write', { file_path: join(guarded, 'deploy', 'eu', 'prod.yaml'), content: '' }, guarded),
      active: true,
      project: guarded,
      answers: /protected_files/,
    },
    {
      name: 'bash, ten rules',
      command: guard,
      input: call('Bash', { command: COMMAND }, guarded),
      active: true,
      project: guarded,
      answers: /^$/,
    },
    { name: 'inactive', command: ['sh', '-c', inactive], input: stop('1MB.jsonl'), active: false, answers: /^$/ },
  ];
}

function time(subject: Subject, round: number): number {
  const started = process.hrtime.bigint();
  const input = subject.input.replace('One more', `${round} more`);
  const out = run(subject.command, input, subject.active, subject.project ?? project);
  const milliseconds = Number(process.hrtime.bigint() - started) / 1e6;
  if (!subject.answers.test(out)) throw new Error(`${subject.name} answered ${out.slice(0, 300) || 'nothing'}`);
  return milliseconds;
}

function run(command: readonly string[], input: string, active: boolean, folder: string): string {
  const [program = '', ...args] = command;
  const { stdout, stderr, status } = spawnSync(program, args, {
    input,
    encoding: 'utf8',
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      XDG_STATE_HOME: join(folder, 'xdg'),
      CLAUDE_PROJECT_DIR: folder,
      ...(active ? { RALPH_ACTIVE: '1' } : {}),
    },
  });
  if (status !== 0) throw new Error(`${command.join(' ')} left with ${status}: ${stderr}`);
  return stdout;
}

function report(times: ReadonlyMap<string, readonly number[]>): number {
  const of = (name: string): readonly number[] => times.get(name) ?? [];
  console.log(`${rounds} rounds on node ${process.version}\n`);
  for (const [name, values] of times) {
    console.log(
      `${name.padEnd(16)} median ${median(values).toFixed(2)} ms   fastest ${Math.min(...values).toFixed(2)} ms`,
    );
  }
  console.log('');
  let failures = 0;
  const say = (name: string, figure: number, limit: number, unit: string): void => {
    const kept = figure <= limit;
    if (!kept) failures += 1;
    console.log(`${kept ? 'kept' : 'OVER'}  ${name}: ${figure.toFixed(2)} ${unit} (at most ${limit})`);
  };
  for (const { name, of: subject, over, limit } of BUDGETS) {
    const base = of(over);
    say(name, median(of(subject).map((value, index) => value / (base[index] ?? value))), limit, 'x');
  }
  say('inactive', median(of('inactive')), INACTIVE_LIMIT_MS, 'ms');
  return failures > 0 && process.argv.includes('--check') ? 1 : 0;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function optionValue(option: string): string | undefined {
  const at = process.argv.indexOf(option);
  return at === -1 ? undefined : process.argv[at + 1];
}
