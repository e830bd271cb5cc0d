import type { Contract } from '../../../engine/schema/contract.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import type { TddRecord } from '../../../engine/schema/tdd.ts';
import { recordNotice } from '../../../state/event-stream.ts';
import { hashContract } from '../../../state/hash-contract.ts';
import { type LoopFiles, readContract, type StoredContract } from '../../../state/loop-files.ts';
import { RalphError } from '../../../text/message.ts';
import { type Operated, operate, type Person } from '../../control/operate.ts';
import { storeProtected } from '../../control/restore-protected.ts';
import { bindList, listUnder } from '../../tdd/scenario-list.ts';
import { HOOK_TEXTS, START_TEXTS } from '../../turn/messages.ts';
import { lastLoopIn } from '../find-task.ts';
import { preparedTerms } from '../prepare-contract.ts';
import type { Approved, StartBaseline } from '../stages.ts';
import { fixContract, storeBaseline } from '../store-loop.ts';
import { type ConsentTerms, consentDigest, consentTerms, requireApproved } from '../terms/consent-terms.ts';

/** Returns the contract that awaits consent. Throws RalphError `refused` if no loop is live, `contract-missing` or `contract-changed`. */
export function pendingContract(files: LoopFiles): Contract {
  const stored = readContract(files);
  const last = stored === null ? lastLoopIn(files) : null;
  if (last?.status === 'ended') throw new RalphError('refused', START_TEXTS.nothingPending(last.ended.as));
  if (stored === null && last === null) throw new RalphError('refused', START_TEXTS.nonePending);
  return proved(stored).contract;
}

/** Returns the terms that await consent. Throws like `pendingContract`. */
export function pendingTerms(files: LoopFiles): ConsentTerms {
  const contract = pendingContract(files);
  return consentTerms(contract, listUnder(files, contract.tdd));
}

export interface Consent {
  /** Null if no person had to agree. */
  readonly by: Person | null;
  /** Results of the checks, which needed consent first; null if they are not to run. */
  readonly baseline: StartBaseline | null;
}

/** Records consent, first in the contract. Throws, changing nothing, if other terms were approved. */
export function giveConsent(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  approved: ConsentTerms,
  { by, baseline }: Consent,
): Operated {
  return operate(files, env, at, (state) => {
    const { hash, contract } = proved(readContract(files));
    if (contract.consented) return { kind: 'consent', contractHash: hash };
    const { tdd, loopId } = contract;
    requireApproved(approved, pendingTerms(files));
    if (tdd !== undefined) bindList(files, tdd, { loopId, at, consented: true, env, keep: true });
    const results = baseline === null ? {} : { baseline: baseline.baseline };
    const agreed = { ...contract, consented: true, consentDigest: consentDigest(approved), ...results };
    recordConsent(files, state, at, approved, by);
    // Under one lock with the state: a Stop in between would report tampering.
    storeProtected(files, agreed, env);
    if (baseline !== null) storeBaseline(files, loopId, at, baseline);
    return { kind: 'consent', contractHash: fixContract(files, agreed).hash };
  });
}

/** Records who approved a start. Throws `refused`, with the difference, if its terms are not those that were shown. */
export function recordApproval(
  { prepared, approval, at }: Approved,
  loop: Pick<LoopState, 'loopId' | 'iteration'>,
  list: TddRecord | null,
): void {
  if (approval === null) return;
  requireApproved(approval.terms, preparedTerms(prepared, list));
  recordConsent(prepared.files, loop, at, approval.terms, approval.by);
}

/** Records that a person agreed to a loop requested by an agent. */
function recordConsent(
  files: LoopFiles,
  loop: Pick<LoopState, 'loopId' | 'iteration'>,
  at: string,
  terms: ConsentTerms,
  by: Person | null,
): void {
  if (by === null) return;
  const details = { ...by, digest: consentDigest(terms), terms };
  recordNotice(files, loop, {
    at,
    kind: 'consent',
    text: `to the loop that an agent requested, in terminal ${by.terminal ?? '(unknown)'}.`,
    details,
  });
}

function proved(stored: StoredContract | null): StoredContract {
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  if (hashContract(stored.contract) !== stored.hash)
    throw new RalphError('contract-changed', HOOK_TEXTS.contractChanged);
  return stored;
}
