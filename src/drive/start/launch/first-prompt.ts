import { wholePrompt } from '../../../engine/prompt/assemble-prompt.ts';
import { lossIn } from '../../../state/evidence/lost.ts';
import { readLoop } from '../../../state/loop-files.ts';
import { onSignals } from '../../../state/process/signals.ts';
import { deliveryOf, makePrompt } from '../../effects/make-prompt.ts';
import { applyEffects } from '../../records/apply-effects.ts';
import { LAUNCH_TEXTS } from '../../turn/messages.ts';
import type { Listener } from '../../turn/task-kind.ts';
import { type Dispatched, isStep, type PromptStep, pauseForLoss, startFreshTurn, type Turn } from '../../turn/turn.ts';

/** Size above which a prompt may not fit an argument list; the client is then pointed to the file. */
const ARGUMENT_LIMIT = 100 * 1024;

/** Makes the prompt of the client's first iteration. Returns null if the loop is not running, or no longer is. */
export async function firstPrompt(begun: Turn, say: (text: string) => void): Promise<string | null> {
  const { context, loaded } = begun;
  const { files, now } = context;
  const state = readLoop(files, loaded.state.loopId);
  if (state?.status !== 'running') return null;
  const listener: Listener = {
    notify: (_, message) => say(message),
    tell: (event) => {
      if (event.type === 'command.ran')
        say(LAUNCH_TEXTS.ranCommand(event.name, event.outcome, event.durationMs, event.why));
    },
  };
  const left = new AbortController();
  const leave = (): void => left.abort();
  const quiet = onSignals({ press: leave, leave });
  try {
    let next: Dispatched = startFreshTurn({ ...begun, loaded: { ...loaded, state }, signal: left.signal });
    for (;;) {
      applyEffects(files, now(), next.effects);
      const step = next.effects.find(isStep);
      if (step?.type !== 'prompt') return null;
      const made = await makePromptOrPause(next.turn, step, listener);
      if ('effects' in made) {
        next = made;
        continue;
      }
      const whole = wholePrompt(made.prompt.assembled);
      if (Buffer.byteLength(whole) <= ARGUMENT_LIMIT) return whole;
      return deliveryOf(made.prompt, 'pointer', state.taskPath).reason;
    }
  } finally {
    quiet();
  }
}

/** Makes a prompt. Pauses the loop if evidence is lost; the loop may also have been cancelled meanwhile. */
async function makePromptOrPause(turn: Turn, step: PromptStep, listener: Listener): ReturnType<typeof makePrompt> {
  try {
    return await makePrompt(turn, step, listener);
  } catch (error) {
    return pauseForLoss(turn, lossIn(error));
  }
}
