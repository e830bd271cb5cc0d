import { initialState } from '../../engine/initial-state.ts';
import { resumedPlan } from '../../engine/plan/attempt.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { programName } from '../../state/process/program.ts';
import { countChecklist } from '../../text/markdown/checklist.ts';
import { about, RalphError } from '../../text/message.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { requireOpenItems } from './prepare-contract.ts';
import type { Approved } from './stages.ts';

/** Returns the state with which the loop begins or continues. Throws RalphError if it has no open item or iteration left. */
export function beginningState({ prepared, at }: Approved, before: LoopState | null, loopId: string): LoopState {
  const { request, files, resolved, terms, checklist: items } = prepared;
  const { mode = 'hook', consented } = request;
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
