import { assemblePrompt, type PromptParts } from '../../core/assemble-prompt.ts';
import { deliverPrompt } from '../../core/deliver-prompt.ts';
import type { Effect } from '../../core/effects.ts';
import type { Policy } from '../../core/schema/policy.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { atLeast } from '../../core/versions.ts';
import { nextText, said } from '../said.ts';
import type { HookContext } from './context.ts';
import { guardrailsPath } from './guardrails-path.ts';

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
  context: HookContext,
  loop: { readonly state: LoopState; readonly policy: Policy; readonly findings?: PromptParts['findings'] },
  step: Extract<Effect, { type: 'prompt' }>,
  body: string,
  notes: readonly string[],
  /** The client's, or null where it is not known. */
  version: string | null,
): StopAnswer {
  const { state, policy } = loop;
  const iteration = state.iteration + 1;
  const prompt = assemblePrompt({
    iteration,
    maxIterations: state.maxIterations,
    notices: step.notices,
    steering: step.steering,
    guardrailsPath: guardrailsPath(context.files.projectDir),
    findings: loop.findings ?? null,
    taskPath: state.taskPath,
    body,
    completion: policy.completion,
    idle: policy.idle !== null,
  });
  const { reason, context: additional } = deliverPrompt(prompt, policy.reinject, {
    takesContext: atLeast(version, TAKES_CONTEXT),
    taskPath: state.taskPath,
  });
  return {
    decision: 'block',
    reason,
    systemMessage: [...notes, nextText(iteration, state.maxIterations)].map(said).join('\n'),
    ...(additional === null
      ? {}
      : { hookSpecificOutput: { hookEventName: 'Stop' as const, additionalContext: additional } }),
  };
}
