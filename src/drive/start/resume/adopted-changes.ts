import type { Contract } from '../../../engine/schema/contract.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import type { TddRecord } from '../../../engine/schema/tdd.ts';
import type { LoopFiles } from '../../../state/loop-files.ts';
import { recordNotice } from '../../../state/record-notice.ts';
import { changedPrograms } from '../../../task/pinned-scripts/pinned-programs.ts';
import { shorten } from '../../../text/quote.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import { consentTerms, diffTerms, requireApproved } from '../terms/consent-terms.ts';

/** Settings on which a completion relies, and those that restrict the agent; a limit proves nothing. */
const DECIDES =
  /^(?:[+-] )?(?:agent|validation|commands|unchanged|completion|required_outputs|open_questions|scenario|script|guardrails|sandbox|findings_log|accept|may_change|may_run|verify_in|permission_mode|isolation)\b/;
const MOST_SHOWN = 600;
const LOCKED = 'the contract of this loop is locked (accept: never), and a resume would change it';

/**
 * Returns the changes of these settings that a resume adopts: the agent may have made them since the start. Throws RalphError
 * `refused` if the former contract is locked; the one of an ended loop no longer is.
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
