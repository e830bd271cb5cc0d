import { isAbsolute, join } from 'node:path';
import { sandboxProblem } from '../../sandbox/bubblewrap.ts';
import { isBelow } from '../../sandbox/environment.ts';
import { SANDBOX_PROBLEMS, type SandboxProblem } from '../../sandbox/messages.ts';
import { advise, type Message, nullIfRefused, RalphError } from '../../text/message.ts';
import { atLeast } from '../../text/version.ts';
import type { AgentTerms, FoundClient, Host, Named, PreparedAgent, SessionTerms } from '../host.ts';
import { findNamed, namedClient, promptRefused, tooOldText } from '../host.ts';
import { startAgent } from './agent/start-claude.ts';
import { apiFailure, lastApiError } from './transcript/transcript.ts';

/** Oldest supported client. Hooks of older ones do not know their client's process. */
export const OLDEST_CLIENT = '2.1.213';

export const UPDATE_CLIENT = `Update it: claude update, or npm install -g @anthropic-ai/claude-code@${OLDEST_CLIENT} or a later version.`;

const CLAUDE: Named = {
  title: 'Claude Code',
  program: 'claude',
  variable: 'RALPH_CLAUDE',
  oldest: OLDEST_CLIENT,
  install: 'npm install -g @anthropic-ai/claude-code',
  update: UPDATE_CLIENT,
  // npm's `claude.cmd` would need a shell, through which a prompt must never pass: find the program behind it.
  places: (named) =>
    process.platform === 'win32'
      ? [`${named}.exe`, join('node_modules', '@anthropic-ai', 'claude-code', 'bin', 'claude.exe')]
      : [named],
};

/** Returns the client for a loop. Throws RalphError `client-missing`, `client-too-old`; accepts unknown versions. */
const requireClient = (env: NodeJS.ProcessEnv): FoundClient => namedClient(env, CLAUDE);

/** Finds the Claude Code client: RALPH_CLAUDE, or `claude` on PATH. Throws RalphError `client-missing`. */
export const findClient = (env: NodeJS.ProcessEnv): FoundClient => findNamed(env, CLAUDE);

export const tooOld = (path: string, version: string): string => tooOldText(CLAUDE, path, version);

/** First client that treats a crashed hook as a refusal. */
const BLOCKS_ON_FAILURE = '2.1.295';

/** Returns the warning about a client that allows calls when its guard crashes; null for others and unknown versions. */
export function failOpenText(version: string | null): string | null {
  if (version === null || atLeast(version, BLOCKS_ON_FAILURE)) return null;
  return `claude ${version} is older than ${BLOCKS_ON_FAILURE}: a guardrail that crashes lets the call through.`;
}

/**
 * Oldest client whose sandbox confines an agent. In earlier ones, a list of domains leaves every other domain open, and the
 * steps of a test-first loop are refused (measured with 2.1.283 and 2.1.284).
 */
const OLDEST_SANDBOX = '2.1.284';

/** Returns why client or checks cannot be confined here to `writable` folders, with the remedy; null if they can. */
export function clientSandboxProblem(
  env: NodeJS.ProcessEnv,
  writable: readonly string[],
  platform?: NodeJS.Platform,
): SandboxProblem | null {
  const problem = sandboxProblem(env, platform);
  const client = problem === null ? nullIfRefused(() => findClient(env), 'client-missing') : null;
  // Both are started again in each iteration: the client, and node for its hooks.
  const own = [client?.path ?? '', process.execPath].find((path) => isAbsolute(path) && isBelow(path, writable));
  if (problem === null && own !== undefined) return SANDBOX_PROBLEMS.replaceable(own);
  const { version = null } = client ?? {};
  if (version === null || atLeast(version, OLDEST_SANDBOX)) return problem;
  return SANDBOX_PROBLEMS.oldClient(version, OLDEST_SANDBOX);
}

/** Oldest client that is known to print a Stop hook's messages under `-p`; for older ones the launcher repeats them. */
const PRINTS_MESSAGES = '2.1.250';

