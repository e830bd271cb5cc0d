import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../../package.json' with { type: 'json' };
import type { Effect } from '../../engine/events.ts';
import { initialState } from '../../engine/initial-state.ts';
import { resumedPlan } from '../../engine/plan/attempt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { removePlaceholders } from '../../sandbox/placeholders.ts';
import { beginCounters } from '../../state/counters-file.ts';
import { forgetEvidence, listEvidence } from '../../state/evidence/evidence.ts';
import { removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { sweepLeftovers } from '../../state/lock/sweep-leftovers.ts';
import {
  findEndedContract,
  type LoopFiles,
  loopFiles,
  makeRuntimeDir,
  orLogged,
  PROJECT_FILE,
  readContract,
  readState,
  type StoredContract,
} from '../../state/loop-files.ts';
import { recordNotice } from '../../state/notices.ts';
import { programName } from '../../state/process/program.ts';
import { unprovedTdd } from '../../state/tdd-store.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { formerView, storeGitView } from '../../task/git/git-view.ts';
import { dropLostStartPoint, writeStartPoint } from '../../task/git/start-point.ts';
import { changedPrograms } from '../../task/pinned-scripts/pinned-programs.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import type { Settings } from '../../task/settings/resolve.ts';
import { shorten } from '../../text/excerpt.ts';
import { countChecklist } from '../../text/markdown/checklist.ts';
import { about, type Message, RalphError } from '../../text/message.ts';
import { isDriverAlive } from '../control/ownership.ts';
import { storeProtected } from '../control/restore-protected.ts';
import { dropLostRecord } from '../prompt/project-change.ts';
import { adoptSeen, beginSeen } from '../prompt/seen-record.ts';
import { recordJournal } from '../records/journal.ts';
import { beginPlanRecords } from '../records/open-task-file.ts';
import { countedBy, projectionOf } from '../records/status-projection.ts';
import { loopNames } from '../status/project-loops.ts';
import { bindList, tddTerms } from '../tdd/scenario-list.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { requireAgreed } from './agreed-settings.ts';
import { formerBaseline, type ReadyRequest, storeBaseline } from './baseline.ts';
import { fixContract, preparedTerms, recordConsent, withConsentDigest } from './consent.ts';
import { consentDigest, consentTerms, diffTerms, requireApproved } from './consent-terms.ts';
import { continueExistingLoop } from './existing-loop.ts';
import { formerEvidence, lossAtResume } from './former-evidence.ts';
import { type PreparedContract, prepareContract, requireOpenItems } from './prepare-contract.ts';

export interface StartedLoop {
  readonly loopId: string;
  readonly files: LoopFiles;
  readonly state: LoopState;
  readonly stored: StoredContract;
  readonly settings: Settings;
  readonly warnings: readonly Problem[];
}

/** Starts a loop and fixes its contract. Throws RalphError with every problem, with nothing changed. */
export function startLoop(request: ReadyRequest): StartedLoop {
  const { projectDir, name, env, at } = request;
  const files = loopFiles(projectDir, name, env);
  // A failure to remove the files of dead processes does not prevent a start.
  orLogged(files, at, 'sweep', () => {
    sweepLeftovers(files);
    removePlaceholders(files);
  });
  const prepared = prepareContract(request);
  requireAgreed(request, prepared.resolved);
  makeRuntimeDir(files);
  const { started, event } = withState(files, LOCK_WAIT, (current) => {
    const { before, wentBack } = continueExistingLoop(current, request, files);
    const left = current.kind === 'loop' && current.state.status !== 'ended' ? current.state : before;
    const warnings =
      wentBack === undefined ? prepared.warnings : [...prepared.warnings, startWarning('resume', wentBack)];
    const result = createLoop(request, files, { ...prepared, warnings }, { before, left });
    return { next: result.started.state, result };
  });
  projectionOf(files, at, started.stored.contract).begin(event, countedBy(started.state));
  return started;
}

const LOCKED = 'the contract of this loop is locked (accept: never), and a resume would change it';

/** A loop to continue, and the same loop as its last process left it; null for a new one. */
interface Resumed {
  readonly before: LoopState | null;
  readonly left: LoopState | null;
}

/** Checks the user's approval and stores evidence, contract and journal entry, under the lock. */
function createLoop(request: ReadyRequest, files: LoopFiles, prepared: PreparedContract, resumed: Resumed) {
  const { env, at, consented } = request;
  const { before } = resumed;
  const agreed = agreeContract(request, files, prepared, resumed);
  const { contract, former, list, tdd, adopted } = agreed;
  const { loopId } = contract;
  const warnings = [...prepared.warnings];
  const begun = beginningState(request, files, prepared, { before, loopId });
  const { iteration } = begun;
  const loss = lossOf(request, files, agreed, resumed);
  if (loss !== null) {
    if (request.takesNewStart !== true) throw new RalphError('evidence-lost', about(loss, begun));
    const text = START_TEXTS.newStart(loss.text);
    recordNotice(files, { loopId, iteration }, { at, kind: 'evidence', text });
    warnings.push(startWarning('resume', text));
  }
  // Evidence before the contract, which lists it, so that no loop runs without it.
  const unkept = storeProtected(files, contract, env, former?.contract ?? null);
  if (adopted.length > 0) {
    const details = { changes: adopted, digest: consentDigest(consentTerms(contract, list)) };
    const text = START_TEXTS.adoptedByResume(shorten(adopted.join('; '), MOST_SHOWN));
    recordNotice(files, { loopId, iteration }, { at, kind: 'change', text, details });
    warnings.push(startWarning('resume', text));
  }
  const items = prepared.checklist ?? [];
  if (before === null) beginSeen(files, contract, items);
  else if (loss !== null || listEvidence(files, loopId)['seen'] === undefined) adoptSeen(files, contract, items);
  beginCounters(files, begun);
  if (tdd) bindList(files, tdd, { loopId, at, consented, env });
  else forgetEvidence(files, loopId, 'scenarios');
  beginPlanRecords(files, loopId, contract.policy.plan !== undefined, former?.contract ?? null);
  storeStart(request, files, former, { loopId, isNew: before === null });
  const stored = fixContract(files, withConsentDigest(contract, list));
  const state: LoopState = { ...begun, contractHash: stored.hash };
  nameProject(files, at);
  removeIfThere(files.cancellation);
  const event = startedEvent(state, stored, at, before !== null);
  recordJournal(files, at, [event]);
  const protects = [unkept, otherLoopWarning(files, contract, env)].filter((text) => text !== null);
  const all = [...warnings, ...protects.map((text) => startWarning('guardrails.protected_files', text))];
  return { started: { loopId, files, state, stored, settings: prepared.resolved.settings, warnings: all }, event };
}

interface AgreedContract {
  readonly contract: Contract;
  readonly tdd: ReturnType<typeof tddTerms>;
  readonly list: TddRecord | null;
  /** Contract of the resumed loop; null for a new loop, and where it is gone. */
  readonly former: StoredContract | null;
  readonly live: StoredContract | null;
  readonly lost: ReturnType<typeof formerEvidence>['lost'];
  /** Changes of the former contract that this resume adopts. */
  readonly adopted: readonly string[];
}

/** Builds the contract and records that the user agreed to it. Throws RalphError if the user agreed to another one. */
function agreeContract(
  request: ReadyRequest,
  files: LoopFiles,
  { terms }: PreparedContract,
  { before, left }: Resumed,
): AgreedContract {
  const { at, approved, baseline: taken } = request;
  const loopId = before?.loopId ?? request.startPoint?.loopId ?? `loop-${randomUUID()}`;
  const tdd = tddTerms(files, request, before?.loopId ?? null);
  const list = tdd === undefined ? null : unprovedTdd(files);
  if (approved !== undefined) {
    requireApproved(approved.terms, preparedTerms({ terms }, list));
    recordConsent(files, { loopId, iteration: before?.iteration ?? 0 }, at, approved.terms, approved.by);
  }
  const { live, lost } = before === null ? { live: null, lost: null } : formerEvidence(files, left ?? before);
  const former = before === null ? null : (live ?? findEndedContract(files, loopId));
  const results = taken === null ? formerBaseline(former?.contract, loopId) : { baseline: taken.baseline };
  const { contract } = buildContract({ ...terms, loopId, ...(tdd && { tdd }), ...results });
  const adopted = former?.contract.loopId === loopId ? adoptedBy(former.contract, contract, list) : [];
  const isLocked = former?.contract.accept === 'never' && live !== null;
  if (isLocked && former.contract.loopId === loopId) {
    requireApproved(consentTerms(former.contract, list), consentTerms(contract, list), LOCKED);
  }
  return { contract, tdd, list, former, live, lost, adopted };
}

/** Returns the state with which the loop begins or goes on. Throws RalphError if it has no open item or iteration left. */
function beginningState(
  { at, mode = 'hook', consented }: ReadyRequest,
  files: LoopFiles,
  { resolved, terms, checklist: items }: PreparedContract,
  { before, loopId }: { readonly before: LoopState | null; readonly loopId: string },
): LoopState {
  const { taskPath } = terms;
  const { maxIterations } = resolved.policy;
  const checklist = items && countChecklist(items);
  if (before === null) requireOpenItems(taskPath, items);
  const fixed = { mode, maxIterations, taskPath };
  const known = { ...fixed, contractHash: null, loopId, name: files.name };
  const base = before ?? initialState({ ...known, at, consented, checklist });
  const begun: LoopState = {
    ...base,
    ...fixed,
    program: programName(),
    ...(terms.policy.plan && { plan: resumedPlan(base, terms.policy.plan.maxTasks) }),
    ...(checklist && { checklist }),
  };
  const { iteration } = begun;
  if (iteration >= maxIterations) {
    throw new RalphError('usage', about(START_TEXTS.noIterationsLeft(iteration, maxIterations), begun));
  }
  return begun;
}

/** Returns which evidence of the resumed loop is lost; null if none is, or the loop is new. */
function lossOf(
  { env, at }: ReadyRequest,
  files: LoopFiles,
  { contract, live, lost }: AgreedContract,
  { left }: Resumed,
): Message | null {
  if (lost !== null) return lost;
  // An ended loop has no snapshot.
  return left === null || live === null ? null : lossAtResume(files, left, contract, live, { env, at });
}

/** Stores the baseline and the start point of a new loop, and drops what a resumed one has lost of them. */
function storeStart(
  { at, baseline: taken, startPoint, gitPins }: ReadyRequest,
  files: LoopFiles,
  former: StoredContract | null,
  { loopId, isNew }: { readonly loopId: string; readonly isNew: boolean },
): void {
  if (taken !== null || isNew) storeBaseline(files, loopId, at, taken);
  else if (former !== null) dropLostRecord(files, former.contract);
  if (isNew) {
    removeIfThere(files.promptedTurn);
    writeStartPoint(files, loopId, startPoint ?? null);
    return;
  }
  if (former !== null) dropLostStartPoint(files, former.contract);
  if (gitPins) storeGitView(files, loopId, gitPins, formerView(files, former));
}

/** Settings on which a completion relies, and those that restrict the agent; a limit proves nothing. */
const DECIDES =
  /^(?:[+-] )?(?:agent|validation|commands|unchanged|completion|required_outputs|open_questions|scenario|script|guardrails|sandbox|findings_log|accept|may_change|verify_in|permission_mode|isolation)\b/;
const MOST_SHOWN = 600;

/** Returns the changes of these settings that a resume adopts: the agent may have made them since the start. */
function adoptedBy(before: Contract, now: Contract, list: TddRecord | null): string[] {
  const changes = diffTerms(consentTerms(before, list), consentTerms(now, list)).filter((line) => DECIDES.test(line));
  return [...changes, ...changedPrograms(before, Object.keys(before.programs ?? {}), now.environment ?? {})];
}

function startWarning(path: string, message: string): Problem {
  return { path, line: null, column: null, value: undefined, rule: 'start', message, severity: 'warning' };
}

/** Starts a loop by hand, from the SessionStart hook. Returns the problem, or warnings. */
export function startByHand(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  at: string,
): { readonly problem: string | null; readonly warnings: readonly string[] } {
  try {
    const { warnings, stored } = startLoop({
      projectDir,
      name: null,
      task: null,
      flags: {},
      env,
      at,
      existing: 'refuse',
      headless: env['CLAUDE_CODE_SESSION_ATTENDED'] === '0',
      launched: false,
      consented: true,
      clientVersion: null,
      bundleDir: null,
      // The client ends a hook that takes as long as checks may.
      baseline: null,
    });
    const told = warnings.map(({ message }) => message);
    return {
      problem: null,
      warnings: stored.contract.validation.length > 0 ? told : [...told, START_TEXTS.nothingToVerify],
    };
  } catch (error) {
    if (error instanceof RalphError) return { problem: `no loop was started. ${error.message}`, warnings: [] };
    throw error;
  }
}

/** Records what a report needs after the end, when the contract no longer exists: limits, checks, surroundings. */
function startedEvent(state: LoopState, { hash, contract }: StoredContract, at: string, resumed: boolean): Effect {
  const { loopId, iteration, maxIterations, taskPath, mode } = state;
  const { policy, validation, task, client, clientVersion, agent } = contract;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const acceptance = (task?.commands ?? []).filter((command) => command.acceptance);
  const before = (name: string) => {
    const known = contract.baseline?.checks.find((check) => check.name === name);
    return known && { before: known.outcome };
  };
  const facts = {
    mode,
    limits: { maxCostUsd, maxTokens, maxTimeMs, maxIdleMs: policy.idle?.maxMs ?? null },
    breaker: policy.breaker,
    checks: [...acceptance, ...validation].map(({ name, run }) => ({ name, run, ...before(name) })),
    contract: hash.slice(0, 12),
    client: agent === undefined ? clientVersion : null,
    model: client?.model ?? null,
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    ralphLoop: manifest.version,
  };
  const type = resumed ? 'loop.resumed' : 'loop.started';
  return { type: 'record-event', event: { type, at, loopId, iteration, maxIterations, taskPath, ...facts } };
}

/** Records the path of the project in its folder outside, for commands that list all projects. */
function nameProject(files: LoopFiles, at: string): void {
  const { projectDir, outsideDir } = files;
  const path = join(outsideDir, PROJECT_FILE);
  if (existsSync(path)) return;
  orLogged(files, at, 'start', () => writeAtomically(path, `${JSON.stringify({ projectDir })}\n`, 0o600));
}

/** Returns a warning if another live loop of the folder protects other files, which it restores after any change; or null. */
function otherLoopWarning(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): string | null {
  const { projectDir } = files;
  const ours = contract.guardrails.protectedFiles;
  for (const name of loopNames(projectDir, env)) {
    if (name === files.name) continue;
    const other = loopFiles(projectDir, name, env);
    if (!isLive(other)) continue;
    const theirs = readContract(other)?.contract.guardrails.protectedFiles ?? [];
    const apart = [...ours, ...theirs].filter((pattern) => !(ours.includes(pattern) && theirs.includes(pattern)));
    if (apart.length > 0) return START_TEXTS.otherLoop(name, apart);
  }
  return null;
}

function isLive(files: LoopFiles): boolean {
  const current = readState(files.state);
  if (current.kind !== 'loop' || ['ended', 'awaiting-consent'].includes(current.state.status)) return false;
  return isDriverAlive(files, current.state) !== false;
}
