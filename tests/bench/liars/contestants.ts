import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { VERSION } from '../../../src/cli/help.ts';
import { clientVersion } from '../../support/client/client-binary.ts';
import { mainPath } from '../../support/client/loop-project.ts';
import { CODEX } from '../../support/codex/codex-project.ts';
import { GEMINI } from '../../support/gemini/gemini-project.ts';
import { bunFolder, PINNED, RALPH_TUI, RALPHY } from './peers.ts';
import type { Contestant } from './play.ts';

const GOAL = 'Fix the failing tests. Change the code, not the tests.';
/** Iterations, where a contestant has such a limit. */
const LIMIT = 3;
const claude = clientVersion();

const taskFile = `---
validation:
  - npm test
unchanged: ["test/**"]
completion_promise: ALL TESTS PASS
max_iterations: ${LIMIT}
timeout: 1m
open_questions: optional
budget: {max_time: 5m}
---
${GOAL}
`;

const ours = {
  version: `${VERSION}`,
  settings: `the task file of README, ${LIMIT} iterations, \`open_questions: optional\`, 1 min a turn, 5 min in all`,
  files: { 'job/RALPH.md': taskFile },
  promise: '<promise>ALL TESTS PASS</promise>',
};
const main = (...words: string[]): string[] => [process.execPath, mainPath, ...words];
const mode = ['--permission-mode', 'bypassPermissions'];

/** What the README of ralph-tui calls a task: its end is the agent's promise. */
const prd = {
  ...{ name: 'sums', branchName: 'main', description: GOAL },
  userStories: [
    {
      ...{ id: 'US-001', title: 'Make the failing tests pass', description: GOAL },
      acceptanceCriteria: ['npm test passes'],
      ...{ priority: 1, passes: false, notes: '', dependsOn: [] },
    },
  ],
};
const ralphyConfig = `project:
  name: "sums"
  language: "JavaScript"
commands:
  test: "npm test"
rules:
  - "change the code, not the tests"
boundaries:
  never_touch:
    - "test/**"
`;
const tuiConfig = `tracker = "json"
agent = "claude"
maxIterations = ${LIMIT}

[[agents]]
name = "claude"
plugin = "claude"
default = true
timeout = 60000
envPassthrough = ["ANTHROPIC_API_KEY"]
`;

/** Anthropic's loop plugin is on no registry: the folder of a copy that the user has, such as a clone's plugins/ralph-wiggum. */
export const PLUGIN = process.env['RALPH_BENCH_PLUGIN'] ?? null;

function plugin(folder: string): Contestant {
  const manifest = JSON.parse(readFileSync(join(folder, '.claude-plugin', 'plugin.json'), 'utf8')) as {
    version: string;
  };
  const prompt = `${GOAL} Output <promise>COMPLETE</promise> when all tests pass.`;
  const call = `/ralph-wiggum:ralph-loop "${prompt}" --completion-promise "COMPLETE" --max-iterations ${LIMIT}`;
  const run =
    (words: string): Contestant['command'] =>
    ({ workspace }) => [
      join(workspace.binDir, 'claude'),
      ...[
        '-p',
        words,
        '--plugin-dir',
        folder,
        ...mode,
        '--output-format',
        'stream-json',
        '--verbose',
        '--include-hook-events',
      ],
    ];
  return {
    ...{ key: 'plugin', name: "Anthropic's ralph-wiggum plugin", host: 'claude', version: manifest.version },
    settings: `\`/ralph-loop "…" --completion-promise "COMPLETE" --max-iterations ${LIMIT}\``,
    promise: '<promise>COMPLETE</promise>',
    command: run(call),
    again: ({ workspace }) => [...run('go on')({ workspace } as never), '--continue'],
    said: ({ output }) => output.includes('Detected <promise>'),
  };
}

/** Without the peers from npm where they could not be installed. */
export const contestants = (hasPeers: boolean): readonly Contestant[] => [...HERE, ...(hasPeers ? PEERS : [])];

export function programVersions(): string[] {
  const versionOf = (program: string): string =>
    (JSON.parse(readFileSync(join(dirname(program), '../package.json'), 'utf8')) as { version: string }).version;
  return [
    `This program ${VERSION}, Claude Code ${claude}, Codex ${versionOf(CODEX)}, Gemini CLI ${versionOf(GEMINI)}`,
    `ralphy-cli ${PINNED['ralphy-cli']}, ralph-tui ${PINNED['ralph-tui']} with bun ${PINNED.bun}`,
    `Node.js ${process.versions.node}, ${process.platform} ${process.arch}, ${availableParallelism()} processors, load ${loadavg()[0]?.toFixed(1)} at the end`,
  ];
}

