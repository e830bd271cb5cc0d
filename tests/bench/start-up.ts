import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentRegistration, sessionRegistration } from '../../src/install/settings/registration.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import type { BenchLoop, GitCall, Kind } from './support/bench-loops.ts';
import { benchLoop, gitCalls, hookCommand, NODE, run, stopPayload, transcript, word } from './support/bench-loops.ts';

/**
 * Measures what a hook costs over a bare node, as ratios in one run: every round times each command once, in turn, so
 * that a machine that gets slower gets slower for all of them. Where a Stop calls git, the bare node of the comparison
 * starts the same git commands. Prints medians; with --check it exits 1 over a budget. --cpu counts processor time, that
 * of git included, which says more on a machine that has other work. --only measures what a budget with this text needs.
 * A single round only shows that everything answers.
 *   node --import tsx tests/bench/start-up.ts [--rounds 60] [--bundle dist/plugin] [--cpu] [--only TEXT] [--check]
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const rounds = Number(optionValue('--rounds') ?? 60);
const WARM_UP = Math.min(3, rounds - 1);
const bundle = resolve(optionValue('--bundle') ?? join(root, 'dist', 'plugin'));
const only = optionValue('--only') ?? '';
const countsProcessor = process.argv.includes('--cpu');
const place = mkdtempSync(join(tmpdir(), 'ralph-bench-'));
const counter = join(place, 'processor-time');

const PROTECTED_FILES = 5000;
/** What the look at them may add to a tool hook. */
const LOOK_LIMIT_MS = 20;

const VALIDATION = 'validation: ["true"]\nmax_iterations: 100\n';
const TASK = '\n# Mission\n\nMake the tests pass. Work on one part at a time.\n';
const PROMPT = '.claude/ralph/PROMPT.md';
const TEN_RULES = `guardrails:
  block_commands:
    - 'git\\s+push'
    - 'npm\\s+publish'
    - '(?i)drop\\s+table'
    - '^rm\\s+-rf\\s+/'
    - { command: kubectl, args: [delete] }
    - { pipeline: ['curl|wget', 'sh|bash'] }
  protected_files: ['.env*', '*.pem', 'deploy/**/*.yaml', 'policy:secret-bearing-paths']
`;
const FINDINGS = Array.from({ length: 20 }, (_, nth) => `- [${nth < 8 ? 'x' : ' '}] src/a.ts:${nth}: swallowed error`);
const PLAN = [1, 2, 3, 4].map(
  (id) => `- [ ] **Task ${id}: Make part ${id}**\n  - Scope: \`src\`\n  - Acceptance: part ${id} works\n`,
);

const KINDS: readonly Kind[] = [
  { name: 'plain prompt', files: { [PROMPT]: `---\n${VALIDATION}---\n${TASK}` }, start: [] },
  {
    name: 'findings log',
    files: {
      [PROMPT]: `---\n${VALIDATION}---\n${TASK}`,
      '.ralph/findings.md': `# Findings\n\n${FINDINGS.join('\n')}\n`,
    },
    start: [],
    says: 'RALPH_ITERATION_COMPLETE: 12 findings remain',
  },
  {
    name: 'task folder',
    files: { 'job/RALPH.md': `---\nmax_iterations: 50\ntimeout: 3600\ncompletion_promise: DONE\n---\n${TASK}` },
    start: ['--task', 'job'],
  },
  {
    name: 'checklist',
    files: {
      'list/task.md': `---\nvalidation: ["true"]\ntimeout: 3600\n---\n# Goals\n\nIt works.\n\n# Checklist\n\n- [x] One\n- [ ] Two\n- [ ] Three\n`,
    },
    start: ['--task', 'list'],
  },
  {
    name: 'plan',
    files: { 'PLAN.md': PLAN.join('') },
    start: ['--task', 'PLAN.md', '--plan'],
    says: '<!-- ralph:state partial -->',
  },
  {
    name: 'protected',
    files: {
      [PROMPT]: `---\n${VALIDATION}guardrails:\n  protected_files: ['tests/**']\n---\n${TASK}`,
      ...Object.fromEntries(
        Array.from({ length: PROTECTED_FILES }, (_, nth) => [
          `tests/part-${nth % 100}/file-${nth}.test.ts`,
          `${nth}\n`,
        ]),
      ),
    },
    start: [],
  },
  { name: 'ten rules', files: { [PROMPT]: `---\n${VALIDATION}${TEN_RULES}---\n${TASK}` }, start: [] },
];
const STOPS = ['plain prompt', 'findings log', 'task folder', 'checklist', 'plan'];
const STOP_LIMIT = 2.0;
const TOOL_LIMIT = 1.5;
const TRANSCRIPT_LIMIT = 1.15;
const INACTIVE_LIMIT_MS = 3;
/** What both hooks of a runner's agent may add to a call that can change nothing. */
const READ_LIMIT_MS = 5;

