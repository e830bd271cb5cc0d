import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STOP_TIMEOUT_SECONDS } from '../../engine/schema/constants.ts';
import type { TaskTerms } from '../../engine/schema/contract.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { hasRules } from '../../guard/guard-rules.ts';
import { regularFile } from '../../state/files/read-regular-file.ts';
import { findShell } from '../../task/commands/shell.ts';
import { checkTaskFile } from '../../task/frontmatter/check-task-file.ts';
import { costProblem } from '../../task/frontmatter/key-problems.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import type { ValidationEntry } from '../../task/frontmatter/schema.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { withPlanRules } from '../../task/plan/plan-rules.ts';
import type { ContractTerms } from '../../task/settings/build-contract.ts';
import { normaliseValidation } from '../../task/settings/build-contract.ts';
import { type ResolvedPolicy, resolvePolicy } from '../../task/settings/resolve.ts';
import { argumentProblems, taskTerms } from '../../task/settings/task-settings.ts';
import { taskFolderName } from '../../task/task-file.ts';
import { type ChecklistCount, checklistItems, countChecklist } from '../../text/markdown/checklist.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { AGENT_TEXTS, LAUNCH_TEXTS, START_TEXTS } from '../turn/messages.ts';
import type { ConsentTerms } from './consent-terms.ts';
import { taskPathOf } from './find-task.ts';
import { readConfigs } from './read-settings.ts';

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
  /** The user has agreed to the loop; false if an agent asks for it. */
  readonly consented: boolean;
  readonly headless: boolean;
  /** A launcher starts the client, with our status line and a known permission mode. */
  readonly launched: boolean;
  /** A function is called only if the agent is Claude Code; its errors are thrown. */
  readonly clientVersion: string | null | (() => string | null);
  readonly bundleDir: string | null;
  readonly clientArgs?: readonly string[];
  /** The task is a plan; `from` is the id of the task to begin from. */
  readonly plan?: { readonly from: string | null } | null;
  /** Driver of the loop. Default: the Stop hook. */
  readonly mode?: LoopState['mode'];
}

export interface StartRequest extends ContractRequest {
  /** Treatment of an existing state: resume it, archive it (fresh), or refuse. */
  readonly existing: 'resume' | 'fresh' | 'refuse';
  /** Works test-first on the existing list. A resumed TDD loop does so by default. */
  readonly tdd?: boolean;
  /** Terms that the user was shown and approved; no others are started. */
  readonly approved?: ConsentTerms;
}

/** Settings that only Claude Code honours. */
export const CLIENT_KEYS = ['permission_mode', 'model', 'effort', 'isolation'];

type Resolved = Extract<ResolvedPolicy, { ok: true }>;

export interface PreparedContract {
  readonly resolved: Resolved;
  readonly terms: Omit<ContractTerms, 'loopId'>;
  readonly warnings: readonly Problem[];
  /** Progress of a checklist; null for other tasks. */
  readonly checklist: ChecklistCount | null;
}

/** Reads the task file and all settings once, and checks them. Throws RalphError with every problem. */
export function prepareContract(request: ContractRequest): PreparedContract {
  const { projectDir, env } = request;
  const taskPath = taskPathOf(projectDir, request.task);
  const text = readTaskText(join(projectDir, taskPath), taskPath);
  const { frontmatter, body } = splitFrontmatter(text);
  const checked = checkTaskFile(taskPath, text, request.plan ? 'plan' : undefined);
  refuse(checked.problems, taskPath);
  const driven = request.mode === 'runner';
  const resolved = resolvePolicy({
    kind: checked.kind,
    flags: request.flags,
    env,
    frontmatter: checked.frontmatter,
    ...readConfigs(projectDir, taskPath, env, driven || checked.kind === 'checklist'),
  });
  refuse(resolved.problems, taskPath);
  if (!resolved.ok) throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, ''));
  const agent = driven ? resolved.settings.agent : null;
  if (agent !== null) refuseForCommand(agent, resolved, request);
  if (agent === null && request.launched && request.headless && resolved.settings.permissionMode === null) {
    throw new RalphError('mode-missing', LAUNCH_TEXTS.needsMode);
  }
  const task = taskTermsOf(request, taskPath, resolved);
  const slow =
    (request.mode ?? 'hook') === 'hook' ? timeoutProblem(resolved.policy, resolved.settings.validation, task) : null;
  if (slow !== null) throw new RalphError('task-invalid', slow);
  // The client tells its cost to the runner, and to a status line, which it runs only in a terminal.
  const cost = costProblem(resolved.policy.budget, driven || (request.launched && !request.headless));
  if (cost !== null) throw new RalphError('task-invalid', cost);
  const warnings = [...checked.problems, ...resolved.problems, ...unheeded(driven, resolved)].filter(
    ({ severity }) => severity === 'warning',
  );
  return {
    resolved,
    warnings,
    checklist: checked.kind === 'checklist' ? countChecklist(checklistItems(body)) : null,
    terms: {
      name: request.name,
      projectDir,
      taskPath,
      task,
      // A command that is the agent can be held to nothing.
      guardrails:
        request.plan && agent === null ? withPlanRules(resolved.settings.guardrails) : resolved.settings.guardrails,
      createdAt: request.at,
      frontmatter,
      head: text.slice(0, text.length - body.length),
      policy: policyFor(request, resolved),
      ...(request.plan && { commitFooters: [...resolved.settings.commitFooters] }),
      validation: resolved.settings.validation,
      findingsLog: resolved.settings.findingsLog,
      ...notifyTerms(resolved),
      consented: request.consented,
      clientVersion: agent === null ? versionOf(request) : null,
      ...(agent === null ? { client: clientSettings(resolved) } : { agent }),
      headless: request.headless,
      flags: request.flags,
      bundleDir: request.bundleDir,
    },
  };
}

