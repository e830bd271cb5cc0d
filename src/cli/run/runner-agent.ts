import { allowedChecks, clientOptions, NO_WAKE_UPS } from '../../drive/start/launch/allowed-tools.ts';
import type { StartedLoop } from '../../drive/start/stages.ts';
import type { StartAgent } from '../../hosts/claude/agent/agent-run.ts';
import { startCommandAgent } from '../../hosts/claude/agent/start-command-agent.ts';
import { hookOptions, trustOptions } from '../../hosts/codex/hooks.ts';
import { runOptions } from '../../hosts/codex/run-options.ts';
import type { HostName } from '../../hosts/host.ts';
import { type clientFinder, hostOf } from '../../hosts/hosts.ts';
import { bundleDir } from '../../install/places.ts';
import { hookPath } from '../../install/settings/registration.ts';
import { type AgentSettings, agentSettings, userRestrictions } from '../../install/settings/session-settings.ts';
import { outsideRoot } from '../../state/loop-files.ts';
import { findShell } from '../../task/commands/shell.ts';
import { RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';
import { withSandbox } from '../start/sandbox-settings.ts';
import { modeIn } from '../start/start-request.ts';

interface RunnerAgent {
  readonly startAgent: StartAgent;
  /** Variables added to the user's environment for the agent. */
  readonly agentEnv: Readonly<Record<string, string>>;
}

type Client = ReturnType<typeof clientFinder>;

/**
 * Returns the client's options with which a host that trusts hooks one by one runs ours; none for any other. Throws RalphError
 * `refused` if it would not run them.
 */
export async function hostHooks(
  { env, projectDir }: Pick<CommandContext, 'env' | 'projectDir'>,
  host: HostName | undefined,
  client: Client,
): Promise<readonly string[]> {
  if (host !== 'codex') return [];
  const hooks = hookOptions({ node: process.execPath, hookPath: (file) => hookPath(bundleDir(), file) });
  return [...hooks, ...(await trustOptions(client(host).path, hooks, { cwd: projectDir, env }))];
}

/** Returns the agent for the iterations of a started loop: its command, or the client with the `passed` options. */
export function runnerAgent(
  { env, rest }: Pick<CommandContext, 'env' | 'rest'>,
  started: StartedLoop,
  client: Client,
  passed: readonly string[],
): RunnerAgent {
  const { loopId, files, stored, settings } = started;
  const own = agentSettings({
    loopId,
    name: files.name,
    node: process.execPath,
    outsideRoot: outsideRoot(env),
    bundleDir: bundleDir(),
  });
  const command = stored.contract.agent;
  if (command !== undefined) return commandAgent(command, own, env);
  const { host } = stored.contract;
  const { path: program } = client(host);
  const { start } = hostOf(host);
  if (host === 'codex') {
    const args = runOptions(settings, passed, rest);
    return {
      startAgent: (_, options) => start({ ...options, program, args }),
      // Its hooks find the project by it: their working directory is that of the call.
      agentEnv: { ...own.env, CLAUDE_PROJECT_DIR: files.projectDir },
    };
  }
  const given = withSandbox(withUserRules(own, settings, env), started, env);
  const { permissions } = given;
  const args = [...allowedChecks(files, stored.contract), ...clientArgs(given, settings, rest)];
  return {
    startAgent: (sessionId, options) =>
      start({ ...options, program, permissions, args: [...args, '--session-id', sessionId] }),
    agentEnv: own.env,
  };
}

/** Runs the user's command in a shell and passes the prompt on standard input. */
function commandAgent(command: string, own: AgentSettings, env: NodeJS.ProcessEnv): RunnerAgent {
  const shell = findShell(env);
  if (shell === null)
    throw new RalphError('usage', '--agent needs a shell, but neither bash nor a POSIX sh is on the PATH.');
  const { program } = shell;
  return {
    startAgent: (_, options) => startCommandAgent({ ...options, program, args: shell.arguments(command) }),
    // The hooks ignore any Claude Code that the command starts.
    agentEnv: { ...own.env, RALPH_ACTIVE: '0' },
  };
}

/** Keeps the prohibitions of the user's settings for an agent that does not load these: isolation removes no limits. */
function withUserRules(
  own: AgentSettings,
  { isolation }: StartedLoop['settings'],
  env: NodeJS.ProcessEnv,
): AgentSettings {
  const permissions = isolation === 'project' ? userRestrictions(env) : undefined;
  return permissions === undefined ? own : { ...own, permissions };
}

function clientArgs(
  own: AgentSettings,
  { isolation, permissionMode, ...settings }: StartedLoop['settings'],
  rest: readonly string[],
): string[] {
  return [
    ...NO_WAKE_UPS,
    ...['--settings', JSON.stringify(own)],
    // Leaves out the user's hooks and servers; those of the project are part of the loop.
    ...(isolation === 'project' ? ['--setting-sources', 'project,local'] : []),
    ...clientOptions({ ...settings, permissionMode: modeIn(rest) === null ? permissionMode : null }),
    ...rest,
  ];
}
