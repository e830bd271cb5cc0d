import type { HookInput } from '../../claude/hook-io/hook-input.ts';
import { applyEffects } from '../turn/apply-effects.ts';
import { dispatch, handleAbort } from '../turn/dispatch.ts';
import type { Driver } from '../turn/driver.ts';
import { announceRestored } from '../turn/end-turn.ts';
import { runEffects } from '../turn/run-effects.ts';
import type { Dispatched, Turn } from '../turn/turn.ts';
import { waitUntil } from '../turn/wait.ts';
import type { StopAnswer } from './hook-driver.ts';
import type { OpenedTurn } from './open-turn.ts';

/** Waits inside the hook for background work that wakes the session; past `background_wait` it is ignored. */
export async function waitForBackground(
  tasks: HookInput['backgroundTasks'],
  open: () => OpenedTurn,
  driver: Driver<StopAnswer | null>,
): Promise<{ readonly answer: StopAnswer | null } | 'decide'> {
  const running = tasks.filter((task) => task.running);
  if (running.length === 0) return 'decide';
  const opened = open();
  if ('answer' in opened) return { answer: opened.answer };
  const { state, policy } = opened.turn.loaded;
  const taskIds = running.map(({ id }) => id).filter((id) => !state.waitedOut.includes(id));
  if (taskIds.length === 0 || state.status === 'paused' || state.status === 'awaiting-consent') return 'decide';
  // The Stop that is decided after the wait finds the state whole, so a restored one is announced first.
  const turn = applyAndNotify(announceRestored(opened.turn), driver);
  const { deadline, signal } = turn;
  const until = Date.now() + policy.backgroundWaitMs;
  const end = await waitUntil(turn, {
    until,
    deadline,
    signal,
    state: turn.loaded.state,
    taskPath: null,
    tasks: taskIds,
  });
  const run = async ({ turn: after, effects }: Dispatched): Promise<{ readonly answer: StopAnswer | null }> => ({
    answer: await runEffects(after, driver, effects),
  });
  const at = turn.context.now();
  switch (end) {
    case 'aborted':
      return run(handleAbort(turn));
    case 'message':
      return run(dispatch(turn, { type: 'turn-released', at, why: 'message' }));
    case 'notification':
      return run(dispatch(turn, { type: 'turn-released', at, why: 'background' }));
    case 'elapsed':
    case 'deadline':
      applyEffects(turn.context.files, at, dispatch(turn, { type: 'waited-out', at, taskIds }).effects);
      return 'decide';
    case 'state-changed':
    case 'changed':
      return 'decide';
    default:
      return end satisfies never;
  }
}

function applyAndNotify({ turn, effects }: Dispatched, driver: Driver<StopAnswer | null>): Turn {
  applyEffects(turn.context.files, turn.context.now(), effects);
  for (const effect of effects) if (effect.type === 'notify') driver.notify(turn, effect.message);
  return turn;
}
