import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { LoopState } from '../../engine/schema/state.ts';
import { hasRules } from '../../guard/guard.ts';
import type { HostName, Wanted } from '../../hosts/host.ts';
import { hostNamed, hostOf, refuseUnsupported } from '../../hosts/hosts.ts';
import { regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { costProblem } from '../../task/frontmatter/key-problems.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import type { StartPoint } from '../../task/git/start-point.ts';
import type { GitPins } from '../../task/git/view-record.ts';
import type { ContractTerms } from '../../task/settings/build-contract.ts';
import type { ConfigSource, SettingSources } from '../../task/settings/layers.ts';
import { type ResolvedPolicy, resolvePolicy } from '../../task/settings/resolve.ts';
import { configFiles, loopDirectory, PROJECT_CONFIG, RUN_CONFIG } from '../../task/task-file.ts';
import type { ChecklistItem } from '../../text/markdown/checklist.ts';
import { RalphError } from '../../text/message.ts';
import type { Person } from '../control/operate.ts';
import { AGENT_TEXTS, LAUNCH_TEXTS, START_TEXTS } from '../turn/messages.ts';
import type { ConsentTerms } from './consent-terms.ts';
import { type FoundTask, refuseErrors } from './find-task.ts';

export interface ContractRequest {
  readonly projectDir: string;
  readonly name: string | null;
  /** A task file or a task folder, absolute or relative to the project; null is PROMPT.md. */
  readonly task: string | null;
  /** Values of the task's arguments, by name. Default: none. */
  readonly args?: Readonly<Record<string, string>>;
  /** Former values, used for declared arguments that `args` lacks. */
  readonly formerArgs?: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, string | number | boolean>>;
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
  /** The user has agreed to the loop; false if an agent requests it. */
  readonly consented: boolean;
  readonly headless: boolean;
  /** A launcher starts the client, with our status line and a known permission mode. */
  readonly launched: boolean;
  /** Version of the client. A function is called with the host, and not for a command; its errors are thrown. */
  readonly clientVersion: string | null | ((host: HostName | undefined) => string | null);
  readonly bundleDir: string | null;
  readonly clientArgs?: readonly string[];
  /**
   * The task is a plan; `from` is the id of the task to begin with, `only` that of the only one to work on, `commitForm` the
   * form of the repository's commit messages.
   */
  readonly plan?: {
    readonly from: string | null;
    readonly only?: string | undefined;
    readonly commitForm?: string;
  } | null;
  /** Driver of the loop. Default: the Stop hook. */
  readonly mode?: LoopState['mode'];
  /** Terms that apply regardless of the current task file and settings. */
  readonly fixed?: PreparedContract | undefined;
}

export interface StartRequest extends ContractRequest {
  /** Treatment of an existing state: resume it, archive it (fresh), or refuse. */
  readonly existing: 'resume' | 'fresh' | 'refuse';
  /** Works test-first on the existing list. A resumed TDD loop does so by default. */
  readonly tdd?: boolean;
  /** State of the repository before the start; null if unknown. */
  readonly startPoint?: StartPoint | null;
  /** Git settings of the project at the start; for a loop that is resumed. */
  readonly gitPins?: GitPins | null;
  /** A person at a terminal takes the present state as a new start if evidence of the resumed loop is lost. */
  readonly takesNewStart?: boolean;
  /** Terms that a person was shown and approved; nothing else is started. */
  readonly approved?: Approval;
}

/** Terms that a person approved. */
export interface Approval {
  readonly terms: ConsentTerms;
  readonly by: Person;
}

/** Settings that only Claude Code honours. */
export const CLIENT_KEYS = ['permission_mode', 'model', 'effort', 'isolation'];

export type Resolved = Extract<ResolvedPolicy, { ok: true }>;

export interface PreparedContract {
  readonly resolved: Resolved;
  readonly terms: Omit<ContractTerms, 'loopId'>;
  readonly warnings: readonly Problem[];
  /** Items of a checklist as they are now; null for another task. */
  readonly checklist: readonly ChecklistItem[] | null;
}

/** Resolves all settings and checks that the loop's agent supports them. Throws RalphError with every problem. */
export function readSettings(request: ContractRequest, { taskPath, checked }: FoundTask): Resolved {
  const { projectDir, env, flags } = request;
  const driven = request.mode === 'runner';
  const resolved = resolvePolicy({
    kind: checked.kind,
    flags,
    env,
    frontmatter: checked.frontmatter,
    ...readConfigs(projectDir, taskPath, env, driven || checked.kind === 'checklist'),
  });
  refuseErrors(resolved.problems, taskPath);
  if (!resolved.ok) throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, ''));
  const { agent, host } = agentOf(request, resolved);
  if (agent !== null) refuseForCommand(agent, resolved, request);
  else refuseUnsupported(hostOf(host), wantedOf(resolved));
  if (agent === null && request.launched && request.headless && resolved.settings.permissionMode === null) {
    throw new RalphError('mode-missing', LAUNCH_TEXTS.needsMode);
  }
  // The client reports its cost to the runner, and to a status line, which it runs only in a terminal.
  const cost = costProblem(
    resolved.policy.budget,
    request.mode === 'runner' || (request.launched && !request.headless),
  );
  if (cost !== null) throw new RalphError('task-invalid', cost);
  return resolved;
}

/** Returns what works on the iterations: a command, a host that is named, or (neither) the reference host. */
export function agentOf(
  { mode }: Pick<ContractRequest, 'mode'>,
  { settings: { agent } }: Resolved,
): { readonly agent: string | null; readonly host?: NonNullable<ReturnType<typeof hostNamed>> } {
  const host = mode === 'runner' ? hostNamed(agent) : null;
  if (host !== null) return { agent: null, host };
  return { agent: mode === 'runner' ? agent : null };
}

function wantedOf({ policy: { budget }, settings: { sandbox } }: Resolved): Wanted {
  return { maxCostUsd: budget.maxCostUsd, stopsAtWindow: budget.stopAt !== undefined, sandbox: sandbox.mode };
}

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

/** Reads the configuration files of a task; `runs` includes `.ralph/config.json`. Throws RalphError `task-invalid`. */
export function readConfigs(
  projectDir: string,
  taskPath: string,
  env: NodeJS.ProcessEnv,
  runs: boolean,
): Pick<SettingSources, 'loopConfig' | 'runConfig' | 'projectConfig' | 'userConfig' | 'paths'> {
  const own = loopDirectory(projectDir, taskPath)?.config ?? null;
  const files = configFiles(projectDir, env);
  const user = files['user config'];
  const paths: Record<ConfigSource, string> = {
    'loop config': own === null ? '' : relative(projectDir, own),
    'run config': RUN_CONFIG,
    'project config': PROJECT_CONFIG,
    'user config': user,
  };
  return {
    loopConfig: own === null ? undefined : readJson(own, paths['loop config']),
    runConfig: runs ? readJson(files['run config'], RUN_CONFIG) : undefined,
    projectConfig: readJson(files['project config'], PROJECT_CONFIG),
    userConfig: readJson(user, user),
    paths,
  };
}

function readJson(path: string, shown: string): unknown {
  if (!existsSync(path)) return undefined;
  try {
    const text = readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
    // The client's sandbox shows an empty file while a command runs.
    return text === '' ? undefined : JSON.parse(text);
  } catch (error) {
    throw new RalphError('task-invalid', START_TEXTS.badConfig(shown, (error as Error).message), error);
  }
}
