import type { Tell } from '../../../engine/runner-event.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import { withPrefix } from '../../../state/process/program.ts';
import { launchedHeadless } from '../../control/ownership.ts';
import { deliveryOf } from '../../effects/make-prompt.ts';
import { recordLive } from '../../records/live-events.ts';
import { announcement } from '../../turn/messages.ts';
import type { Driver, Prompt, Turn } from '../../turn/turn.ts';
import { waitStep } from '../../turn/wait.ts';

/** Drives a loop from inside its session: blocks the stop with the next prompt, or allows it. null means no output. */
export function hookDriver(notes: string[]): Driver<HookAnswer | null> {
  let record: Tell | null = null;
  return {
    deliver: async (turn, prompt) => ({ answer: block(turn, prompt, notes) }),
    wait: waitStep,
    release: async (turn, step) => ({ answer: step?.type === 'allow' ? await allow(turn, step.message, notes) : null }),
    notify: (_, message) => void notes.push(message),
    tell: ({ context, loaded }, event) => {
      record ??= recordLive(context.files, loaded.state, () => undefined);
      record(event);
    },
  };
}

function block(turn: Turn, prompt: Prompt, notes: readonly string[]): HookAnswer {
  const { state, policy } = turn.loaded;
  const { reason, context } = deliveryOf(prompt, policy.reinject, state.taskPath);
  const announced = announcement(prompt.step.steering);
  const lines = [...notes, `iteration ${state.iteration + 1} of ${state.maxIterations}.`];
  return {
    decision: 'block',
    reason,
    systemMessage: [...(announced === null ? [] : [announced]), ...lines.map((each) => withPrefix(each))].join('\n'),
    ...(context === null ? {} : { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: context } }),
  };
}

async function allow(turn: Turn, message: string | null, notes: readonly string[]): Promise<HookAnswer | null> {
  const { signal, loaded, context } = turn;
  const lines = message === null ? notes : [...notes, await endText(message, loaded.state, context)];
  // After an abort the client ignores the answer.
  if (lines.length === 0 || signal().aborted) return null;
  return { systemMessage: lines.map((each) => withPrefix(each)).join('\n') };
}

/** Returns the message, and the report of an ended loop, which also contains the next command. */
async function endText(message: string, state: LoopState, { files, env }: Turn['context']): Promise<string> {
  if (state.status !== 'ended') return message;
  const { messageBeside, reportText } = await import('../../status/end-report.ts');
  const { leftRunningText } = await import('../../status/left-running.ts');
  // A headless launcher ends it, once its client has exited.
  const left = launchedHeadless(env) ? null : leftRunningText(state.loopId);
  const report = await reportText(files, state, env);
  return `${messageBeside(report, state, message)}${left === null ? '' : `\n${left}`}${report}`;
}