function notifyTerms({ settings }: Resolved): Pick<ContractTerms, 'notify'> {
  const { bell: _, ...notify } = settings.notify;
  return notify.command === null && notify.url === null ? {} : { notify };
}

function clientSettings({ settings }: Resolved): NonNullable<ContractTerms['client']> {
  const { permissionMode, model, effort, isolation } = settings;
  return { permissionMode, model, effort, isolation };
}

/** Adds the first task of a plan, which each start names: it is no setting. */
function policyFor({ plan }: ContractRequest, { policy }: Resolved): Policy {
  return policy.plan && plan ? { ...policy, plan: { ...policy.plan, from: plan.from } } : policy;
}

/** Refuses what cannot be enforced on an agent command. */
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

/** Warns that an agent command applies to a runner only. */
function unheeded(driven: boolean, { settings: { agent } }: Resolved): Problem[] {
  if (driven || agent === null) return [];
  const place = { path: 'agent', line: null, column: null, value: agent, rule: 'runner-only' };
  return [{ ...place, message: AGENT_TEXTS.forRunner(agent), severity: 'warning' }];
}

function versionOf({ clientVersion }: ContractRequest): string | null {
  return typeof clientVersion === 'function' ? clientVersion() : clientVersion;
}

function readTaskText(path: string, shown: string): string {
  let text: string;
  try {
    text = readFileSync(regularFile(path), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(shown, code ?? 'no regular file'), error);
  }
  if (text.trim() === '') throw new RalphError('task-missing', START_TEXTS.taskEmpty(shown));
  return text;
}

function refuse(problems: readonly Problem[], taskPath: string): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const list = errors.map(
    ({ line, path, message }) =>
      `  ${line !== null && line > 0 ? `line ${line}: ` : ''}${path !== '' && !message.includes(path) ? `${path}: ` : ''}${message}`,
  );
  throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, list.join('\n')));
}

/** Throws `usage` for arguments that the task does not take, or does not get. */
function taskTermsOf(
  { args: given = {}, formerArgs = {}, env, projectDir }: ContractRequest,
  taskPath: string,
  resolved: Resolved,
): TaskTerms | null {
  const { policy, settings } = resolved;
  if (settings.task === null) {
    const problems = argumentProblems([], given);
    if (problems.length === 0) return null;
    throw new RalphError('usage', problems.join('\n'));
  }
  const declared = settings.task.args;
  const former = Object.entries(formerArgs).filter(([name]) => declared.includes(name));
  const args = { ...Object.fromEntries(former), ...given };
  const problems = argumentProblems(declared, args);
  if (problems.length > 0) throw new RalphError('usage', problems.join('\n'));
  const values = { args, name: taskFolderName(projectDir, taskPath), maxIterations: policy.maxIterations };
  const terms = taskTerms(settings.task, values);
  // The values are quoted for a POSIX shell.
  const filled = terms.commands.some(({ run }, index) => run !== settings.task?.commands[index]?.run);
  const shell = filled ? findShell(env) : null;
  if (shell !== null && /(?:pwsh|powershell)\.exe$/i.test(shell.program)) {
    throw new RalphError('task-invalid', START_TEXTS.argsNeedBash);
  }
  return terms;
}

/** Returns the problem of a loop whose waits or checks would exceed the Stop hook's registered timeout. */
function timeoutProblem(policy: Policy, validation: readonly ValidationEntry[], task: TaskTerms | null): string | null {
  const commands = task?.commands ?? [];
  const accepted = task?.gate === 'required' ? commands.filter(({ acceptance }) => acceptance) : [];
  // A claim is checked, and where it is rejected the evidence for the next iteration is gathered.
  const checks = [...normaliseValidation(validation), ...accepted, ...commands].reduce(
    (sum, { timeoutSeconds }) => sum + timeoutSeconds,
    policy.pace.delayMs / 1000,
  );
  const longest = Math.max((policy.idle?.maxDelayMs ?? 0) / 1000, policy.backgroundWaitMs / 1000, checks);
  return longest < STOP_TIMEOUT_SECONDS ? null : START_TEXTS.tooSlow(longest, STOP_TIMEOUT_SECONDS);
}
