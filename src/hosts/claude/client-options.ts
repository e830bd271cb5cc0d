import type { AgentTerms, PreparedAgent, SessionTerms } from '../host.ts';

type ClientSettings = Pick<AgentTerms, 'permissionMode' | 'model' | 'effort'>;

/** Returns the client's options for settings of the loop. */
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

/** Returns what Claude Code is started with for the iterations of a runner. */
export function prepareClaude({ settings, checks, mayRun, isolation, own, ...options }: AgentTerms): PreparedAgent {
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
export function claudeSession({
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
