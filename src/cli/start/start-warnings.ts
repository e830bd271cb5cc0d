import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { failOpenText } from '../../claude/find-client.ts';
import { clientSandboxProblem } from '../../claude/sandbox-problem.ts';
import { PLAN_TEXTS } from '../../drive/plan/messages.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import type { StartRequest } from '../../drive/start/read-settings.ts';
import type { StartedLoop } from '../../drive/start/start-loop.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { hasRules } from '../../guard/guard.ts';
import { readText } from '../../install/files/project-files.ts';
import { SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { writeAtomically } from '../../state/files/regular-file.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { projectSignals } from '../../task/draft/project-signals.ts';
import { changedPins, readGitPins } from '../../task/git/git-view.ts';
import { readStartPoint } from '../../task/git/start-point.ts';
import { configFiles, DEFAULT_TASK, taskKind } from '../../task/task-file.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';

const START_POINT_MS = 10_000;

type WarnedOf = Pick<Contract, 'unsandboxed' | 'agent' | 'policy' | 'task' | 'tdd' | 'taskPath' | 'clientVersion'> & {
  readonly validation: readonly unknown[];
};

/** `client` is the version of the client that the user will start, if that is not the loop's. */
export function printWarnings(
  { err, projectDir, env }: Pick<CommandContext, 'err' | 'projectDir' | 'env'>,
  { warnings, stored }: Pick<StartedLoop, 'warnings'> & { readonly stored: { readonly contract: WarnedOf } },
  client: string | null = null,
): void {
  const { contract } = stored;
  const failsOpen = failOpenText(contract.clientVersion ?? client);
  if (failsOpen !== null) err(withPrefix(`${failsOpen} Update it: claude update.`));
  for (const { message, line } of warnings) err(withPrefix(`${line === null ? '' : `line ${line}: `}${message}`));
  if (contract.unsandboxed === 'not-set') err(withPrefix(SANDBOX_TEXTS.withoutBypass));
  if (contract.unsandboxed === 'unavailable') err(withPrefix(withoutSandbox(contract.agent, env)));
  if (verifiesNothing(contract)) err(withPrefix(START_TEXTS.nothingToVerify));
  if (contract.policy.plan && contract.validation.length === 0) {
    const commands = projectSignals(projectDir).commands.map(({ run }) => run);
    err(withPrefix(commands.length === 0 ? PLAN_TEXTS.nothingOffered : PLAN_TEXTS.offered(commands)));
  }
}

/** Says why `sandbox.mode: auto` gives none. */
function withoutSandbox(agent: string | undefined, env: NodeJS.ProcessEnv): string {
  const problem = clientSandboxProblem(env);
  return problem === null ? SANDBOX_TEXTS.notForCommands(agent ?? '') : SANDBOX_TEXTS.withoutAuto(problem);
}

/**
 * Notes the way back to the project as it is now, and names its uncommitted changes. A resumed loop keeps its way back and
 * gets the git settings of now.
 */
export async function withStartPoint<T extends StartRequest>(
  { env, err, values }: CommandContext,
  request: T,
  canWorktree: boolean,
): Promise<T> {
  const { projectDir, name } = request;
  const options = { env, signal: AbortSignal.timeout(START_POINT_MS) };
  if (request.existing === 'resume' || values['resume'] === true) {
    const gitPins = await readGitPins(projectDir, options).catch(() => null);
    const changed = gitPins === null ? [] : changedPins(loopFiles(projectDir, name, env), gitPins);
    if (changed.length > 0) err(withPrefix(START_TEXTS.gitChanged(changed)));
    return { ...request, gitPins };
  }
  const found = await readStartPoint(projectDir, name, options).catch(() => null);
  if (found === null) return request;
  const own = dirname(request.task ?? DEFAULT_TASK);
  const changed = found.changed.filter((path) => !path.startsWith('.claude/') && !path.startsWith(`${own}/`));
  if (changed.length > 0) err(withPrefix(START_TEXTS.uncommitted(changed, canWorktree)));
  return { ...request, startPoint: found.point };
}

/** Returns whether a completion would be accepted unverified. A required gate may ask for outputs and open questions alone. */
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

/** Returns whether `init` has installed the hooks in this project; without them no session takes part in a loop. */
export function areHooksInstalled(projectDir: string): boolean {
  return existsSync(join(projectDir, '.claude', 'hooks', 'ralph-stop-hook.cjs'));
}

/** Prints on standard error what a client that the user starts by hand will not do for this loop. */
export function printManualStartWarnings({ err, projectDir }: CommandContext, { stored, state }: StartedLoop): void {
  if (state.mode !== 'hook') return;
  const { guardrails, sandbox } = stored.contract;
  if (!areHooksInstalled(projectDir)) err(withPrefix(show(START_TEXTS.noHooks)));
  if (sandbox !== undefined) err(withPrefix(SANDBOX_TEXTS.checksOnly));
  // A plan, which has rules of its own, is recognised by `lifted`.
  if (hasRules(guardrails) || guardrails.lifted !== undefined) err(withPrefix(START_TEXTS.unguardedByHand));
}

/** Asks once, at a terminal, whether an agent with bypassPermissions runs in the sandbox. The answer can be remembered. */
export async function askSandbox(context: CommandContext, request: StartRequest): Promise<StartRequest> {
  if (prepareContract(request).terms.unsandboxed !== 'not-set') return request;
  const mode = await askSandboxMode(context);
  return mode === null ? request : { ...request, flags: { ...request.flags, 'sandbox.mode': mode } };
}

/** Returns the mode that the user chooses; null where nobody can be asked, and for a plain no. */
export async function askSandboxMode(context: CommandContext): Promise<'on' | 'off' | null> {
  const { mayAsk, values, env, projectDir, err } = context;
  if (!mayAsk || values['yes'] === true || clientSandboxProblem(env) !== null) return null;
  err(withPrefix(SANDBOX_TEXTS.question));
  const answer = ((await ask('Sandbox [Y/n/always/never]: ')) ?? 'n').toLowerCase();
  const isOn = ['', 'y', 'yes', 'always'].includes(answer);
  if (answer === 'always' || answer === 'never') remember(configFiles(projectDir, env)['user config'], isOn);
  if (isOn) return 'on';
  return answer === 'never' ? 'off' : null;
}

function remember(path: string, isOn: boolean): void {
  const settings = JSON.parse(readText(path) ?? '{}') as { readonly sandbox?: object };
  const sandbox = { ...settings.sandbox, mode: isOn ? 'on' : 'off' };
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, `${JSON.stringify({ ...settings, sandbox }, null, 2)}\n`);
}
