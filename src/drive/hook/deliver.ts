import type { StoredContract } from '../../engine/schema/contract.ts';
import type { LiveState } from '../../engine/schema/state.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { endOverBudget } from '../control/end-over-budget.ts';
import type { DriverContext } from '../control/ownership.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { hasCancelFlag } from './guarded-loop.ts';
import { applyFlags } from './stop/abort-stop.ts';
import { turnEnds } from './tool-answer.ts';

export { deliverSteering } from './user-prompt-submit.ts';

/** Ends a session's loop that a cancel flag names or that has used its budget; null if it continues. A runner watches by itself. */
export function endIfDue(context: DriverContext, loop: LiveState, stored: StoredContract): HookAnswer | null {
  const { files, input, now } = context;
  const { contract } = stored;
  if (hasCancelFlag(files, contract) && applyFlags(context, stored, () => undefined)) return turnEnds();
  if (loop.turn === 'user') return null;
  const spent = endOverBudget(files, loop, contract, { at: now(), transcriptPath: input.transcriptPath });
  return spent === null ? null : turnEnds(spent, HOOK_TEXTS.budgetUsed(spent));
}