export const CLAUDE_CODE: Host = {
  name: 'claude-code',
  title: 'Claude Code',
  oldest: OLDEST_CLIENT,
  requireClient,
  requireArgs: requireClientArgs,
  hookArgs: async () => [],
  iterations: {
    prepare: prepareClaude,
    start: (sessionId, options) => startAgent({ ...options, args: [...options.args, '--session-id', sessionId] }),
  },
  sessionArgs: claudeSession,
  sessionEnv: () => ({}),
  sessionError: (path) => {
    const noted = lastApiError(path);
    return noted === null ? null : { ...apiFailure({}, path), at: noted.at };
  },
  endsTurns: true,
  printsMessages: (version) => version === null || atLeast(version, PRINTS_MESSAGES),
  byHand: ['RALPH_ACTIVE=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0', 'claude'],
  versionText: (version) => {
    const text = failOpenText(version);
    return text === null ? null : `${text} Update it: claude update.`;
  },
  readsClaudeSettings: true,
  confines: false,
  cannot: [],
  topics: {
    'loop with a new client for each iteration': '`run TASK`',
    'loop inside one session': '`start`, the plugin, or a router',
    guard: 'every tool, by the hooks of the loop; a crashed hook refuses the call from 2.1.295 on',
    'input to running commands': 'the client has no tool for it',
    steering: 'a message reaches the agent at its next tool call',
    interruption: 'the client ends its turn and reports its figures',
    'permission mode': "the client's own modes; commands of `may_run` are allowed besides",
    tokens: 'while the agent works',
    cost: 'as the client reports it; `max_cost` ends a run within it',
    'rate limits and API errors': 'from the stream, with the time of the reset',
    subagents: 'guarded and counted',
    'dialogs left open': '`status`, `list` and `explain` say that it waits for your answer',
    'background work': 'awaited for `background_wait`',
  },
};

function clientOptions(settings: Pick<AgentTerms, 'permissionMode' | 'model' | 'effort'>): string[] {
  const { permissionMode, model, effort } = settings;
  const named = { '--permission-mode': permissionMode, '--model': model, '--effort': effort };
  return Object.entries(named).flatMap(([option, value]) => (value === null ? [] : [option, value]));
}

/** Disables tools that wake the agent up later: without a terminal, the client exits at the end of its turn. */
const NO_WAKE_UPS: readonly string[] = ['--disallowedTools', 'ScheduleWakeup', 'CronCreate'];

/** Returns the client's options that allow the agent exactly these checks, and `mayRun` with any arguments. */
function allowedCommands(checks: readonly string[], mayRun: readonly string[] = []): string[] {
  const exact = checks.map((run) => allowRule('Bash', run));
  const begun = mayRun.map((run) => allowRule('Bash', run, ':*'));
  const rules = [...exact, ...begun].filter((rule) => rule !== null);
  return rules.length === 0 ? [] : ['--allowedTools', ...rules];
}

/**
 * Returns the client's rule for exactly this call, or for calls that begin with it and end with anything (`:*`); null if the
 * command contains a star, which rules treat as a wildcard.
 */
export function allowRule(tool: string, command: string, end: '' | ':*' = ''): string | null {
  if (tool !== 'Bash') return tool;
  return command.includes('*') || command === '' ? null : `Bash(${command}${end})`;
}

function prepareClaude({ settings, checks, mayRun, isolation, own, ...options }: AgentTerms): PreparedAgent {
  const args = [
    ...allowedCommands(checks, mayRun),
    ...NO_WAKE_UPS,
    ...['--settings', JSON.stringify(settings)],
    // Leaves out the user's hooks and servers; those of the project are part of the loop.
    ...(isolation === 'project' ? ['--setting-sources', 'project,local'] : []),
    ...clientOptions(options),
    ...own,
  ];
  return { args, permissions: settings.permissions, env: settings.env };
}

/** Returns the words with which Claude Code begins or resumes a session. */
function claudeSession({
  prompt,
  headless,
  session,
  settings,
  checks,
  mayRun,
  own,
  ...options
}: SessionTerms): string[] {
  return [
    ...(headless ? ['-p'] : []),
    prompt,
    ...allowedCommands(checks, mayRun),
    ...(headless ? NO_WAKE_UPS : []),
    ...['--settings', settings],
    ...(session === null ? [] : ['--resume', session]),
    ...clientOptions(options),
    ...own,
  ];
}

/** The effect of a client's option on a loop. */
type Harm = 'place' | 'session' | 'print' | 'output' | 'hooks' | 'settings' | 'sources' | 'ends';

interface ClientOption {
  readonly names: readonly string[];
  /** Number of following words that are its values; `many`: all words up to the next option. */
  readonly values: 0 | 1 | 'optional' | 'many';
  readonly harm: Harm | null;
}

/**
 * Options of Claude Code 2.1.213 to 2.1.332 (its help and documentation), one kind per line: effect on a loop, number of values,
 * names. An option that is not listed goes to the client, which refuses what it does not know.
 */
