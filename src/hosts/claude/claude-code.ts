import { atLeast } from '../../text/version.ts';
import type { AgentTerms, Host, PreparedAgent, SessionTerms } from '../host.ts';
import { startAgent } from './agent/start-claude.ts';
import { requireClientArgs } from './client-args.ts';
import { failOpenText, OLDEST_CLIENT, requireClient } from './find-client.ts';
import { apiFailure, lastApiError } from './transcript/api-failure.ts';

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
    'background work': 'awaited for `background_wait`',
  },
};

type ClientSettings = Pick<AgentTerms, 'permissionMode' | 'model' | 'effort'>;

function clientOptions(settings: ClientSettings): string[] {
  const { permissionMode, model, effort } = settings;
  const named = { '--permission-mode': permissionMode, '--model': model, '--effort': effort };
  return Object.entries(named).flatMap(([option, value]) => (value === null ? [] : [option, value]));
}

/** Takes away the tools whose wake-up would come after a client without a terminal has exited, with the end of its turn. */
const NO_WAKE_UPS: readonly string[] = ['--disallowedTools', 'ScheduleWakeup', 'CronCreate'];

/** Returns the client's options that allow the agent exactly these checks, and `mayRun` with any arguments. */
function allowedCommands(checks: readonly string[], mayRun: readonly string[] = []): string[] {
  const exact = checks.map((run) => allowRule('Bash', run));
  const begun = mayRun.map((run) => allowRule('Bash', run, ':*'));
  const rules = [...exact, ...begun].filter((rule) => rule !== null);
  return rules.length === 0 ? [] : ['--allowedTools', ...rules];
}

/**
 * Returns the client's rule for exactly this call, or for calls that begin so and end with anything (`:*`); null if the command
 * contains a star, which rules read as a wildcard.
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
