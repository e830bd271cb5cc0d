import { type DeliveredPrompt, deliverPrompt } from '../../engine/prompt/deliver-prompt.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import { show } from '../../state/process/program.ts';
import { examineAll } from '../control/examine-protected.ts';
import { fileTask } from '../turn/file-task.ts';
import type { Listener, TaskKind } from '../turn/task-kind.ts';
import type { Dispatched, Prompt, PromptStep, Turn } from '../turn/turn.ts';
import { dispatch, handleAbort, isStep } from '../turn/turn.ts';

/** Makes the next prompt. Returns effects if the loop changed or has no task left. */
export async function makePrompt(
  begun: Turn,
  step: PromptStep,
  listener: Listener,
): Promise<Dispatched | { readonly turn: Turn; readonly prompt: Prompt }> {
  const { now } = begun.context;
  const kind = await taskKindOf(begun);
  await examineAroundCommands(begun, 'idle', listener);
  const opened = await kind.openPrompt(begun, step, listener);
  if ('effects' in opened) return opened;
  const { turn, made } = opened;
  await examineAroundCommands(turn, 'checks', listener);
  if (made === 'aborted')
    return handleAbort(dispatch(turn, { type: 'prompt-made', at: now(), outcome: 'given-up' }).turn);
  // Reading a session's prompt file took no time, so nothing can have happened in between.
  if (made !== 'superseded' && made.isTaskFile && !turn.freshContext) return { turn, prompt: made };
  const ready = dispatch(turn, { type: 'prompt-made', at: now(), outcome: 'ready' });
  if (ready.effects.some(isStep)) return ready;
  // The conflicting change was reverted; rebuild the prompt.
  if (made === 'superseded') return { turn: ready.turn, effects: [step] };
  return { turn: ready.turn, prompt: made };
}

/**
 * Examines the protected files before the task's own commands (`idle`), when a change is the user's, and after them: they may
 * run code that the agent has written, so their changes are reverted. An agent without hooks needs the first examination too.
 */
async function examineAroundCommands(turn: Turn, when: 'idle' | 'checks', { notify }: Listener): Promise<void> {
  const { loaded } = turn;
  const { task, agent } = loaded.stored?.contract ?? {};
  if ((task?.commands.length ?? 0) === 0 && agent === undefined) return;
  const found = await examineAll(turn, when);
  for (const text of found?.toUser ?? []) notify(turn, show(text, loaded.state));
}

/** Returns the kind of a turn's task. A loop without a plan never loads the plan's code. */
export async function taskKindOf({ loaded }: Turn): Promise<TaskKind> {
  return loaded.stored?.contract.policy.plan ? (await import('../plan/plan-task.ts')).planTask : fileTask;
}

/** Returns the prompt as an agent receives it: whole, or a pointer to the file that holds it. */
export function deliveryOf(
  { assembled, path, isTaskFile }: Prompt,
  reinject: Policy['reinject'],
  taskPath: string,
): DeliveredPrompt {
  return deliverPrompt(assembled, reinject, isTaskFile ? { taskPath } : { promptPath: path });
}
