import { untilTimeUp } from '../../../engine/policy/loop-time.ts';
import type { HookInput } from '../../../hosts/hook-io/hook-input.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import { after } from '../../../text/time.ts';
import { applyEffects } from '../../records/apply-effects.ts';
import { recordEvent } from '../../records/journal.ts';
import { announceRestored, type Dispatched, type Driver, dispatch, handleAbort, type Turn } from '../../turn/turn.ts';
import { type WaitEnd, waitUntil, withCommandText } from '../../turn/wait.ts';

/**
 * Waits inside the hook for background work that will wake the session, at most `background_wait`. `none`: there is nothing
 * to wait for; `over`: the state after the wait decides the turn.
 */
export async function waitForBackground(
  opened: Turn,
  { backgroundTasks: tasks, lastMessage }: Pick<HookInput, 'backgroundTasks' | 'lastMessage'>,
  driver: Driver<HookAnswer | null>,
): Promise<Dispatched | 'none' | 'over'> {
  const { state, policy, lost } = opened.loaded;
  const awaited = tasks.filter(({ running, id }) => running && !state.waitedOut.includes(id));
  if (awaited.length === 0 || lost !== null || state.status === 'paused' || state.status === 'awaiting-consent')
    return 'none';
  const taskIds = awaited.map(({ id }) => id);
  // The Stop decided after the wait finds a complete state, so a restored one is announced first.
  const { turn, effects: announced } = announceRestored(opened);
  const { deadline, context } = turn;
  applyEffects(context.files, context.now(), announced);
  for (const effect of announced) if (effect.type === 'notify') driver.notify(turn, effect.message);
  const signal = turn.signal();
  const { backgroundWait } = await import('../../turn/background-wait.ts');
  const next = backgroundWait({
    projectDir: context.files.projectDir,
    env: context.env,
    policy,
    message: lastMessage ?? '',
    commands: awaited.map(({ command }) => command),
    tell: (text, waitMs) => recordWait(turn, text, waitMs),
  });
  let end: WaitEnd = 'elapsed';
  for (let ms = next(); ms !== null; ms = end === 'elapsed' ? next() : null) {
    const limit = untilTimeUp(turn.loaded.state, policy.budget, context.now(), after(context.now(), ms));
    const until = Date.parse(limit);
    end = await waitUntil(turn, { until, deadline, signal, state: turn.loaded.state, taskPath: null, tasks: taskIds });
  }
  const at = turn.context.now();
  switch (end) {
    case 'aborted':
      return handleAbort(turn);
    case 'message':
    case 'notification':
      return dispatch(turn, { type: 'turn-released', at, why: end === 'message' ? end : 'background' });
    case 'command':
      return withCommandText(dispatch(turn, { type: 'turn-released', at, why: 'message' }));
    case 'elapsed':
    case 'deadline':
      applyEffects(turn.context.files, at, dispatch(turn, { type: 'waited-out', at, taskIds }).effects);
      return 'over';
    case 'state-changed':
    case 'changed':
      return 'over';
    default:
      return end satisfies never;
  }
}

/** Records what the loop waits for and how long, for views: a hook prints nothing while it waits. */
function recordWait({ context, loaded }: Turn, message: string, waitMs: number): void {
  const { files, now } = context;
  const { loopId, iteration } = loaded.state;
  const until = new Date(Date.now() + waitMs).toISOString();
  recordEvent(files, now(), { type: 'background.awaited', at: now(), loopId, iteration, until, message });
}
