import { wholePrompt } from '../../core/assemble-prompt.ts';
import type { Told } from '../../core/effects.ts';
import { carryOut } from '../carry-out.ts';
import { heardContext } from '../fresh-turn.ts';
import type { StartedLoop } from '../start-loop.ts';
import { turnWork } from '../turn/run-turn-work.ts';
import type { Turn } from '../turn/turn.ts';
import { openedPrompt, openPlan } from './on-plan.ts';

/**
 * The prompt with which a launcher starts a client on a plan: its first task is opened. null where there is none to work
 * on: then the loop has ended, and says why. `loop` is a loop over a plan, its state as it stands on disk.
 */
export async function firstPlanPrompt(
  { files, stored, state }: Pick<StartedLoop, 'files' | 'stored' | 'state'>,
  told: Told,
  env: NodeJS.ProcessEnv,
  say: (text: string) => void,
): Promise<string | null> {
  const context = heardContext(files, env, '', '');
  const turn: Turn = {
    context,
    options: { timeoutMs: Number.POSITIVE_INFINITY, signal: new AbortController().signal, work: turnWork },
    deadline: Number.POSITIVE_INFINITY,
    notes: [],
    loaded: { kind: 'loop', state, policy: stored.contract.policy, stored, mended: null, orphaned: false },
    task: null,
  };
  const instead = await openPlan(turn, say);
  if (instead !== null) {
    carryOut(files, context.now(), instead);
    return null;
  }
  const prompt = await openedPrompt(turn, told);
  return prompt === null ? null : wholePrompt(prompt);
}
