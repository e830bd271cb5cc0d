import type { Contract } from '../../../engine/schema/contract.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import type { TddRecord } from '../../../engine/schema/tdd.ts';
import { recordNotice } from '../../../state/event-stream.ts';
import { contractOrLoss, filesAtEnd, lossBy, proveContract, proveEvidence } from '../../../state/evidence/evidence.ts';
import { findContract, findEndedContract, type LoopFiles, type StoredContract } from '../../../state/loop-files.ts';
import { provedSnapshot, withSnapshotLock } from '../../../state/snapshot/snapshot.ts';
import { viewOf } from '../../../task/git/git-view.ts';
import { changedPrograms } from '../../../task/pinned-scripts/pinned-programs.ts';
import { about, type Message, RalphError } from '../../../text/message.ts';
import { shorten } from '../../../text/quote.ts';
import { restoreBeforeResume } from '../../control/restore-protected.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import type { Approved } from '../stages.ts';
import { consentTerms, diffTerms, requireApproved } from '../terms/consent-terms.ts';

/**
 * Returns the contract under which a resumed loop was left, `live` unless the loop has ended: null for a loop without one, and
 * for one whose digest does not prove it. `lost` says why it cannot be trusted.
 */
export function formerEvidence(files: LoopFiles, state: LoopState) {
  const hasEnded = state.status === 'ended' || findEndedContract(files, state.loopId) !== null;
  const isLive = findContract(files) !== 'absent' || !hasEnded;
  const own = isLive ? files : filesAtEnd(files);
  const { stored, lost: gone } = contractOrLoss(own, state);
  const lost = gone ?? (stored && lossBy(() => proveContract(own)));
  const former = lost === null && stored?.contract.loopId === state.loopId ? stored : null;
  return { former, live: isLive ? former : null, lost };
}

/** Returns the lost evidence of a loop that is to be resumed; null if there is none. Changes nothing. */
export function lossOf(files: LoopFiles, state: LoopState): Message | null {
  const { live, lost } = formerEvidence(files, state);
  if (live === null) return lost;
  return lossBy(() => {
    viewOf(files, live.contract);
    withSnapshotLock(files, () => provedSnapshot(files, live.contract));
    proveEvidence(files, live.contract);
  });
}

/** Restores what the agent of a former process changed last. Returns the lost evidence; null if there is none. */
export function lossAtResume(
  files: LoopFiles,
  left: LoopState,
  contract: Contract,
  { contract: { evidence } }: StoredContract,
  how: { readonly env: NodeJS.ProcessEnv; readonly at: string },
): Message | null {
  const known = { ...contract, evidence };
  return lossBy(() => {
    viewOf(files, known);
    restoreBeforeResume(files, left, known, how);
    proveEvidence(files, known);
  });
}

/** Records that the present state replaces lost evidence. Throws `evidence-lost` unless the user said so. */
export function takeNewStart({ prepared, at, gitPins }: Approved, loss: Message, state: LoopState): string {
  const { request, files, terms } = prepared;
  if (request.takesNewStart !== true) throw new RalphError('evidence-lost', about(loss, state));
  if (terms.policy.plan && gitPins === null) throw new RalphError('refused', START_TEXTS.noGitSettings);
  const text = START_TEXTS.newStart(loss.text);
  recordNotice(files, state, { at, kind: 'evidence', text });
  return text;
}

/** Settings on which a completion relies, and those that restrict the agent; a limit proves nothing. */
const DECIDES =
  /^(?:[+-] )?(?:agent|validation|commands|unchanged|completion|required_outputs|open_questions|scenario|script|guardrails|sandbox|findings_log|accept|may_change|may_run|verify_in|permission_mode|isolation)\b/;
const MOST_SHOWN = 600;
const LOCKED = 'the contract of this loop is locked (accept: never), and a resume would change it';

/**
 * Returns the changes of these settings that a resume adopts: the agent may have made them since the start. Throws RalphError
 * `refused` if the former contract is locked, which that of an ended loop no longer is.
 */
export function adoptedChanges(
  former: { readonly contract: Contract; readonly isLive: boolean } | null,
  now: Contract,
  list: TddRecord | null,
): string[] {
  if (former === null || former.contract.loopId !== now.loopId) return [];
  const before = former.contract;
  const [agreed, current] = [consentTerms(before, list), consentTerms(now, list)];
  if (former.isLive && before.accept === 'never') requireApproved(agreed, current, LOCKED);
  const changes = diffTerms(agreed, current).filter((line) => DECIDES.test(line));
  return [...changes, ...changedPrograms(before, Object.keys(before.programs ?? {}), now.environment ?? {})];
}

/** Records what a resume adopts, or a consent beyond the request. Returns the warning. */
export function noteAdopted(
  files: LoopFiles,
  loop: Pick<LoopState, 'loopId' | 'iteration'>,
  at: string,
  changes: readonly string[],
  { digest, isConsent }: { readonly digest: string | undefined; readonly isConsent: boolean },
): string {
  const details = { changes, digest };
  const shown = shorten(changes.join('; '), MOST_SHOWN);
  const text = isConsent ? START_TEXTS.agreedChanges(shown) : START_TEXTS.adoptedByResume(shown);
  recordNotice(files, loop, { at, kind: 'change', text, details });
  return text;
}
