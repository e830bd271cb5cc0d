import type { StartAgent } from '../../claude/agent/agent-run.ts';
import { startAgent } from '../../claude/agent/start-claude.ts';
import { startCommandAgent } from '../../claude/agent/start-command-agent.ts';
import type { FoundClient } from '../../claude/find-client.ts';
import type { StartedLoop } from '../../drive/start/start-loop.ts';
import { bundleDir } from '../../install/places.ts';
import { type AgentSettings, agentSettings } from '../../install/settings/session-settings.ts';
import { findShell } from '../../task/commands/shell.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { modeIn } from '../start/start-request.ts';

export interface RunnersAgent {
  readonly startAgent: StartAgent;
  /** What the agent's environment has beside the user's. */
  readonly agentEnv: Readonly<Record<string, string>>;
}

/** What works on the iterations of a loop that has been started: its command, or the client. */
export function runnersAgent(
  { env, rest }: Pick<CommandContext, 'env' | 'rest'>,
  { loopId, files, stored, settings }: StartedLoop,
  client: () => FoundClient,
): RunnersAgent {
  const own = agentSettings({ loopId, name: files.name, node: process.execPath, bundleDir: bundleDir() });
  const command = stored.contract.agent;
  if (command !== undefined) return commandAgent(command, own, env);
  return { startAgent: clientAgent(own, settings, client().path, rest), agentEnv: own.env };
}

/** The user's own text for the shell, and nothing else: the prompt goes to its input. */
function commandAgent(command: string, own: AgentSettings, env: NodeJS.ProcessEnv): RunnersAgent {
  const shell = findShell(env);
  if (shell === null) throw new RalphError('usage', '--agent needs a shell, and no bash and no POSIX sh is in PATH.');
  const { program } = shell;
  return {
    startAgent: (_, options) => startCommandAgent({ ...options, program, args: shell.arguments(command) }),
    // A Claude Code within the command is none of this loop's: our hooks are to let it alone.
    agentEnv: { ...own.env, RALPH_ACTIVE: '0' },
  };
}

function clientAgent(
  own: AgentSettings,
  { permissionMode, model, effort, isolation }: StartedLoop['settings'],
  program: string,
  rest: readonly string[],
): StartAgent {
  const args = [
    ...['--settings', JSON.stringify(own)],
    // The user's own hooks and servers neither slow nor alter a loop; those of the project are part of it.
    ...(isolation === 'project' ? ['--setting-sources', 'project,local'] : []),
    ...(modeIn(rest) === null && permissionMode !== null ? ['--permission-mode', permissionMode] : []),
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null ? [] : ['--effort', effort]),
    ...rest,
  ];
  return (sessionId, options) => startAgent({ ...options, program, args: [...args, '--session-id', sessionId] });
}
