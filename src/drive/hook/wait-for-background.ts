import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { carryOut } from '../turn/apply-effects.ts';
import type { DriverContext } from '../turn/driver-context.ts';
import { loadLoop } from '../turn/load-loop.ts';
import { said } from '../turn/messages.ts';
import { feed, type Turn, type TurnOptions, toldToGo } from '../turn/turn.ts';
import { waitOut } from '../turn/wait.ts';
import type { StopAnswer } from './answer-block.ts';
import { carryOn } from './carry-on.ts';

/**
 * Background work that will wake the session by itself: waits inside the hook, because a stop that is allowed while a
 * shell runs on brings no further Stop. A notification or a message of the user lets the turn end with nothing counted;
 * past `background_wait` those tasks are given up and the Stop is decided as if nothing ran.
 */
export async function waitForBackground(
  context: DriverContext,
  options: TurnOptions,
  deadline: number,
  /** What the user should read beside the decision, whoever makes it. */
  notes: string[],
): Promise<StopAnswer | null | 'decide'> {
  const running = context.input.backgroundTasks.filter((task) => task.running);
  if (running.length === 0) return 'decide';
  const loaded = withState(context.files, LOCK_WAIT, (current) => {
    const found = loadLoop(current, context);
    return { next: found.kind === 'loop' ? found.state : 'keep', result: found };
  });
  if (loaded.kind === 'none') return loaded.message === null ? null : { systemMessage: said(loaded.message) };
  const awaited = running.filter(({ id }) => !loaded.state.waitedOut.includes(id));
  const { status } = loaded.state;
  if (awaited.length === 0 || status === 'paused' || status === 'awaiting-consent') return 'decide';
  const turn: Turn = { context, options, deadline, notes, loaded };
  if (loaded.mended !== null) tellMended(turn, loaded.mended);
  const end = await waitOut(context, {
    until: Date.now() + loaded.policy.backgroundWaitMs,
    deadline,
    signal: options.signal,
    state: loaded.state,
    taskPath: null,
    tasks: awaited.map(({ id }) => id),
  });
  const at = context.now();
  switch (end) {
    case 'aborted':
      return carryOn(turn, toldToGo(turn));
    case 'message':
      return carryOn(turn, feed(turn, { type: 'turn-released', at, why: 'message' }));
    case 'notification':
      return carryOn(turn, feed(turn, { type: 'turn-released', at, why: 'background' }));
    case 'elapsed':
    case 'deadline':
      carryOut(context.files, at, feed(turn, { type: 'waited-out', at, taskIds: awaited.map(({ id }) => id) }));
      return 'decide';
    case 'state-changed':
    case 'changed':
      return 'decide';
    default:
      return end satisfies never;
  }
}

/** The Stop that is decided after the wait finds the state whole: what was mended has to be told before. */
function tellMended(turn: Turn, warning: string): void {
  const at = turn.context.now();
  const effects = feed(turn, { type: 'noticed', at, key: `mended ${at}`, warning });
  carryOut(turn.context.files, at, effects);
  for (const effect of effects) if (effect.type === 'notify') turn.notes.push(effect.message);
}
