import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { hasRules } from '../../guard/guard.ts';
import { hostNamed, hostOf, refuseUnsupported } from '../../hosts/hosts.ts';
import { regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { costProblem } from '../../task/frontmatter/key-problems.ts';
import type { ConfigSource, ResolvedPolicy, SettingSources } from '../../task/settings/resolve-policy.ts';
import { resolvePolicy } from '../../task/settings/resolve-policy.ts';
import { configFiles, loopDirectory, PROJECT_CONFIG, RUN_CONFIG } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { AGENT_TEXTS, LAUNCH_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { type FoundTask, refuseErrors } from './find-task.ts';
import type { ContractRequest, Resolved } from './stages.ts';

/** Settings that only Claude Code honours. */
export const CLIENT_KEYS = ['permission_mode', 'model', 'effort', 'isolation'];

/** Resolves all settings and checks that the loop's agent supports them. Throws RalphError with every problem. */
export function readSettings(request: ContractRequest, { taskPath, checked }: FoundTask): Resolved {
  const { projectDir, env, flags } = request;
  const { kind, frontmatter } = checked;
  const driven = request.mode === 'runner';
  const resolved = settingsOf(projectDir, taskPath, driven || kind === 'checklist', { kind, flags, env, frontmatter });
  refuseErrors(resolved.problems, taskPath);
  if (!resolved.ok) throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, ''));
  const { agent, host } = agentOf(request, resolved);
  if (agent !== null) refuseForCommand(agent, resolved, request);
  else refuseUnsupported(hostOf(host), { ...wantedOf(resolved), iterations: driven, tdd: provesAlone(request) });
  if (agent === null && request.launched && request.headless && resolved.settings.permissionMode === null) {
    const doubt = checked.problems.find(({ rule }) => rule === 'plan-as-prompt' || rule === 'boxes-not-counted');
    const besides = doubt === undefined ? '' : ` Besides, ${doubt.message}`;
    throw new RalphError('mode-missing', `${LAUNCH_TEXTS.needsMode}${besides}`);
  }
  // The client reports its cost to the runner, and to a status line, which it runs only in a terminal.
  const cost = costProblem(resolved.policy.budget, driven || (request.launched === true && request.headless !== true));
  if (cost !== null) throw new RalphError('task-invalid', cost);
  return resolved;
}

/** Returns what works on the iterations: a command, a named host, or (neither) the reference host. */
export function agentOf(
  { mode, host: named }: Pick<ContractRequest, 'mode' | 'host'>,
  { settings: { agent } }: Resolved,
): { readonly agent: string | null; readonly host?: string } {
  const host = mode === 'runner' ? hostNamed(agent) : named;
  if (host) return { agent: null, host };
  return { agent: mode === 'runner' ? agent : null };
}

function wantedOf({ policy: { budget }, settings: { sandbox, permissionMode } }: Resolved) {
  const { maxCostUsd, stopAt } = budget;
  return { maxCostUsd, stopsAtWindow: stopAt !== undefined, sandbox: sandbox.mode, permissionMode };
}

const provesAlone = ({ tdd, mode, headless }: ContractRequest): boolean =>
  tdd === true && (mode === 'runner' || headless === true);

/** Throws RalphError for settings that cannot be enforced on an agent command. */
function refuseForCommand(
  agent: string,
  { settings, policy, sources }: Resolved,
  { clientArgs = [] }: ContractRequest,
): void {
  if (hasRules(settings.guardrails)) throw new RalphError('task-invalid', AGENT_TEXTS.noGuardrails(agent));
  if (policy.budget.maxCostUsd !== null) throw new RalphError('task-invalid', AGENT_TEXTS.untold('budget.max_cost'));
  if (policy.budget.maxTokens !== null) throw new RalphError('task-invalid', AGENT_TEXTS.untold('budget.max_tokens'));
  const idle = CLIENT_KEYS.filter((key) => sources[key] === 'flag');
  if (idle.length > 0) throw new RalphError('usage', AGENT_TEXTS.clientsAlone(idle));
  if (clientArgs.length > 0) throw new RalphError('usage', AGENT_TEXTS.clientsOptions(clientArgs));
}

/** Resolves the settings of a task from all their sources. Throws like `readConfigs`. */
export function settingsOf(
  projectDir: string,
  taskPath: string,
  runs: boolean,
  given: Pick<SettingSources, 'kind' | 'flags' | 'frontmatter'> & Pick<ContractRequest, 'env'>,
): ResolvedPolicy {
  return resolvePolicy({ ...given, ...readConfigs(projectDir, taskPath, given.env, runs) });
}

/** Reads the configuration files of a task; `runs` includes `.ralph/config.json`. Throws RalphError `task-invalid`. */
export function readConfigs(
  projectDir: string,
  taskPath: string,
  env: NodeJS.ProcessEnv,
  runs: boolean,
): Pick<SettingSources, 'configs' | 'paths'> {
  const own = loopDirectory(projectDir, taskPath)?.config ?? null;
  const files = configFiles(projectDir, env);
  const user = files['user config'];
  const paths: Record<ConfigSource, string> = {
    'loop config': own === null ? '' : relative(projectDir, own),
    'run config': RUN_CONFIG,
    'project config': PROJECT_CONFIG,
    'user config': user,
  };
  const configs = {
    'loop config': own === null ? undefined : readJson(own, paths['loop config']),
    'run config': runs ? readJson(files['run config'], RUN_CONFIG) : undefined,
    'project config': readJson(files['project config'], PROJECT_CONFIG),
    'user config': readJson(user, user),
  };
  return { configs, paths };
}

const NO_ENTRY = { throwIfNoEntry: false };

/** Reads a configuration file; undefined if there is none. Throws RalphError `task-invalid`. */
function readJson(path: string, shown: string): unknown {
  try {
    // A link that leads nowhere, as to a disk that is not mounted, does not mean that the user has no rules.
    const folder = dirname(path);
    const isLost = lstatSync(folder, NO_ENTRY)?.isSymbolicLink() === true && !existsSync(folder);
    if (lstatSync(path, NO_ENTRY) === undefined && !isLost) return undefined;
    const text = readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
    // The client's sandbox shows an empty file while a command runs.
    return text === '' ? undefined : JSON.parse(text);
  } catch (error) {
    throw new RalphError('task-invalid', START_TEXTS.badConfig(shown, error as Error), error);
  }
}
