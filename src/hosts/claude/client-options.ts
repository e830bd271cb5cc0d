import type { AgentTerms, PreparedAgent } from '../host.ts';

export type ClientSettings = Pick<AgentTerms, 'permissionMode' | 'model' | 'effort'>;

/** Returns the client's options for settings of the loop. */
export function clientOptions(settings: ClientSettings): string[] {
  const { permissionMode, model, effort } = settings;
  const named = { '--permission-mode': permissionMode, '--model': model, '--effort': effort };
  return Object.entries(named).flatMap(([option, value]) => (value === null ? [] : [option, value]));
}

/** Takes away the tools whose wake-up would come after a client without a terminal has exited, with the end of its turn. */
export const NO_WAKE_UPS: readonly string[] = ['--disallowedTools', 'ScheduleWakeup', 'CronCreate'];

/** Returns the client's options that allow the agent exactly these checks. */
export function allowedChecks(checks: readonly string[]): string[] {
  const rules = checks.map((run) => allowRule('Bash', run)).filter((rule) => rule !== null);
  return rules.length === 0 ? [] : ['--allowedTools', ...rules];
}

/** Returns the client's rule for exactly this call; null if the command contains a star, which rules read as a wildcard. */
export function allowRule(tool: string, command: string): string | null {
  if (tool !== 'Bash') return tool;
  return command.includes('*') || command === '' ? null : `Bash(${command})`;
}

/** Returns what Claude Code is started with for the iterations of a runner. */
export function prepareClaude({ settings, checks, isolation, own, ...options }: AgentTerms): PreparedAgent {
  const args = [
    ...allowedChecks(checks),
    ...NO_WAKE_UPS,
    ...['--settings', JSON.stringify(settings)],
    // Leaves out the user's hooks and servers; those of the project are part of the loop.
    ...(isolation === 'project' ? ['--setting-sources', 'project,local'] : []),
    ...clientOptions(options),
    ...own,
  ];
  return { args, permissions: settings.permissions, env: settings.env };
}
