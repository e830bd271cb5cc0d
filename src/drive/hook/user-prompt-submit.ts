import { isNotification } from '../../claude/queued-messages.ts';
import { blockOverridden } from '../../claude/transcript.ts';
import type { Effect } from '../../core/effects.ts';
import type { EngineEvent } from '../../core/events.ts';
import { transition } from '../../core/transition.ts';
import { carryOut } from '../carry-out.ts';
import { said } from '../texts.ts';
import { clearTombstone, underTombstone } from '../tombstone.ts';
import type { DriverContext } from '../turn/context.ts';
import { changeOwnLoop, ownLoop } from './with-own-loop.ts';

/** How the client begins a turn of its own when a usage limit has reset. */
const CONTINUATION = /^Your claude\.ai usage limit has reset\./;

/** Somebody speaks in the session: tells the engine who, and the user what that means for the loop. */
export function userPromptSubmit(context: DriverContext): { systemMessage: string } | null {
  if (underTombstone(context)) clearTombstone(context.files);
  const state = ownLoop(context);
  if (state === null) return null;
  const { promptId, prompt, transcriptPath } = context.input;
  const at = context.now();
  const by = isNotification(prompt) ? 'notification' : CONTINUATION.test(prompt ?? '') ? 'continuation' : 'user';
  const ourWordStands = state.turn === 'agent' && promptId !== state.promptId && state.lastDecision !== null;
  const overridden = ourWordStands && blockOverridden(transcriptPath, state.lastDecision?.at ?? at);
  const events: EngineEvent[] = [{ type: 'user-prompt', at, promptId, by }];
  if (overridden) events.unshift({ type: 'block-overridden', at });
  const effects = changeOwnLoop(context, (current, policy) => {
    let next: typeof current | ReturnType<typeof transition>['state'] = current;
    const all: Effect[] = [];
    for (const event of events) {
      const step = transition(next, event, policy);
      next = step.state;
      all.push(...step.effects);
    }
    return { state: next, result: all };
  });
  if (effects === null) return null;
  carryOut(context.files, at, effects);
  const notes = effects.flatMap((effect) => (effect.type === 'notify' ? [said(effect.message)] : []));
  return notes.length === 0 ? null : { systemMessage: notes.join('\n') };
}
