import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientSandboxProblem, failOpenText } from '../../claude/find-client.ts';
import { PLAN_TEXTS } from '../../drive/plan/messages.ts';
import type { RiskySetting } from '../../drive/start/agreed-settings.ts';
import { rememberAgreed, settingsRefusal, unagreedSettings } from '../../drive/start/agreed-settings.ts';
import { preparedTerms } from '../../drive/start/consent.ts';
import { consentTerms, diffTerms, showTerms } from '../../drive/start/consent-terms.ts';
import { checkExistingLoop } from '../../drive/start/existing-loop.ts';
import { lastLoopIn } from '../../drive/start/find-task.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import type { Approval, StartRequest } from '../../drive/start/read-settings.ts';
import type { StartedLoop } from '../../drive/start/start-loop.ts';
import { termsOf } from '../../drive/tdd/scenario-list.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { hasRules } from '../../guard/guard.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { readText } from '../../install/project-files.ts';
import { SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { modeOf, writeAtomically } from '../../state/files/regular-file.ts';
import {
  findContract,
  findEndedContract,
  type LoopFiles,
  loopFiles,
  readContract,
  readState,
} from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { changedPins, readGitPins } from '../../task/git/git-pins.ts';
import { formerView } from '../../task/git/git-view.ts';
import { readStartPoint } from '../../task/git/start-point.ts';
import { configFiles, DEFAULT_TASK, taskKind } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { about, advise, RalphError } from '../../text/message.ts';
import { ask, askInPerson } from '../ask.ts';
import type { CommandContext } from '../command.ts';

export const REQUEST_HEADING = 'An agent has requested this loop:';

/** Shows the parts of a start that come from an agent; undefined if there is nothing to approve. Throws `refused`. */
export function approveStart(files: LoopFiles, request: StartRequest): Approval | undefined {
  if (!request.consented) return undefined;
  checkExistingLoop(readState(files.state), request);
  const requested = request.existing === 'fresh' ? null : requestedContract(files);
  const found = peekTdd(files);
  const continues = request.existing === 'resume' || requested !== null;
  const list = request.tdd === true || (continues && found?.loopId != null) ? found : null;
  const { resolved } = prepareContract(request);
  if (requested === null && (list === null || list.consented)) {
    approveSettings(files, request, unagreedSettings(request, resolved));
    return undefined;
  }
  const terms = preparedTerms(prepareContract(request), list);
  const changes = requested === null ? [] : changesSince(requested, terms, list);
  const count = `  ${list?.completed.length} of ${list?.scenarios.length} scenarios are complete.`;
  const complete = show(advise(count, 'Show them', 'tdd status'), { name: null, mode: 'hook' });
  const lines = [
    ...showTerms(terms),
    ...(list === null ? [] : [complete]),
    ...(changes.length === 0 ? [] : ['Changed since the request:', ...changes]),
  ];
  const heading = requested === null ? 'An agent created the scenarios of this loop:' : REQUEST_HEADING;
  const loop = { name: files.name, mode: request.mode ?? 'hook' };
  const refusal = about(START_TEXTS.needsConsent, loop);
  const declined = requested === null ? LIST_REFUSED : about(START_TEXTS.notAgreed, loop);
  const by = askInPerson(files, { command: 'start', heading, lines, question: 'Start it?', refusal, declined });
  rememberAgreed(request.env, unagreedSettings(request, resolved));
  return { terms, by };
}

/** Shows settings that start a program or widen permissions, and remembers them. Throws `refused` if the user declines. */
export function approveSettings(files: LoopFiles, request: StartRequest, open: readonly RiskySetting[]): void {
  if (open.length === 0) return;
  askInPerson(files, {
    command: 'start',
    declined: 'Nothing was started: only the word yes agrees to these settings.',
    refusal: settingsRefusal(request, open),
    heading: 'These settings start programs or widen permissions:',
    lines: open.map(({ line }) => `  ${line}`),
    question: 'Use these settings from now on?',
  });
  rememberAgreed(request.env, open);
}

const LIST_REFUSED = advise('Nothing was started.', 'Make another list', 'tdd init', { fresh: true, input: 'FILE' });

/** Returns the contract of the loop that awaits the user's consent, or null. */
function requestedContract(files: LoopFiles): Contract | null {
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status !== 'awaiting-consent') return null;
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  return stored.contract;
}

function changesSince(requested: Contract, terms: Approval['terms'], list: TddRecord | null): string[] {
  const changes = diffTerms(consentTerms(requested, requested.tdd === undefined ? null : list), terms);
  if (requested.tdd !== undefined && (list === null || termsOf(list).hash !== requested.tdd.hash)) {
    changes.push('the list of scenarios');
  }
  return changes.map((line) => `  ${line}`);
}

const START_POINT_MS = 10_000;

type WarnedOf = Pick<
  Contract,
  | 'unsandboxed'
  | 'agent'
  | 'host'
  | 'client'
  | 'policy'
  | 'task'
  | 'tdd'
  | 'taskPath'
  | 'clientVersion'
  | 'projectChecks'
> & {
  readonly validation: readonly unknown[];
};

/** Prints warnings. `client` is the version of the client that the user will start, if it is not the loop's. */
export function printWarnings(
  context: CommandContext,
  { warnings, stored }: StartedLoop,
  client: string | null = null,
): void {
  for (const text of warningTexts(context, warnings, stored.contract, client)) context.err(withPrefix(text));
}

