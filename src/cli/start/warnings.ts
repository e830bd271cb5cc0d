import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PLAN_TEXTS } from '../../drive/plan/messages.ts';
import type { PreparedContract, StartedLoop } from '../../drive/start/stages.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { hasRules } from '../../guard/guard.ts';
import { clientSandboxProblem } from '../../hosts/claude/claude-code.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { SANDBOX_PROBLEMS, SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { taskKind } from '../../task/task-file.ts';
import type { CommandContext } from '../command.ts';

type WarnedOf = PreparedContract['terms'];

/** The client that will work on a loop: its version, if the loop does not record one, and whether the user starts it. */
interface LaterClient {
  readonly version: string | null;
  readonly byHand: boolean;
}

export function printWarnings(
  context: CommandContext,
  { warnings, stored }: StartedLoop,
  later: LaterClient | null = null,
): void {
  for (const text of warningTexts(context, warnings, stored.contract, later)) context.err(withPrefix(text));
}

export function warningTexts(
  { env, projectDir }: Pick<CommandContext, 'env' | 'projectDir'>,
  warnings: StartedLoop['warnings'],
  contract: WarnedOf,
  later: LaterClient | null = null,
): readonly string[] {
  const { host, clientVersion, agent } = contract;
  const { versionText, modeText } = hostOf(host);
  const told = versionText?.(clientVersion ?? later?.version ?? null) ?? null;
  const texts = told === null ? [] : [told];
  if (later?.byHand !== true && modeText !== undefined) texts.push(modeText(contract.client?.permissionMode ?? null));
  texts.push(...warnings.map(({ message, line }) => `${line === null ? '' : `line ${line}: `}${message}`));
  if (contract.unsandboxed === 'not-set') texts.push(SANDBOX_TEXTS.withoutBypass);
  if (contract.unsandboxed === 'unavailable') {
    const problem = clientSandboxProblem(env, [projectDir]) ?? SANDBOX_PROBLEMS.replaceable('the client or node');
    texts.push(agent === undefined ? SANDBOX_TEXTS.withoutAuto(problem) : SANDBOX_TEXTS.notForCommands(agent));
  }
  if (contract.client?.permissionMode === 'plan') texts.push(START_TEXTS.onlyPlans);
  if (verifiesNothing(contract)) texts.push(START_TEXTS.nothingToVerify);
  if (contract.policy.plan && contract.validation.length === 0) {
    const { projectChecks: commands = [] } = contract;
    texts.push(commands.length === 0 ? PLAN_TEXTS.nothingOffered : PLAN_TEXTS.offered(commands));
  }
  return texts;
}

/** Returns whether a completion would be accepted unverified. A required gate may consist only of outputs and open questions. */
function verifiesNothing({ validation, task, policy, tdd, taskPath }: WarnedOf): boolean {
  if (tdd !== undefined) return false; // the scenarios are proved one by one
  const gate = task?.gate === 'required' ? task : null;
  const outputs = gate !== null && (gate.requiredOutputs.length > 0 || gate.openQuestions !== 'optional');
  const commands = gate?.commands.some(({ acceptance }) => acceptance) ?? false;
  return (
    validation.length === 0 &&
    !outputs &&
    !commands &&
    (policy.completion.kind !== 'none' || taskKind(taskPath) === 'checklist')
  );
}

/** Prints on standard error what a client that the user starts by hand lacks for this loop. */
export function printManualStartWarnings({ err, projectDir }: CommandContext, { stored, state }: StartedLoop): void {
  if (state.mode !== 'hook' || !hostOf(stored.contract.host).readsClaudeSettings) return;
  const { guardrails, sandbox } = stored.contract;
  // `init` installs it; without it, no session takes part in a loop.
  const stopHook = join(projectDir, '.claude', 'hooks', 'ralph-stop-hook.cjs');
  if (!existsSync(stopHook)) err(withPrefix(show(START_TEXTS.noHooks(state.taskPath))));
  if (sandbox !== undefined) err(withPrefix(SANDBOX_TEXTS.checksOnly));
  // `lifted` is present for a plan, which has rules of its own.
  if (hasRules(guardrails) || guardrails.lifted !== undefined) err(withPrefix(START_TEXTS.unguardedByHand));
}