interface Subject {
  readonly name: string;
  readonly command: readonly string[];
  readonly input: (round: number) => object | null;
  readonly loop: BenchLoop;
  /** What must stand in the answer: a hook that fails is fast. */
  readonly answers: RegExp;
  readonly active?: false;
}

interface Budget {
  readonly name: string;
  readonly over: string;
  readonly limit: number;
  /** `x`: the ratio of both; `ms`: what the first takes beyond the other. */
  readonly unit: 'x' | 'ms';
  readonly note?: string;
}

process.exitCode = main();

function main(): number {
  try {
    const loops = new Map(KINDS.map((kind) => [kind.name, benchLoop(place, bundle, kind)]));
    const all = prepare((name) => loops.get(name) as BenchLoop);
    const budgets = all.budgets.filter(({ name }) => name.includes(only));
    const needed = new Set(budgets.flatMap(({ name, over }) => [name, over]));
    const subjects = all.subjects.filter(({ name }) => needed.has(name));
    const times = new Map(subjects.map(({ name }) => [name, [] as number[]]));
    for (let round = -WARM_UP; round < rounds; round++) {
      for (const subject of subjects) {
        const milliseconds = time(subject, round + 10);
        if (round >= 0) times.get(subject.name)?.push(milliseconds);
      }
    }
    return report(times, budgets);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function prepare(loopOf: (name: string) => BenchLoop): { subjects: Subject[]; budgets: Budget[] } {
  const plain = loopOf('plain prompt');
  const bare = script('bare', '');
  const subjects: Subject[] = [
    { name: 'bare node', command: [NODE, bare], input: () => null, loop: plain, answers: /^$/ },
  ];
  const budgets: Budget[] = [];
  const stop = (name: string, loop: BenchLoop, size?: string): void => {
    const input = (round: number): object => ({
      hook_event_name: 'Stop',
      ...stopPayload(loop.dir, `Part ${word(round)} is done; more remain.\n\n${loop.kind.says ?? ''}`, size),
    });
    subjects.push({ name, command: hookCommand(loop.dir, 'Stop'), input, loop, answers: /"decision":"block"/ });
  };
  for (const kind of STOPS) {
    const loop = loopOf(kind);
    stop(`Stop, ${kind}`, loop);
    const groups = gitCalls(loop, place);
    const calls = groups.flat().length;
    let over = 'bare node';
    if (calls > 0) {
      over = `bare node, git of ${kind}`;
      subjects.push({ name: over, command: [NODE, gitScript(kind, groups)], input: () => null, loop, answers: /^$/ });
    }
    budgets.push({ name: `Stop, ${kind}`, over, limit: STOP_LIMIT, unit: 'x', note: `, ${calls} calls of git` });
  }
  transcript(plain.dir, '1GB', 1 << 30);
  stop('Stop, 1 GB transcript', plain, '1GB');
  budgets.push({ name: 'Stop, 1 GB transcript', over: 'Stop, plain prompt', limit: TRANSCRIPT_LIMIT, unit: 'x' });
  for (const [kind, suffix] of [
    ['plain prompt', ''],
    ['ten rules', ', ten rules'],
  ] as const) {
    const loop = loopOf(kind);
    const file = suffix === '' ? loop.state : join(loop.dir, 'deploy', 'eu', 'prod.yaml');
    const denies = suffix === '' ? /own-files/ : /protected_files/;
    for (const [tool, input, answers] of [
      ['Write', { file_path: file, content: '{}' }, denies],
      ['Bash', { command: 'cd src && npm test -- --grep "x" | tail -n 20 > out.txt' }, /^$/],
    ] as const) {
      const payload = { hook_event_name: 'PreToolUse', tool_name: tool, tool_input: input, tool_use_id: 'c' };
      const name = `${tool}${suffix}`;
      subjects.push({ name, command: hookCommand(loop.dir, 'PreToolUse'), input: () => payload, loop, answers });
      budgets.push({ name, over: 'bare node', limit: TOOL_LIMIT, unit: 'x' });
    }
  }
  for (const event of ['PreToolUse', 'PostToolUse'] as const) {
    for (const kind of ['plain prompt', 'protected']) {
      const loop = loopOf(kind);
      const input = {
        hook_event_name: event,
        tool_name: 'Edit',
        tool_input: { file_path: 'src/a.ts' },
        tool_use_id: 'c',
      };
      const command = hookCommand(loop.dir, event);
      subjects.push({ name: `${event}, ${kind}`, command, input: () => input, loop, answers: /^$/ });
    }
    const over = `${event}, plain prompt`;
    const note = `, ${PROTECTED_FILES} files`;
    budgets.push({ name: `${event}, protected`, over, limit: LOOK_LIMIT_MS, unit: 'ms', note });
  }
  const bundleOf = join(plain.dir, '.claude', 'skills', 'ralph-loop');
  const reads = agentRegistration(bundleOf, loopFiles(plain.dir, null, plain.env));
  const commands = [reads.PreToolUse, reads.PostToolUse].map((groups) => groups?.at(-1)?.hooks[0]?.command ?? 'false');
  subjects.push({
    name: 'Read, Pre and Post',
    command: ['sh', '-c', '/bin/sh -c "$0" && exec /bin/sh -c "$1"', ...commands],
    input: () => ({ hook_event_name: 'PreToolUse', tool_name: 'Read', tool_input: { file_path: 'src/a.ts' } }),
    loop: plain,
    answers: /^$/,
  });
  budgets.push({ name: 'Read, Pre and Post', over: '/bin/true', limit: READ_LIMIT_MS, unit: 'ms' });
  const inactive = sessionRegistration().Stop?.[0]?.hooks[0]?.command ?? '';
  const none = { input: () => null, loop: plain, answers: /^$/, active: false } as const;
  subjects.push({ name: 'inactive', command: ['sh', '-c', inactive], ...none });
  subjects.push({ name: '/bin/true', command: ['/bin/true'], ...none });
  budgets.push({ name: 'inactive', over: '/bin/true', limit: INACTIVE_LIMIT_MS, unit: 'ms' });
  return { subjects, budgets };
}

function script(name: string, text: string): string {
  const path = join(place, `${name}.cjs`);
  writeFileSync(path, text);
  return path;
}

/** A program that starts these commands as the hook does: those of one group at the same time. */
function gitScript(kind: string, groups: readonly (readonly GitCall[])[]): string {
  return script(
    `git-${kind.replace(/\W+/g, '-')}`,
    `const { execFile } = require('node:child_process');
const git = ({ cwd, args }) => new Promise((done) => execFile('git', args, { cwd }, () => done()).stdin.end());
(async () => { for (const group of ${JSON.stringify(groups)}) await Promise.all(group.map(git)); })();
`,
  );
}

function time({ name, command, input, loop, answers, active }: Subject, round: number): number {
  loop.reset(round);
  const payload = input(round);
  const text =
    payload === null ? '' : JSON.stringify({ session_id: 'bench', prompt_id: 'p', cwd: loop.dir, ...payload });
  const { RALPH_ACTIVE: _, ...without } = loop.env;
  const started = process.hrtime.bigint();
  const out = run(countsProcessor ? counted(command) : command, text, active === false ? without : loop.env, loop.dir);
  const milliseconds = Number(process.hrtime.bigint() - started) / 1e6;
  if (!answers.test(out)) throw new Error(`${name} answered ${out.slice(0, 300) || 'nothing'}`);
  return countsProcessor ? countedMilliseconds() : milliseconds;
}

/** The command in a shell that writes its processor time to a file. */
function counted(command: readonly string[]): string[] {
  return ['bash', '-c', 'TIMEFORMAT="%3U %3S"; out=$0; { time "$@"; } 2> "$out"', counter, ...command];
}

function countedMilliseconds(): number {
  const [user = 0, system = 0] = (readFileSync(counter, 'utf8').trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return (user + system) * 1000;
}

function report(times: ReadonlyMap<string, readonly number[]>, budgets: readonly Budget[]): number {
  const of = (name: string): readonly number[] => times.get(name) ?? [];
  console.log(`${rounds} rounds on node ${process.version}\n`);
  for (const [name, values] of times) {
    const [middle, least] = [median(values), Math.min(...values)].map((value) => value.toFixed(2).padStart(7));
    console.log(`${name.padEnd(28)} median ${middle} ms   fastest ${least} ms`);
  }
  console.log('');
  if (rounds === 1 && !process.argv.includes('--check')) {
    console.log('All answer. One round is too few to compare with the limits: npm run bench.');
    return 0;
  }
  let failures = 0;
  for (const { name, over, limit, unit, note = '' } of budgets) {
    const base = of(over);
    const beyond = (value: number, index: number): number => {
      const other = base[index] ?? Number.NaN;
      return unit === 'x' ? value / other : value - other;
    };
    const figure = median(of(name).map(beyond));
    const kept = figure <= limit;
    if (!kept) failures += 1;
    console.log(
      `${kept ? 'kept' : 'OVER'}  ${name} over ${over}: ${figure.toFixed(2)} ${unit} (at most ${limit})${note}`,
    );
  }
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
