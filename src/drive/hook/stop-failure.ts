import { apiFailure } from '../../claude/api-failure.ts';
import { transition } from '../../core/transition.ts';
import { carryOut } from '../carry-out.ts';
import { said } from '../texts.ts';
import type { HookContext } from './context.ts';
import { changeOwnLoop } from './with-own-loop.ts';

/**
 * The API refused and the turn is over without a Stop: records it. Under `-p` the client ends this hook before node has
 * started (measured: 14 ms); there the launcher finds the same in the transcript.
 */
export function stopFailure(context: HookContext): { systemMessage: string } | null {
  const at = context.now();
  const error = apiFailure(context.input.raw, context.input.transcriptPath);
  const effects = changeOwnLoop(context, (state, policy) => {
    const next = transition(state, { type: 'api-error', at, error }, policy);
    return { state: next.state, result: next.effects };
  });
  if (effects === null) return null;
  carryOut(context.files, at, effects);
  const notes = effects.flatMap((effect) => (effect.type === 'notify' ? [said(effect.message)] : []));
  return notes.length === 0 ? null : { systemMessage: notes.join('\n') };
}