export function warningTexts(
  { env }: Pick<CommandContext, 'env'>,
  warnings: StartedLoop['warnings'],
  contract: WarnedOf,
  client: string | null = null,
): readonly string[] {
  const { host } = contract;
  const failsOpen = host === undefined ? failOpenText(contract.clientVersion ?? client) : null;
  const texts = failsOpen === null ? [] : [`${failsOpen} Update it: claude update.`];
  const aboutHost = hostOf(host).startText(contract.client?.permissionMode ?? null);
  if (aboutHost !== null) texts.push(aboutHost);
  texts.push(...warnings.map(({ message, line }) => `${line === null ? '' : `line ${line}: `}${message}`));
  if (contract.unsandboxed === 'not-set') texts.push(SANDBOX_TEXTS.withoutBypass);
  if (contract.unsandboxed === 'unavailable') texts.push(withoutSandbox(contract.agent, env));
  if (verifiesNothing(contract)) texts.push(START_TEXTS.nothingToVerify);
  if (contract.policy.plan && contract.validation.length === 0) {
    const { projectChecks: commands = [] } = contract;
    texts.push(commands.length === 0 ? PLAN_TEXTS.nothingOffered : PLAN_TEXTS.offered(commands));
  }
  return texts;
}

/** Explains why `sandbox.mode: auto` does not use one. */
function withoutSandbox(agent: string | undefined, env: NodeJS.ProcessEnv): string {
  const problem = clientSandboxProblem(env);
  return problem === null ? SANDBOX_TEXTS.notForCommands(agent ?? '') : SANDBOX_TEXTS.withoutAuto(problem);
}

/**
 * Records the way back to the current commit, and names uncommitted changes. A resume keeps the way back of its start.
 * Throws RalphError `refused` for a plan whose settings of git cannot be read: without them nothing shows what its agent changes
 * there.
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
    const files = loopFiles(projectDir, name, env);
    const live = findContract(files);
    const former = typeof live === 'string' ? findEndedContract(files, lastLoopIn(files)?.loopId ?? '') : live;
    const before = gitPins && formerView(files, former);
    const changed = before ? changedPins(before.pins, gitPins) : [];
    if (changed.length > 0) err(withPrefix(START_TEXTS.gitChanged(changed)));
    return { ...request, gitPins };
  }
  const found = await readStartPoint(projectDir, options).catch(whyNone);
  if (request.plan && (typeof found === 'string' || !found.point.pins))
    throw new RalphError('refused', START_TEXTS.noGitSettings);
  if (typeof found === 'string') {
    err(withPrefix(START_TEXTS.noUndo(printable(found))));
    return request;
  }
  const own = dirname(request.task ?? DEFAULT_TASK);
  const changed = found.changed.filter((path) => !path.startsWith('.claude/') && !path.startsWith(`${own}/`));
  if (changed.length > 0) err(withPrefix(START_TEXTS.uncommitted(changed, canWorktree)));
  return { ...request, startPoint: found.point };
}

/** Says why git gave no start point: it was too slow, or it refused. */
function whyNone(error: Error): string {
  return error.name === 'TimeoutError'
    ? `git did not answer within ${START_POINT_MS / 1000} s. See how long "git status" takes here.`
    : `git could not record the files of the project: ${error.message}`;
}

/** Returns whether a completion would be accepted unverified. A required gate may consist of outputs and open questions only. */
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
  if (state.mode !== 'hook') return;
  const { guardrails, sandbox } = stored.contract;
  // `init` installs it; without it no session takes part in a loop.
  const stopHook = join(projectDir, '.claude', 'hooks', 'ralph-stop-hook.cjs');
  if (!existsSync(stopHook)) err(withPrefix(show(START_TEXTS.noHooks(state.taskPath))));
  if (sandbox !== undefined) err(withPrefix(SANDBOX_TEXTS.checksOnly));
  // `lifted` identifies a plan, which has rules of its own.
  if (hasRules(guardrails) || guardrails.lifted !== undefined) err(withPrefix(START_TEXTS.unguardedByHand));
}

/** Asks once, at a terminal, whether an agent with bypassPermissions runs in the sandbox. The answer can be stored. */
export async function askSandbox(context: CommandContext, request: StartRequest): Promise<StartRequest> {
  if (prepareContract(request).terms.unsandboxed !== 'not-set') return request;
  const mode = await askSandboxMode(context);
  return mode === null ? request : { ...request, flags: { ...request.flags, 'sandbox.mode': mode } };
}

/** Returns the mode that the user chooses; null if they decline or cannot be asked. Throws `refused` at the end of the input. */
export async function askSandboxMode(context: CommandContext): Promise<'on' | 'off' | null> {
  const { mayAsk, values, env, projectDir, err } = context;
  if (!mayAsk || values['yes'] === true || clientSandboxProblem(env) !== null) return null;
  err(withPrefix(SANDBOX_TEXTS.question));
  let answer: string | undefined;
  do answer = (await ask('Sandbox [Y/n/always/never]: '))?.toLowerCase();
  while (answer !== undefined && !/^(?:y(?:es)?|no?|always|never)?$/.test(answer));
  if (answer === undefined) throw new RalphError('refused', 'Nothing was started.');
  const isOn = ['', 'y', 'yes', 'always'].includes(answer);
  if (answer === 'always' || answer === 'never') remember(configFiles(projectDir, env)['user config'], isOn);
  if (isOn) return 'on';
  return answer === 'never' ? 'off' : null;
}

function remember(path: string, isOn: boolean): void {
  const settings = JSON.parse(readText(path) ?? '{}') as { readonly sandbox?: object };
  const sandbox = { ...settings.sandbox, mode: isOn ? 'on' : 'off' };
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, `${JSON.stringify({ ...settings, sandbox }, null, 2)}\n`, modeOf(path));
}
