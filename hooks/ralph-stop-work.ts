import { clientGone } from '../src/drive/hook/abort-stop.ts';
import type { StopAnswer } from '../src/drive/hook/answer-block.ts';
import { stop } from '../src/drive/hook/stop.ts';
import type { DriverContext } from '../src/drive/turn/driver-context.ts';
import { turnWork } from '../src/drive/turn/run-turn-work.ts';

export { heedCancelFlag } from '../src/drive/hook/abort-stop.ts';

/** The whole decision of a Stop, with everything it may need. */
export function decideStop(
  context: DriverContext,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<StopAnswer | null> {
  const signal = AbortSignal.any([options.signal, clientGone(context)]);
  return stop(context, { ...options, signal, work: turnWork });
}
