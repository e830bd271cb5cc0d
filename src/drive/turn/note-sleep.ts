import { sleptText } from '../../engine/messages.ts';
import { orLogged } from '../../state/loop-files.ts';
import { elapsed } from '../../text/time.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { dispatch, type Turn } from './turn.ts';

/**
 * Leaves the time since then, in which the machine slept or this process was stopped, out of the loop's time. Returns what the
 * user has to know; null if the loop was paused, is over, or its state cannot be written now, which is logged.
 */
export function noteSleep(turn: Turn, since: string): string | null {
  const { files, now } = turn.context;
  const at = now();
  const noted = orLogged(files, at, 'sleep', () => {
    const { effects } = dispatch(turn, { type: 'slept', at, since });
    const recorded = effects.filter(({ type }) => type === 'record-event');
    applyEffects(files, at, recorded);
    return recorded.length > 0;
  });
  return noted === true ? sleptText(elapsed(since, at)) : null;
}
