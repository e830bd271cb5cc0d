import type { AssembledPrompt } from '../../core/assemble-prompt.ts';
import type { Effect, Told } from '../../core/effects.ts';
import type { CheckResult } from '../../core/events.ts';
import type { Contract } from '../../core/schema/contract.ts';
import { carryOut } from '../carry-out.ts';
import { HOOK_TEXTS } from '../texts.ts';
import { feed, isStep, type Turn, toldToGo } from '../turn/turn.ts';
import { unlessOvertaken } from '../unless-overtaken.ts';
import { openTask, planPrompt } from './open-task.ts';
import type { PlanPlace } from './plan-place.ts';
import { verifyAttempt } from './verify-task.ts';

/** Only of a loop over a plan. */
function placeOf(turn: Turn, contract: Contract): PlanPlace {
  const { context, options } = turn;
  return {
    files: context.files,
    contract,
    state: () => turn.loaded.state,
    env: context.env,
    signal: options.signal,
    now: context.now,
    feed: (event) => feed(turn, event),
  };
}

/**
 * Opens the plan's next task, for the prompt that comes next. Gives what has to be done instead of a prompt, or null;
 * what the user has to hear goes through `tell`.
 */
export async function openStep(
  turn: Turn,
  contract: Contract,
  tell: (message: string) => void,
): Promise<readonly Effect[] | null> {
  const { context, options } = turn;
  let effects: readonly Effect[];
  try {
    effects = await openTask(placeOf(turn, contract));
  } catch (error) {
    if (options.signal.aborted) return toldToGo(turn);
    throw error;
  }
  if (effects.some(isStep)) return effects;
  carryOut(context.files, context.now(), effects);
  for (const effect of effects) if (effect.type === 'notify') tell(effect.message);
  return null;
}

/** The prompt of the task that openStep has opened. */
export function promptStep(turn: Turn, contract: Contract, told: Told): AssembledPrompt | null {
  return planPrompt(placeOf(turn, contract), told);
}

const GIVEN_UP: CheckResult = { name: 'checks', outcome: 'unavailable', detail: HOOK_TEXTS.checksGivenUp };

/** Verifies the attempt that ended, writes what follows from it, and tells the engine. */
export async function verifyPlanStep(turn: Turn, contract: Contract): Promise<readonly Effect[]> {
  const { context, options, loaded } = turn;
  const { files, env } = context;
  const { contractHash, iteration } = loaded.state;
  const checked = await unlessOvertaken(files, loaded.state, options.signal, (signal) =>
    verifyAttempt({ ...placeOf(turn, contract), signal }, () =>
      options.work.runChecks(loaded.stored, files.projectDir, { signal, env, contractHash, iteration }),
    ),
  );
  if (checked === 'aborted') return toldToGo(turn);
  const at = context.now();
  // What was given up proves nothing, should the loop be at its claim again.
  if (checked === 'overtaken') return feed(turn, { type: 'verified', at, results: [GIVEN_UP] });
  return feed(turn, { type: 'verified', at, ...checked });
}
