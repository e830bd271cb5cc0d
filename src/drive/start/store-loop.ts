import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { beginCounters } from '../../state/counters-file.ts';
import { listEvidence } from '../../state/evidence/evidence.ts';
import { forgetEvidence, writeContract } from '../../state/evidence/store-evidence.ts';
import { hashContract } from '../../state/hash-contract.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import { removeFormer } from '../../state/with-state.ts';
import { formerView, storeGitView } from '../../task/git/git-view.ts';
import { dropLostStartPoint, writeStartPoint } from '../../task/git/start-point.ts';
import type { ChecklistItem } from '../../text/markdown/lists.ts';
import { storeProtected } from '../control/restore-protected.ts';
import { storeStartEvidence } from '../prompt/gather-evidence.ts';
import { dropLostRecord, storeStartRecord } from '../prompt/project-change.ts';
import { adoptSeen, beginSeen } from '../prompt/seen-record.ts';
import { beginPlanRecords } from '../records/open-task-file.ts';
import { bindList } from '../tdd/scenario-list.ts';
import { otherLoopWarning, unmatchedWarning } from './protection-warnings.ts';
import type { Approved, StartBaseline } from './stages.ts';
import { consentDigest, consentTerms } from './terms/consent-terms.ts';

/** Facts with which a loop begins or continues. */
interface Beginning extends Pick<Approved, 'at' | 'baseline' | 'startPoint' | 'gitPins'> {
  readonly env: NodeJS.ProcessEnv;
  readonly state: LoopState;
  /** Items of a checklist as they are now. */
  readonly items: readonly ChecklistItem[];
  /** Contract of the resumed loop; null for a new loop, or if it is gone. */
  readonly former: Contract | null;
  readonly isNew: boolean;
  /** True if evidence of the resumed loop is lost: the present state replaces it. */
  readonly isLost: boolean;
  readonly keepsListConsent?: boolean;
}

/**
 * Stores all evidence of a loop, then the contract that lists it, so that no loop runs without it. The caller holds the lock of the state.
 * `warnings` name protected files that could not be kept, globs that match nothing, and another live loop that protects other files.
 */
export function storeLoop(
  files: LoopFiles,
  contract: Contract,
  begun: Beginning,
): { readonly stored: StoredContract; readonly warnings: readonly string[] } {
  const { at, env, state, items, former, isNew, isLost } = begun;
  const { loopId, tdd, consented } = contract;
  if (isNew) removeFormer(files);
  // A contract that was made again lists no evidence, so it does not say whether there was a record.
  const unkept = storeProtected(files, contract, env, former);
  if (isNew) beginSeen(files, contract, items);
  else if (isLost || listEvidence(files, loopId)['seen'] === undefined) adoptSeen(files, contract, items);
  beginCounters(files, state);
  if (tdd) bindList(files, tdd, { loopId, at, consented, env, keep: begun.keepsListConsent === true });
  else forgetEvidence(files, loopId, 'scenarios');
  beginPlanRecords(files, loopId, contract.policy.plan !== undefined, former);
  if (begun.baseline !== null || isNew) storeBaseline(files, loopId, at, begun.baseline);
  else if (former !== null) dropLostRecord(files, former);
  storeRepository(files, loopId, begun);
  const unmatched = isNew ? unmatchedWarning(contract, env) : null;
  const warnings = [unkept, unmatched, otherLoopWarning(files, contract, env)].filter((text) => text !== null);
  return { stored: fixContract(files, contract), warnings };
}

/** Stores what belongs to the baseline of a loop, before its contract; null removes that of an earlier one. */
export function storeBaseline(files: LoopFiles, loopId: string, at: string, taken: StartBaseline | null): void {
  storeStartRecord(files, loopId, taken?.record ?? null);
  storeStartEvidence(files, loopId, at, taken?.evidence ?? []);
}

/** Stores the start point of a new loop; drops a resumed one's lost parts, and views the repository afresh. */
function storeRepository(files: LoopFiles, loopId: string, begun: Beginning): void {
  const { former, isNew, isLost, startPoint, gitPins } = begun;
  if (isNew) {
    writeStartPoint(files, loopId, startPoint);
    return;
  }
  if (former !== null) dropLostStartPoint(files, former);
  if (gitPins || isLost) storeGitView(files, loopId, gitPins, formerView(files, former));
}

/** Stores a contract that lists the evidence of its loop, all of which is already stored. */
export function fixContract(files: LoopFiles, contract: Contract): StoredContract {
  const listed = { ...contract, evidence: listEvidence(files, contract.loopId) };
  const stored = { hash: hashContract(listed), contract: listed };
  writeContract(files, stored);
  return stored;
}

export function withConsentDigest(contract: Contract, list: TddRecord | null): Contract {
  return { ...contract, consentDigest: consentDigest(consentTerms(contract, list)) };
}
