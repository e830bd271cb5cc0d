import type { Told } from '../../engine/effects.ts';
import { wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { StartedLoop } from '../start/start-loop.ts';
import { applyEffects } from '../turn/apply-effects.ts';
import { newTurn } from '../turn/turn.ts';

/** Opens the plan's first task and returns the prompt to start a client with; null if the loop has ended instead. */
export async function firstPlanPrompt(
  { files, stored, state }: Pick<StartedLoop, 'files' | 'stored' | 'state'>,
  told: Told,
  env: NodeJS.ProcessEnv,
  say: (text: string) => void,
): Promise<string | null> {
  const { planTask } = await import('./plan-task.ts');
  const context = { files, env, now: () => new Date().toISOString() };
  const { policy } = stored.contract;
  const turn = newTurn(context, { state, policy, stored, restored: null, orphaned: false });
  const listener = { notify: (_: unknown, message: string) => say(message), tell: () => undefined };
  const opened = await planTask.openPrompt(turn, { type: 'prompt', ...told }, listener);
  if ('effects' in opened) {
    applyEffects(files, context.now(), opened.effects);
    return null;
  }
  return typeof opened.made === 'string' ? null : wholePrompt(opened.made.assembled);
}