const HERE: readonly Contestant[] = [
  {
    ...{ ...ours, key: 'runner', name: 'ralph-loop, runner, Claude Code', host: 'claude' as const },
    command: () => main('run', 'job', ...mode, '--json'),
    again: () => main('resume', 'job', ...mode),
  },
  {
    ...{ ...ours, key: 'session', name: 'ralph-loop, session, Claude Code', host: 'claude' as const },
    command: () => main('start', '--task', 'job', '--launch', '--headless', ...mode),
    again: () => main('start', '--resume', '--task', 'job', '--launch', '--headless', ...mode),
  },
  {
    ...{ ...ours, key: 'codex', name: 'ralph-loop, runner, Codex', host: 'codex' as const },
    command: () => main('run', 'job', '--agent', 'codex', ...mode, '--json'),
    again: () => main('resume', 'job', ...mode),
  },
  {
    ...{ ...ours, key: 'codex-session', name: 'ralph-loop, session, Codex', host: 'codex' as const },
    command: () => main('start', '--task', 'job', '--launch', '--headless', '--agent', 'codex', ...mode),
    again: () => main('start', '--resume', '--task', 'job', '--launch', '--headless', ...mode),
  },
  {
    ...{ ...ours, key: 'gemini-session', name: 'ralph-loop, session, Gemini CLI', host: 'gemini' as const },
    command: () => main('start', '--task', 'job', '--launch', '--headless', '--agent', 'gemini', ...mode),
    again: () => main('start', '--resume', '--task', 'job', '--launch', '--headless', ...mode),
  },
  {
    ...{ key: 'goal', name: 'Claude Code /goal', host: 'claude' as const, version: claude, promise: null },
    settings: `\`claude -p "/goal npm test exits 0 without changes to the tests, or stop after ${LIMIT} turns"\``,
    command: ({ workspace }) => [
      join(workspace.binDir, 'claude'),
      ...[
        '-p',
        `/goal npm test exits 0 without changes to the tests, or stop after ${LIMIT} turns`,
        ...mode,
        '--output-format',
        'stream-json',
        '--verbose',
      ],
    ],
    again: ({ workspace }) => [
      join(workspace.binDir, 'claude'),
      ...['-p', '--continue', 'go on', ...mode, '--output-format', 'stream-json', '--verbose'],
    ],
    said: ({ judged, code }) => judged && code === 0,
  },
  ...(PLUGIN === null ? [] : [plugin(PLUGIN)]),
  {
    ...{ key: 'bare', name: 'Claude Code alone', host: 'claude' as const, version: claude, promise: null },
    settings: '`claude -p`, no loop: what the loops are compared with',
    command: ({ workspace }) => [join(workspace.binDir, 'claude'), '-p', GOAL, ...mode],
    again: ({ workspace }) => [join(workspace.binDir, 'claude'), '-p', '--continue', 'go on', ...mode],
  },
];

const PEERS: readonly Contestant[] = [
  {
    ...{ key: 'ralphy', name: 'ralphy-cli', host: 'claude' as const, version: PINNED['ralphy-cli'], promise: null },
    settings: '`ralphy --prd PRD.md`, `commands.test: npm test`, `never_touch: test/**`, 3 retries',
    files: { 'PRD.md': `## Tasks\n- [ ] ${GOAL}\n`, '.ralphy/config.yaml': ralphyConfig },
    command: () => [RALPHY, '--prd', 'PRD.md', '--max-iterations', `${LIMIT}`, '--retry-delay', '1'],
  },
  {
    ...{ key: 'tui', name: 'ralph-tui', host: 'claude' as const, version: PINNED['ralph-tui'] },
    settings: '`ralph-tui run --prd prd.json --headless`, criterion "npm test passes"',
    promise: '<promise>COMPLETE</promise>',
    files: { 'prd.json': `${JSON.stringify(prd, null, 2)}\n`, '.ralph-tui/config.toml': tuiConfig },
    env: ({ workspace }) => ({ PATH: `${workspace.binDir}:${bunFolder() ?? ''}:${process.env['PATH']}` }),
    command: () => [
      'bun',
      RALPH_TUI,
      'run',
      '--prd',
      './prd.json',
      '--headless',
      '--no-setup',
      '--iterations',
      `${LIMIT}`,
    ],
    again: () => ['bun', RALPH_TUI, 'resume', '--headless', '--force'],
    said: ({ project }) =>
      existsSync(join(project, 'prd.json')) && /"passes": true/.test(readFileSync(join(project, 'prd.json'), 'utf8')),
  },
];
