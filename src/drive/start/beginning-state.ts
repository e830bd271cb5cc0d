import manifest from '../../../package.json' with { type: 'json' };
import type { Effect } from '../../engine/events.ts';
import { initialState, resumeState } from '../../engine/initial-state.ts';
import { usedUpText } from '../../engine/messages.ts';
import { resumedPlan } from '../../engine/plan/attempt.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { withKept } from '../../state/counters-file.ts';
import { lastSeen } from '../../state/event-stream.ts';
import type { LoopFiles, ReadState, StoredContract } from '../../state/loop-files.ts';
import { readContract, readCounters } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { asleepMs } from '../../state/process/sleep-watch.ts';
import { restoreState } from '../../state/restore-state.ts';
import { archiveState, lastArchived, listArchive, quarantine } from '../../state/with-state.ts';
import { countChecklist } from '../../text/markdown/lists.ts';
import { about, RalphError } from '../../text/message.ts';
import { loopOfFourKeys } from '../control/operate.ts';
import { clientAlive } from '../control/ownership.ts';
import { lostLoop } from '../status/loop-report.ts';
import { HOOK_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { requireOpenItems } from './prepare-contract.ts';
import type { Approved, StartRequest } from './stages.ts';

/** Throws RalphError `refused` if a start must not touch the existing loop. Changes nothing. */
export function checkExistingLoop(
  current: ReadState,
  { existing, consented }: Pick<StartRequest, 'existing' | 'consented'>,
  files: LoopFiles,
): void {
  const isLost = current.kind === 'absent' || current.kind === 'corrupt';
  const lost = isLost && existing === 'refuse' ? lostLoop(files) : null;
  // The user was told of a corrupt state, and how to go on, when it was moved to the archive; an older one is another loop's,
  // and a router told only its host.
  const [moved] = lost === null ? [] : listArchive(files, 1);
  const begunAt = lost?.createdAt.replaceAll(':', '-') ?? '';
  const isMoved = moved?.content.kind === 'corrupt' && moved.file.slice(0, begunAt.length) > begunAt;
  // A new loop in its place would count from nothing.
  if (lost !== null && lost.iteration > 0 && (!isMoved || lost.mode === 'router')) {
    const text = HOOK_TEXTS.stateLost(files.state, lost.iteration);
    throw new RalphError('refused', about(text, { name: files.name, mode: lost.mode }));
  }
  if (current.kind !== 'loop' || current.state.status === 'ended') return;
  const { state } = current;
  if (clientAlive(state))
    throw new RalphError('refused', about(START_TEXTS.alive(state.iteration, state.clientPid ?? 0), state));
  // By starting a loop on which no session has worked, the user agrees to it.
  const isUntouched = state.sessionId === null && state.iteration === 0 && state.status !== 'paused';
  if (existing === 'refuse' && !(isUntouched && consented)) {
    const isAsked = state.status === 'awaiting-consent';
    const text = isAsked ? START_TEXTS.needsConsent : HOOK_TEXTS.interruptedLoop(state.iteration);
    throw new RalphError('refused', about(text, state));
  }
}

/** Returns whether a start continues a loop on which an agent may have worked. */
export function hasBegun(current: ReadState, { existing }: Pick<StartRequest, 'existing'>): boolean {
  if (existing === 'fresh') return false;
  if (current.kind !== 'loop' || current.state.status === 'ended') return existing === 'resume';
  const { status, iteration, turn, epoch } = current.state;
  if (status === 'awaiting-consent') return iteration > 0;
  return existing === 'resume' || iteration > 0 || turn !== 'first' || epoch > 0;
}

export interface Continued {
  /** Loop to continue; null for a new one. */
  readonly before: LoopState | null;
  /** Warning that the state had been replaced by an older one. */
  readonly wentBack?: string | undefined;
}

const NEW_LOOP: Continued = { before: null };

/** Archives or resumes the existing state. */
export function continueExistingLoop(
  current: ReadState,
  request: Pick<StartRequest, 'at' | 'existing' | 'consented' | 'env'>,
  files: LoopFiles,
): Continued {
  const { at, existing, consented } = request;
  checkExistingLoop(current, request, files);
  const resumed = ({ state, wentBack }: Found): Continued => ({
    before: resumeState(state, at, consented, lastSeen(files, state)),
    wentBack,
  });
  switch (current.kind) {
    case 'absent':
      return existing === 'resume' ? resumed(lostOrArchived(files, at)) : NEW_LOOP;
    case 'corrupt':
      quarantine(files, at, 'corrupt');
      return existing === 'resume' ? resumed(lostOrArchived(files, at)) : NEW_LOOP;
    case 'newer':
      throw new RalphError('state-newer', START_TEXTS.newer(files.state));
    case 'four-keys': {
      if (existing === 'refuse') throw new RalphError('refused', HOOK_TEXTS.interruptedLoop(current.file.iteration));
      const adopted = loopOfFourKeys(current.file, files, request.env);
      if (existing === 'resume') return { before: resumeState(adopted, at, consented) };
      archiveState(files, adopted, at, 'interrupted');
      return NEW_LOOP;
    }
    case 'loop': {
      const { state } = current;
      if (state.status === 'ended') archiveState(files, state, state.ended.at, state.ended.as);
      else if (existing === 'fresh') archiveState(files, state, at, 'interrupted');
      if (existing !== 'resume' && (state.status === 'ended' || existing === 'fresh')) return NEW_LOOP;
      // The contract, if any, may be that of a later loop whose state was replaced.
      const isOthers = (readContract(files)?.contract.loopId ?? state.loopId) !== state.loopId;
      return resumed(isOthers ? lostOrArchived(files, at, quarantine(files, at, 'tampered')) : current);
    }
    default:
      return current satisfies never;
  }
}

type Found = Pick<Extract<ReadState, { readonly kind: 'loop' }>, 'state' | 'wentBack'>;

/**
 * Returns the loop whose state file was lost, or replaced by another loop's (`moved`), from its contract and journal; else
 * the last archived loop.
 */
function lostOrArchived(files: LoopFiles, at: string, moved?: string): Found {
  const stored = readContract(files);
  if (stored !== null) {
    const state = restoreState(files, stored, { sessionId: '', clientPid: null, clientStartedAt: null }, at, 0);
    return { state, ...(moved !== undefined && { wentBack: HOOK_TEXTS.restored(moved, state.iteration) }) };
  }
  const last = lastArchived(files);
  if (last === null) throw new RalphError('no-loop', START_TEXTS.nothingToResume);
  const { state } = last;
  if (state.status === 'ended' && state.ended.as === 'complete')
    throw new RalphError('refused', START_TEXTS.finished(state));
  return withKept(files, state, readCounters(files));
}

/** Returns the state with which the loop begins or continues. Throws RalphError if no open item or iteration is left. */
export function beginningState({ prepared, at }: Approved, before: LoopState | null, loopId: string): LoopState {
  const { request, files, resolved, terms, checklist: items } = prepared;
  const { mode = 'hook', consented } = request;
  const { taskPath } = terms;
  const { maxIterations } = resolved.policy;
  const checklist = items && countChecklist(items);
  if (before === null) requireOpenItems(taskPath, items);
  const fixed = { mode, maxIterations, taskPath };
  const known = { ...fixed, contractHash: null, loopId, name: files.name };
  const { asleepMs: _, ...base } = before ?? initialState({ ...known, at, consented, checklist });
  // A runner and a launcher watch the loop's whole time.
  const asleep = mode === 'runner' || request.launched === true ? null : asleepMs();
  const begun: LoopState = {
    ...base,
    ...fixed,
    program: programName(),
    ...(asleep !== null && { asleepMs: asleep }),
    ...(terms.policy.plan && { plan: resumedPlan(base, terms.policy.plan.maxTasks) }),
    ...(checklist && { checklist }),
  };
  const { iteration } = begun;
  if (iteration >= maxIterations) {
    const used = usedUpText(`This loop has used ${iteration} of ${maxIterations} iterations.`, iteration, terms.policy);
    throw new RalphError('usage', about(used, begun));
  }
  return begun;
}

/** Records what a report needs after the end, when the contract is gone: limits, checks, surroundings. */
export function startedEvent(
  state: LoopState,
  { hash, contract }: StoredContract,
  at: string,
  isResumed: boolean,
): Effect {
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
  const type = isResumed ? 'loop.resumed' : 'loop.started';
  return { type: 'record-event', event: { type, at, loopId, iteration, maxIterations, taskPath, ...facts } };
}
