import type { Effect } from '../../engine/effects.ts';
import type { PromptParts } from '../../engine/prompt/assemble-prompt.ts';
import { type DeliveredPrompt, deliverPrompt, deliverTaskPrompt } from '../../engine/prompt/deliver-prompt.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { atLeast } from '../../text/version.ts';
import { plainPrompt } from '../prompt/plain-prompt.ts';
import type { TaskPrompt } from '../prompt/task-prompt.ts';
import type { DriverContext } from '../turn/driver-context.ts';
import { nextText, said } from '../turn/messages.ts';

/** The answer to a Stop: a block with the next prompt, a word to the user, or null for plain silence. */
export interface StopAnswer {
  readonly decision?: 'block';
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: { readonly hookEventName: 'Stop'; readonly additionalContext: string };
}

/** Additional context from a Stop hook came with this client. */
const TAKES_CONTEXT = '2.1.163';

/** The block that sends the task back, in the form the loop and the client take it. */
export function blockAnswer(
  context: DriverContext,
  loop: {
    readonly state: LoopState;
    readonly policy: Policy;
    readonly findings?: PromptParts['findings'];
    readonly beside?: readonly string[];
  },
  step: Extract<Effect, { type: 'prompt' }>,
  body: string,
  notes: readonly string[],
  /** The client's, or null where it is not known. */
  version: string | null,
): StopAnswer {
  const { state, policy } = loop;
  const { notices, steering } = step;
  const told = { notices, steering, findings: loop.findings ?? null, body, beside: loop.beside };
  const prompt = plainPrompt(context.files.projectDir, loop, told);
  const takesContext = atLeast(version, TAKES_CONTEXT);
  return block(state, deliverPrompt(prompt, policy.reinject, { takesContext, taskPath: state.taskPath }), notes);
}

/** The same for a task folder's prompt, which was made before. */
export function taskBlockAnswer(
  { state, policy }: { readonly state: LoopState; readonly policy: Policy },
  { prompt, path }: TaskPrompt,
  notes: readonly string[],
  version: string | null,
): StopAnswer {
  const takesContext = atLeast(version, TAKES_CONTEXT);
  return block(state, deliverTaskPrompt(prompt, policy.reinject, { takesContext, promptPath: path }), notes);
}

function block(
  { iteration, maxIterations }: LoopState,
  { reason, context }: DeliveredPrompt,
  notes: readonly string[],
): StopAnswer {
  return {
    decision: 'block',
    reason,
    systemMessage: [...notes, nextText(iteration + 1, maxIterations)].map(said).join('\n'),
    ...(context === null ? {} : { hookSpecificOutput: { hookEventName: 'Stop' as const, additionalContext: context } }),
  };
}
