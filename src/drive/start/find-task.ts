import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { LoopState } from '../../engine/schema/state.ts';
import { hasRules } from '../../guard/guard.ts';
import { hostNamed, hostOf, refuseUnsupported } from '../../hosts/hosts.ts';
import { readRegularFile, regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { type LoopFiles, loopFiles, readState } from '../../state/loop-files.ts';
import { lastArchived } from '../../state/with-state.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { costProblem } from '../../task/frontmatter/key-problems.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { readYaml } from '../../task/frontmatter/read-yaml.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { projectPath } from '../../task/project-file.ts';
import {
  type ConfigSource,
  type ResolvedPolicy,
  resolvePolicy,
  type SettingSources,
} from '../../task/settings/resolve-policy.ts';
import {
  CHECKLIST_FILE,
  configFiles,
  DEFAULT_TASK,
  loopDirectory,
  PROJECT_CONFIG,
  RALPH_FILE,
  RUN_CONFIG,
  taskFileIn,
} from '../../task/task-file.ts';
import { digest } from '../../text/digest.ts';
import { RalphError } from '../../text/message.ts';
import { AGENT_TEXTS, LAUNCH_TEXTS, START_TEXTS } from '../turn/messages.ts';
import type { ContractRequest, Resolved } from './stages.ts';

/** Task file with its checked frontmatter, read once. */
interface FoundTask {
  readonly taskPath: string;
  /** Everything before the body. */
  readonly head: string;
  readonly frontmatter: string;
  readonly body: string;
  readonly checked: ReturnType<typeof checkTaskFile>;
}

/** Finds, reads and checks the task file. Throws RalphError `task-missing` or `task-invalid`. */
export function findTask(projectDir: string, task: string | null, isPlan: boolean): FoundTask {
  const taskPath = taskPathOf(projectDir, task);
  const text = readTaskText(projectDir, taskPath);
  const { frontmatter, body } = splitFrontmatter(text);
  const checked = checkTaskFile(taskPath, text, isPlan ? 'plan' : undefined);
  refuseErrors(checked.problems, taskPath);
  return { taskPath, head: text.slice(0, text.length - body.length), frontmatter, body, checked };
}

/** Identifies the settings of a project's task file by what its frontmatter says; null if there is no file. */
export function markOfSettings(projectDir: string, taskPath: string): string | null {
  const text = readRegularFile(join(projectDir, taskPath));
  return text === null ? null : settingsMark(splitFrontmatter(text).frontmatter);
}

/** Identifies the settings of a task file by what its frontmatter says, however an editor formats it. */
export function settingsMark(frontmatter: string): string {
  const { value, problems } = readYaml(frontmatter);
  return sha256(problems.length === 0 ? JSON.stringify(value ?? null) : frontmatter.replaceAll('\r\n', '\n'));
}

/** Returns the task file that `task` names, relative to the project, links resolved. Throws `task-missing`. */
export function taskPathOf(projectDir: string, task: string | null): string {
  const named = resolve(projectDir, task ?? DEFAULT_TASK);
  const isFolder = kindOf(named) === 'folder';
  const absolute = isFolder ? join(named, taskFileOf(projectDir, named)) : named;
  const file = basename(absolute);
  const taskPath =
    file === RALPH_FILE || file === CHECKLIST_FILE
      ? projectPath(real(projectDir), real(dirname(absolute)), file)
      : // One of the two may have been named through a symbolic link.
        (projectPath(projectDir, projectDir, absolute) ?? projectPath(real(projectDir), '/', real(absolute)));
  if (taskPath === null) throw new RalphError('task-missing', START_TEXTS.taskOutside(absolute, projectDir));
  return taskPath;
}

function taskFileOf(projectDir: string, folder: string): string {
  const file = taskFileIn(folder) ?? RALPH_FILE;
  const shown = relative(projectDir, folder) || '.';
  const kind = kindOf(join(folder, file));
  if (kind === null) throw new RalphError('task-missing', START_TEXTS.noTaskFile(shown));
  if (kind === 'folder')
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(join(shown, file), 'it is a folder'));
  return file;
}

function real(path: string): string {
  return kindOf(path) === null ? path : realpathSync(path);
}

function kindOf(path: string): 'folder' | 'file' | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    return found.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(path, `${code}`), error);
  }
}

/** Reads a task file of the project. Throws RalphError `task-missing`. */
export function readTaskFile(projectDir: string, taskPath: string): Buffer {
  try {
    return readFileSync(regularFile(join(projectDir, taskPath), TASK_FILE_BYTES));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(taskPath, code ?? 'not a regular file'), error);
  }
}

function readTaskText(projectDir: string, taskPath: string): string {
  const text = readTaskFile(projectDir, taskPath).toString('utf8');
  if (text.trim() === '') throw new RalphError('task-missing', START_TEXTS.taskEmpty(taskPath));
  return text;
}

/** Throws RalphError `task-invalid` with every error among the problems. */
function refuseErrors(problems: readonly Problem[], taskPath: string): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const list = errors.map(({ line, message }) => `  ${line !== null && line > 0 ? `line ${line}: ` : ''}${message}`);
  throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, list.join('\n')));
}

/** Maximum length of a base name, which leaves room for a digest: a loop's name has at most 64 characters. */
const MAX_BASE = 50;

/** Returns the name of a task folder's loop: the folder's, with a digest of its path if that name is taken. */
export function taskLoopName(projectDir: string, taskPath: string, env: NodeJS.ProcessEnv): string {
  const mark = digest(taskPath).slice(0, 8);
  const base = fitName(basename(dirname(join(projectDir, taskPath))));
  const marked = base === '' ? `task-${mark}` : `${base}-${mark}`;
  const taskOf = (name: string): string | null => lastTaskOf(loopFiles(projectDir, name, env));
  if (base === '' || taskOf(marked) === taskPath) return marked;
  return [null, taskPath].includes(taskOf(base)) ? base : marked;
}

/** Returns the task of the loop in these files, or of the last archived one; null if there was none. */
export function lastTaskOf(files: LoopFiles): string | null {
  return readState(files.state).kind === 'four-keys' ? DEFAULT_TASK : (lastLoopIn(files)?.taskPath ?? null);
}

export function lastLoopIn(files: LoopFiles): LoopState | null {
  const current = readState(files.state);
  return current.kind === 'loop' ? current.state : (lastArchived(files)?.state ?? null);
}

/** Returns the characters of a folder's name that LOOP_NAME allows. */
export function fitName(folder: string): string {
  return folder
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-zA-Z0-9._-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, MAX_BASE)
    .replace(/[^a-zA-Z0-9]+$/, '');
}

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

/** Returns what works on the iterations: a command, a host that is named, or (neither) the reference host. */
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

/** Resolves the settings of a task from all of their sources. Throws as `readConfigs`. */
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
