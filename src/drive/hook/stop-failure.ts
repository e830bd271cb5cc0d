import { setTimeout as sleep } from 'node:timers/promises';
import { apiFailure, lastApiError } from '../../claude/transcript/api-failure.ts';
import type { ApiError } from '../../engine/events.ts';
import { transition } from '../../engine/transition.ts';
import { applyEffects } from '../turn/apply-effects.ts';
import { said } from '../turn/messages.ts';
import type { DriverContext } from '../turn/ownership.ts';
import { changeOwnLoop, ownLoop } from './own-loop.ts';

/** The line of the error in the transcript is this young, or of an earlier one. */
const YOUNG_MS = 10_000;
/** How long to wait for that line: the client writes it while this hook starts (measured: 2 of 3 times too late). */
const LINE_WAIT_MS = 2_000;

/**
 * The API refused and the turn is over without a Stop: records it. Under `-p` the client ends this hook before node has
 * started (measured: 14 ms); there the launcher finds the same in the transcript.
 */
export async function stopFailure(context: DriverContext): Promise<{ systemMessage: string } | null> {
  if (ownLoop(context) === null) return null; // nothing to record: another session waits for no line
  const error = await failure(context);
  const at = context.now();
  const effects = changeOwnLoop(context, (state, policy) => {
    const next = transition(state, { type: 'api-error', at, error }, policy);
    return { state: next.state, result: next.effects };
  });
  if (effects === null) return null;
  applyEffects(context.files, at, effects);
  const notes = effects.flatMap((effect) => (effect.type === 'notify' ? [said(effect.message)] : []));
  return notes.length === 0 ? null : { systemMessage: notes.join('\n') };
}

/** Only the transcript says when a usage limit resets. */
async function failure({ input: { raw, transcriptPath } }: DriverContext): Promise<ApiError> {
  const began = Date.now();
  while (apiFailure(raw, transcriptPath).kind === 'rate-limited' && Date.now() < began + LINE_WAIT_MS) {
    const line = lastApiError(transcriptPath);
    if (line?.at != null && Date.parse(line.at) > began - YOUNG_MS) break;
    await sleep(50);
  }
  return apiFailure(raw, transcriptPath);
}
