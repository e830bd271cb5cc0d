import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { allComplete } from '../../engine/tdd/phases.ts';
import { findContract, findEndedContract, type LoopFiles, readContract, readState } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { changedPins, readGitPins } from '../../task/git/git-pins.ts';
import { formerView } from '../../task/git/git-view.ts';
import { readStartPoint } from '../../task/git/start-point.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { about, advise, type Message, RalphError } from '../../text/message.ts';
import type { Person } from '../control/operate.ts';
import { tddTerms, termsOf } from '../tdd/scenario-list.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { lastLoopIn } from './find-task.ts';
import { preparedTerms, prepareStart, withFlag } from './prepare-contract.ts';
import type { Approval, Approved, Prepared, StartBaseline, StartRequest } from './stages.ts';
import type { RiskySetting } from './terms/agreed-settings.ts';
import { rememberAgreed, startOf, unagreedSettings } from './terms/agreed-settings.ts';
import { consentTerms, diffTerms, showTerms } from './terms/consent-terms.ts';
import { tryCommits } from './try-commits.ts';

/** What a person reads before agreeing, and the messages of a refused start. */
export interface Question {
  /** Command as the user types it, for refusals. */
  readonly command: string;
  /** Message for a missing terminal; default: a sentence that names the command. */
  readonly refusal?: Message;
  /** Message for any answer but yes. */
  readonly declined: Message | string;
  readonly heading: string;
  readonly lines: readonly string[];
  readonly question: string;
}

/** Answers for the user at a start. */
export interface Approver {
  readonly now: () => string;
  /** Shows a remark about the start. */
  readonly say: (text: string) => void;
  /** Returns who agreed. Throws RalphError `refused`. */
  readonly agree: (files: LoopFiles, question: Question) => Person;
  /** Returns the sandbox mode chosen by the user; null if they decline or cannot be asked. Throws `refused`. */
  readonly chooseSandbox: () => Promise<'on' | 'off' | null>;
  /** Runs the checks before the start and shows their results. Returns null, leaving nothing, if a signal ended them. */
  readonly runChecks: (prepared: Prepared) => Promise<{ readonly baseline: StartBaseline | null } | null>;
}

/** Prepares a start. If no setting says so, asks whether an agent with bypassPermissions runs in the sandbox. */
export async function prepareAsked(request: StartRequest, approver: Approver): Promise<Prepared> {
  const prepared = prepareStart(request);
  requireScenarios(prepared, approver);
  if (prepared.terms.unsandboxed !== 'not-set') return prepared;
  const mode = await approver.chooseSandbox();
  return mode === null ? prepared : prepareStart(withFlag(request, 'sandbox.mode', mode));
}

/**
 * Asks the user to approve what an agent or a file requests, and only then runs the project's programs: those that take part in
 * commits, and checks. Returns null if a signal ended the checks. Throws RalphError `refused` if the user declines.
 */
export async function approveStart(
  asked: Prepared,
  approver: Approver,
  offersWorktree = false,
): Promise<Approved | null> {
  requireScenarios(asked, approver);
  const approval = asked.request.consented ? approveTerms(asked, approver) : null;
  const { prepared, form } = await withCommitForm(asked, approver);
  const began = Date.now();
  const checked = await approver.runChecks(prepared);
  if (checked === null) return null;
  return {
    prepared,
    approval: approval && form !== null ? { ...approval, terms: withForm(approval.terms, form) } : approval,
    baseline: checked.baseline,
    ...(await stateOfRepository(prepared, approver, { offersWorktree, began })),
    at: approver.now(),
  };
}

/** Refuses a new test-first loop without a scenario to prove, before anything runs. */
function requireScenarios({ request, files }: Prepared, { now }: Pick<Approver, 'now'>): void {
  const { tdd, existing } = request;
  if (tdd !== true || existing === 'resume') return;
  const list = peekTdd(files);
  if (list === null || (allComplete(list) && requestedContract(files) === null))
    tddTerms(files, { tdd, at: now() }, null);
}

export const REQUEST_HEADING = 'An agent has requested this loop:';
const LIST_REFUSED = advise('Nothing was started.', 'Make another list', 'tdd init', { fresh: true, input: 'FILE' });

