import type { ReadState } from '../../state/read-state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { type LoadedLoop, loadLoop } from '../turn/load-loop.ts';
import { withPrefix } from '../turn/messages.ts';
import type { DriverContext } from '../turn/ownership.ts';
import { newTurn, type Turn } from '../turn/turn.ts';
import type { StopAnswer } from './hook-driver.ts';

export type OpenedTurn =
  | { readonly turn: Turn }
  | { readonly answer: StopAnswer | null; readonly found: ReadState['kind'] };

/** Loads this session's own loop under the lock, with its state restored if necessary. */
export function openTurn(context: DriverContext, signal: AbortSignal, deadline: number): OpenedTurn {
  const { loop, found } = withState<{ loop: LoadedLoop; found: ReadState['kind'] }>(
    context.files,
    LOCK_WAIT,
    (current) => {
      const loop = loadLoop(current, context);
      return { next: loop.kind === 'loop' ? loop.loaded.state : 'keep', result: { loop, found: current.kind } };
    },
  );
  if (loop.kind === 'none') {
    return { answer: loop.message === null ? null : { systemMessage: withPrefix(loop.message) }, found };
  }
  const { transcriptPath } = context.input;
  return { turn: newTurn(context, loop.loaded, { transcriptPath, deadline, signal, freshContext: false }) };
}
