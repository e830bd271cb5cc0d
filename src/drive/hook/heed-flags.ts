import type { LoopState } from '../../core/schema/state.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import { countedBy, mirrorOf } from '../task/mirror.ts';
import { obeyFlags } from '../task/obey-flags.ts';
import { HOOK_TEXTS, said } from '../texts.ts';
import { clearTombstone } from '../tombstone.ts';
import type { DriverContext } from '../turn/context.ts';
import { ownership } from '../turn/ownership.ts';
import type { StopAnswer } from './answer-block.ts';

/**
 * Does at a Stop what a flag file in the task folder asks for: a stop goes to the engine, which ends the loop after this
 * iteration; a cancel ends it now, and the answer lets the turn end. null where the Stop is to be decided as ever.
 */
export function heedFlags(context: DriverContext, stored: StoredContract | null): StopAnswer | null {
  // A session's Stops come one after the other: what none of them has shown by now, none will.
  const lost = (state: LoopState): void => mirrorOf(context.files, context.now()).lost(countedBy(state));
  if (!obey(context, stored, lost)) return null;
  clearTombstone(context.files);
  return { systemMessage: said(HOOK_TEXTS.cancelledStop) };
}

/** The same in the middle of a turn, where a cancel flag was seen: whether the loop is cancelled now. */
export function heedCancelFlag(context: DriverContext, stored: StoredContract): boolean {
  return obey(context, stored, () => undefined);
}

function obey(
  context: DriverContext,
  stored: StoredContract | null,
  beforeCancel: (state: LoopState) => void,
): boolean {
  if (stored === null) return false;
  const { files, env, now } = context;
  const isOurs = (state: LoopState): boolean => ownership(state, context) !== 'foreign';
  return obeyFlags(files, env, now(), stored.contract, { isOurs, beforeCancel });
}