/** Shows the parts of a start that come from an agent or a file; null if no person had to agree to the whole. */
function approveTerms(prepared: Prepared, approver: Approver): Approval | null {
  const { request, files, resolved } = prepared;
  const requested = request.existing === 'fresh' ? null : requestedContract(files);
  const found = peekTdd(files);
  const continues = request.existing === 'resume' || requested !== null;
  const list = request.tdd === true || (continues && found?.loopId != null) ? found : null;
  const open = unagreedSettings(request, resolved);
  if (requested === null && (list === null || list.consented)) {
    approveSettings({ files, request, start: startOf(request, prepared.terms) }, open, approver);
    return null;
  }
  const terms = preparedTerms(prepared, list);
  const changes = requested === null ? [] : changesSince(requested, terms, list);
  const count = `  ${list?.completed.length} of ${list?.scenarios.length} scenarios are complete.`;
  const complete = show(advise(count, 'Show them', 'tdd status'), { name: null, mode: 'hook' });
  const loop = { name: files.name, mode: request.mode ?? 'hook' };
  const by = approver.agree(files, {
    command: 'start',
    heading: requested === null ? 'An agent created the scenarios of this loop:' : REQUEST_HEADING,
    lines: [
      ...showTerms(terms),
      ...(list === null ? [] : [complete]),
      ...(changes.length === 0 ? [] : ['Changed since the request:', ...changes]),
    ],
    question: 'Start it?',
    refusal: about(START_TEXTS.needsConsent, loop),
    declined: requested === null ? LIST_REFUSED : about(START_TEXTS.notAgreed, loop),
  });
  rememberAgreed(request.env, open);
  return { terms, by };
}

/** Shows settings that start a program or widen permissions, and remembers them. Throws `refused` if the user declines. */
export function approveSettings(
  { files, request, start }: Pick<Prepared, 'files' | 'request'> & { readonly start: string },
  open: readonly RiskySetting[],
  { agree }: Pick<Approver, 'agree'>,
): void {
  if (open.length === 0) return;
  agree(files, {
    command: 'start',
    declined: 'Nothing was started: only the word yes agrees to these settings.',
    refusal: START_TEXTS.settingsUnagreed(open, start),
    heading: 'These settings start programs or widen permissions:',
    lines: open.map(({ line }) => `  ${line}`),
    question: 'Use these settings from now on?',
  });
  rememberAgreed(request.env, open);
}

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
  if (requested.tdd !== undefined && (list === null || termsOf(list).hash !== requested.tdd.hash))
    changes.push('the list of scenarios');
  return changes.map((line) => `  ${line}`);
}

/** Tries the commits of a plan, and takes a form of messages that the repository accepts. */
async function withCommitForm(prepared: Prepared, { say }: Approver) {
  const form = await tryCommits(prepared, say);
  const { request, terms } = prepared;
  if (form === null || request.plan == null) return { prepared, form: null };
  const plan = { ...request.plan, commitForm: form };
  const accepted = { ...prepared, request: { ...request, plan }, terms: { ...terms, commitMessage: form } };
  return { prepared: accepted, form };
}

function withForm(terms: Approval['terms'], form: string): Approval['terms'] {
  return terms.map(([key, value]) => [key, key === 'commit_message' ? form : value] as const);
}

const START_POINT_MS = 10_000;

/**
 * Records the way back to the current state, and names uncommitted changes, except files new since `began`, which the checks
 * made. A resume keeps the way back of its start. Throws RalphError `refused` for a plan whose git settings cannot be read:
 * without them, nothing shows what its agent changes there.
 */
async function stateOfRepository(
  { request, files }: Prepared,
  { say }: Approver,
  { offersWorktree, began }: { readonly offersWorktree: boolean; readonly began: number },
): Promise<Pick<Approved, 'startPoint' | 'gitPins'>> {
  const { projectDir, env } = request;
  const options = { env, signal: AbortSignal.timeout(START_POINT_MS) };
  if (request.existing === 'resume') {
    const gitPins = await readGitPins(projectDir, options).catch(() => null);
    const live = findContract(files);
    const former = typeof live === 'string' ? findEndedContract(files, lastLoopIn(files)?.loopId ?? '') : live;
    const before = gitPins && formerView(files, former?.contract ?? null);
    const changed = before ? changedPins(before.pins, gitPins) : [];
    if (changed.length > 0) say(START_TEXTS.gitChanged(changed));
    return { startPoint: null, gitPins };
  }
  const found = await readStartPoint(projectDir, options).catch(whyNone);
  if (request.plan && (typeof found === 'string' || !found.point.pins))
    throw new RalphError('refused', START_TEXTS.noGitSettings);
  if (typeof found === 'string') {
    say(START_TEXTS.noUndo(printable(found)));
    return { startPoint: null, gitPins: null };
  }
  const own = dirname(request.task ?? DEFAULT_TASK);
  const bornAt = (path: string): number =>
    lstatSync(join(projectDir, path), { throwIfNoEntry: false })?.birthtimeMs ?? 0;
  const isOwn = (path: string): boolean => path.startsWith('.claude/') || path.startsWith(`${own}/`);
  const changed = found.changed.filter((path) => !isOwn(path) && bornAt(path) < began);
  if (found.unfinished !== null) say(found.unfinished);
  if (changed.length > 0) say(START_TEXTS.uncommitted(changed, offersWorktree));
  return { startPoint: found.point, gitPins: null };
}

/** Says why git gave no start point: it was too slow, or it refused. */
function whyNone(error: Error): string {
  return error.name === 'TimeoutError'
    ? `git did not answer within ${START_POINT_MS / 1000} s. See how long "git status" takes here.`
    : `git could not record the files of the project: ${error.message}`;
}
