import type { StartedLoop } from '../../drive/start/stages.ts';
import type { StartAgent } from '../../hosts/agent/agent-run.ts';
import { startCommandAgent } from '../../hosts/agent/start-command-agent.ts';
import { type clientFinder, hostOf } from '../../hosts/hosts.ts';
import { bundleDir } from '../../install/project-files.ts';
import { type AgentSettings, agentSettings, userRestrictions } from '../../install/settings/session-settings.ts';
import { outsideRoot } from '../../state/loop-files.ts';
import { checkCommands } from '../../state/tdd-store.ts';
import { findShell } from '../../task/commands/run-command.ts';
import { RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';
import { withSandbox } from '../start/sandbox-settings.ts';
import { modeIn } from '../start/start-request.ts';

interface RunnerAgent {
  readonly startAgent: StartAgent;
  /** Variables added to the user's environment for the agent. */
  readonly agentEnv: Readonly<Record<string, string>>;
}

/** Returns the agent for the iterations of a started loop: its command, or the client with the options of its hooks. */
export function runnerAgent(
  { env, rest }: Pick<CommandContext, 'env' | 'rest'>,
  started: StartedLoop,
  client: ReturnType<typeof clientFinder>,
  hooks: readonly string[],
): RunnerAgent {
  const { loopId, files, stored, settings } = started;
  const own = agentSettings({
    loopId,
    name: files.name,
    node: process.execPath,
    outsideRoot: outsideRoot(env),
    bundleDir: bundleDir(),
    marks: stored.contract.guardrails?.privateFiles?.length === 0 ? files : null,
  });
  const { agent: command, host } = stored.contract;
  if (command !== undefined) return commandAgent(command, own, env);
  const { name, iterations } = hostOf(host);
  if (iterations === null) throw new Error(`${name} works in sessions only, which the start refuses`);
  const { env: agentEnv, ...prepared } = iterations.prepare({
    ...settings,
    permissionMode: modeIn(rest) === null ? settings.permissionMode : null,
    projectDir: files.projectDir,
    settings: withSandbox(withUserRules(own, settings, env), started, env),
    checks: checkCommands(files, stored.contract),
    mayRun: stored.contract.mayRun ?? [],
    hooks,
    own: rest,
  });
  const { path: program } = client(host);
  return { startAgent: (id, options) => iterations.start(id, { ...options, ...prepared, program }), agentEnv };
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

/** Keeps the prohibitions in the user's settings for an agent that does not load them: isolation removes no limits. */
function withUserRules(
  own: AgentSettings,
  { isolation }: StartedLoop['settings'],
  env: NodeJS.ProcessEnv,
): AgentSettings {
  const permissions = isolation === 'project' ? userRestrictions(env) : undefined;
  return permissions === undefined ? own : { ...own, permissions };
}