const OPTIONS: readonly ClientOption[] = `
place optional: -w,--worktree --tmux --cloud --remote --environment --desktop
place 0: --bg,--background
session optional: -r,--resume --from-pr --teleport
session 1: --session-id --resume-session-at --resume-drops-turn --rewind-files --parent-session-id --sdk-url --prefill
session 0: -c,--continue --fork-session --reply-on-resume --no-session-persistence
print 1: --input-format
print 0: -p,--print --replay-user-messages
output 1: --output-format --json-schema
output 0: --verbose --include-partial-messages --include-hook-events --forward-subagent-text
hooks 0: --bare --safe-mode
settings 1: --settings --managed-settings
sources 1: --setting-sources
ends 0: -h,--help -v,--version --init-only
- 1: --agent --agents --append-system-prompt --append-system-prompt-file --append-subagent-system-prompt --autocompact --advisor
- 1: --debug-file --effort --fallback-model --max-budget-usd --max-thinking-tokens --max-turns --model -n,--name --permission-mode
- 1: --permission-prompt-tool --permission-prompts --plugin-dir --plugin-dir-no-mcp --plugin-url --remote-control-session-name-prefix
- 1: --system-prompt --system-prompt-file --system-prompt-snapshot --task-budget --teammate-mode --thinking --thinking-display
- many: --add-dir --allowedTools,--allowed-tools --betas --channels --disallowedTools,--disallowed-tools --file --mcp-config --tools
- 0: --allow-dangerously-skip-permissions --ax-screen-reader --brief --chrome --no-chrome --dangerously-skip-permissions
- 0: --disable-slash-commands --exclude-dynamic-system-prompt-sections --ide --init --maintenance --restricted --strict-mcp-config`
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [, harm = '-', values = '0', options = ''] = /^(\S+) (\S+): (.*)$/.exec(line) ?? [];
    return options.split(' ').map((names) => ({
      names: names.split(','),
      values: (values === '0' || values === '1' ? Number(values) : values) as ClientOption['values'],
      harm: harm === '-' ? null : (harm as Harm),
    }));
  });

const BY_NAME = new Map(OPTIONS.flatMap((option) => option.names.map((name) => [name, option] as const)));

/**
 * Throws RalphError `usage` for the first word after `--` that the loop's client must not get. Only `run` reads the client's
 * output; a session's output is the user's.
 */
export function requireClientArgs(words: readonly string[], command: 'run' | 'start'): void {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-') || word === '-' || word === '--') throw promptRefused(word, 'Claude Code');
    const named = word.startsWith('--') ? [word.replace(/=.*$/s, '')] : lettersOf(word);
    for (const name of named) {
      const option = BY_NAME.get(name);
      const isHarmless = !option?.harm || (option.harm === 'output' && command === 'start');
      if (!isHarmless) throw new RalphError('usage', REFUSALS[option.harm](name));
    }
    const isAttached = word.startsWith('--') ? word.includes('=') : word.length > named.length + 1;
    if (!isAttached) at += valuesAfter(words, at, BY_NAME.get(named.at(-1) ?? ''));
  }
}

/** Returns the options of a word such as `-pc`, up to the one that takes the rest of the word as its value. */
function lettersOf(word: string): string[] {
  const letters = [...word.slice(1)].map((letter) => `-${letter}`);
  const last = letters.findIndex((name) => BY_NAME.get(name)?.values !== 0);
  return last === -1 ? letters : letters.slice(0, last + 1);
}

/** Returns the number of words after an option that are its values. An unknown option may have one. */
function valuesAfter(words: readonly string[], at: number, option: ClientOption | undefined): number {
  const following = words.slice(at + 1).findIndex((word) => word.startsWith('-'));
  const free = following === -1 ? words.length - at - 1 : following;
  switch (option?.values) {
    case 0:
      return 0;
    // A value may begin with a dash.
    case 1:
      return 1;
    case 'many':
      return free;
    default:
      return Math.min(1, free);
  }
}

const REFUSALS: Readonly<Record<Harm, (option: string) => Message>> = {
  place: (option) =>
    advise(
      `-- ${option}: the agent would work where the loop does not look.`,
      "Use ralph-loop's own worktree",
      'run TASK --worktree',
    ),
  session: (option) =>
    advise(`-- ${option}: the loop chooses the sessions of Claude Code.`, 'Continue a loop where it stands', 'resume'),
  print: (option) =>
    advise(
      `-- ${option}: ralph-loop itself decides how Claude Code gets its prompt.`,
      'Launch it without a terminal',
      'start --launch --headless',
    ),
  output: (option) =>
    advise(
      `-- ${option}: ralph-loop reads what Claude Code prints and prints its own.`,
      'Get all events as JSON',
      'run TASK --json',
    ),
  hooks: (option) => ({
    text: `-- ${option}: Claude Code would run without hooks, so the loop could neither guard nor continue. Leave it out.`,
  }),
  settings: (option) => ({
    text: `-- ${option}: it would replace the settings with the loop's hooks. Write yours into .claude/settings.local.json.`,
  }),
  sources: (option) =>
    advise(
      `-- ${option}: the loop chooses the settings that Claude Code reads.`,
      "Read the user's as well",
      'run TASK --set isolation=client',
    ),
  ends: (option) => ({
    text: `-- ${option}: Claude Code would print and exit, and no agent would work. Leave it out.`,
  }),
};
