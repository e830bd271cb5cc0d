import { join } from 'node:path';
import { PLAIN_FORM } from '../../engine/plan/commit-subject.ts';
import { STOP_TIMEOUT_SECONDS } from '../../engine/schema/constants.ts';
import type { Policy, TaskTerms } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { decidingEnvironment } from '../../task/commands/deciding-environment.ts';
import { projectChecks } from '../../task/draft/project-signals.ts';
import { withPlanRules } from '../../task/frontmatter/guardrails.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import type { ValidationEntry } from '../../task/frontmatter/schema.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { buildContract, type ContractTerms, normaliseValidation } from '../../task/settings/build-contract.ts';
import { checklistItems, countChecklist } from '../../text/markdown/lists.ts';
import { ifRefused, RalphError } from '../../text/message.ts';
import { AGENT_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { findTask } from './find-task.ts';
import { agentOf, readSettings } from './read-settings.ts';
import type { ContractRequest, Prepared, PreparedContract, Resolved, StartRequest } from './stages.ts';
import { taskTermsOf } from './terms/arguments.ts';
import { confinementOf } from './terms/confinement.ts';
import { type ConsentTerms, consentTerms } from './terms/consent-terms.ts';

/** Reads the task file and all settings of a start once, and checks them. Throws RalphError with every problem. */
export function prepareStart(request: StartRequest): Prepared {
  const { projectDir, name, env } = request;
  return { ...prepareContract(request), request, files: loopFiles(projectDir, name, env) };
}

/** Prepares a start. If it needs a permission mode and has none, it is prepared with `mode`, and `lacksMode` is set. */
export function prepareWithMode(request: StartRequest, mode: string) {
  return ifRefused(
    () => ({ prepared: prepareStart(request), lacksMode: false }),
    () => ({ prepared: prepareStart(withFlag(request, 'permission_mode', mode)), lacksMode: true }),
    'mode-missing',
  );
}

/** Returns the same request with the user's answer to a question. */
export function withFlag(request: StartRequest, key: string, value: string): StartRequest {
  return { ...request, flags: { ...request.flags, [key]: value } };
}

/** Reads the task file and all settings, and checks them. Throws RalphError with every problem. */
export function prepareContract(request: ContractRequest): PreparedContract {
  const { projectDir, fixed } = request;
  if (fixed !== undefined) return ofThisRun(fixed, request);
  const found = findTask(projectDir, request.task, Boolean(request.plan));
  const resolved = readSettings(request, found);
  const { taskPath, head, frontmatter, body, checked } = found;
  const [{ plan }, { policy, settings }] = [request, resolved];
  const { agent, host } = agentOf(request, resolved);
  const task = taskTermsOf(request, taskPath, resolved);
  const isSession = (request.mode ?? 'hook') === 'hook';
  const slow = isSession ? timeoutProblem(policy, settings.validation, task) : null;
  if (slow !== null) throw new RalphError('task-invalid', slow);
  const warnings = [...checked.problems, ...resolved.problems, ...agentCommandWarnings(request, resolved)].filter(
    ({ severity }) => severity === 'warning',
  );
  const { permissionMode, model, effort, isolation } = settings;
  // Each start names the first or the only task of a plan; no setting does.
  const ofPlan = plan && { from: plan.from, ...(plan.only !== undefined && { only: plan.only }) };
  return {
    resolved,
    warnings,
    checklist: checked.kind === 'checklist' ? checklistItems(body) : null,
    terms: {
      name: request.name,
      projectDir,
      taskPath,
      task,
      // Guardrails cannot be enforced on an agent command.
      guardrails: plan && agent === null ? withPlanRules(settings.guardrails) : settings.guardrails,
      ...confinementOf(request, resolved, agent, host),
      createdAt: request.at,
      frontmatter,
      head,
      ...(plan && isSession && { body }),
      policy: policy.plan && ofPlan ? { ...policy, plan: { ...policy.plan, ...ofPlan } } : policy,
      ...(plan && {
        commitMessage: settings.commitMessage ?? plan.commitForm ?? PLAIN_FORM,
        commitFooters: [...settings.commitFooters],
      }),
      validation: settings.validation,
      ...(plan && settings.validation.length === 0 && { projectChecks: projectChecks(projectDir, request.env) }),
      ...checkTerms(resolved),
      environment: decidingEnvironment(request.env),
      findingsLog: settings.findingsLog,
      ...(settings.unchanged.length > 0 && { unchanged: [...settings.unchanged] }),
      ...(settings.accept === 'never' && { accept: 'never' as const }),
      ...notifyTerms(resolved),
      consented: request.consented,
      clientVersion: agent === null ? versionOf(request, host) : null,
      ...(host && { host }),
      ...(agent === null ? { client: { permissionMode, model, effort, isolation } } : { agent }),
      headless: request.headless ?? false,
      flags: request.flags,
      bundleDir: request.bundleDir ?? null,
    },
  };
}

/** Returns the terms of a loop that is about to start. `list` holds the scenarios of a test-first loop. */
export function preparedTerms({ terms }: Pick<PreparedContract, 'terms'>, list: TddRecord | null): ConsentTerms {
  return consentTerms(buildContract({ ...terms, loopId: 'any' }).contract, list);
}

/** Throws RalphError `usage` for a checklist without open items: an agent would invent work. */
export function requireOpenItems(taskPath: string, items: PreparedContract['checklist']): void {
  if (items === null) return;
  const { done, total } = countChecklist(items);
  if (total > 0 && done >= total) throw new RalphError('usage', START_TEXTS.allChecked(taskPath, total));
}

/** Returns fixed terms with the values of this run, and the checklist as it is now. */
function ofThisRun(fixed: PreparedContract, request: ContractRequest): PreparedContract {
  const { taskPath, agent, host } = fixed.terms;
  const clientVersion = agent === undefined ? versionOf(request, host) : null;
  const text = fixed.checklist && readRegularFile(join(request.projectDir, taskPath));
  const checklist = text && checklistItems(splitFrontmatter(text).body);
  const own = { createdAt: request.at, bundleDir: request.bundleDir ?? null, clientVersion };
  return { ...fixed, checklist: checklist || null, terms: { ...fixed.terms, ...own } };
}

/** Returns the changeable files on which checks may rely, and where and when the checks run. */
function checkTerms({
  settings,
}: Resolved): Pick<ContractTerms, 'mayChange' | 'mayRun' | 'verifyIn' | 'skipsBaseline'> {
  const { mayChange, mayRun, verifyIn, worktreeSetup, worktreeCopy, baseline } = settings;
  return {
    ...(mayChange.length > 0 && { mayChange: [...mayChange] }),
    ...(mayRun.length > 0 && { mayRun: [...mayRun] }),
    ...(verifyIn === 'worktree' && { verifyIn: { setup: worktreeSetup, copy: [...worktreeCopy] } }),
    ...(!baseline && { skipsBaseline: true as const }),
  };
}

function notifyTerms({ settings }: Resolved): Pick<ContractTerms, 'notify'> {
  const { bell: _, ...notify } = settings.notify;
  return notify.command === null && notify.url === null ? {} : { notify };
}

/** Warns that an agent command applies to a runner only. */
function agentCommandWarnings({ mode, host }: ContractRequest, { settings: { agent } }: Resolved): Problem[] {
  if (mode === 'runner' || host !== undefined || agent === null) return [];
  const place = { path: 'agent', line: null, column: null, value: agent, rule: 'runner-only' };
  return [{ ...place, message: AGENT_TEXTS.forRunner(agent), severity: 'warning' }];
}

function versionOf({ clientVersion = null }: ContractRequest, host: ContractTerms['host']): string | null {
  return typeof clientVersion === 'function' ? clientVersion(host) : clientVersion;
}

/** Returns the problem of a loop whose waits or checks would exceed the Stop hook's registered timeout; or null. */
function timeoutProblem(policy: Policy, validation: readonly ValidationEntry[], task: TaskTerms | null): string | null {
  const commands = task?.commands ?? [];
  const accepted = task?.gate === 'required' ? commands.filter(({ acceptance }) => acceptance) : [];
  // A claim is checked and, if rejected, followed by the commands for the next iteration.
  const checks = [...normaliseValidation(validation), ...accepted, ...commands].reduce(
    (sum, { timeoutSeconds }) => sum + timeoutSeconds,
    policy.pace.delayMs / 1000,
  );
  const longest = Math.max((policy.idle?.maxDelayMs ?? 0) / 1000, policy.backgroundWaitMs / 1000, checks);
  return longest < STOP_TIMEOUT_SECONDS ? null : START_TEXTS.tooSlow(longest, STOP_TIMEOUT_SECONDS);
}
