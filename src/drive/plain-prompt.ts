import { type AssembledPrompt, assemblePrompt, type PromptParts } from '../core/assemble-prompt.ts';
import type { Policy } from '../core/schema/policy.ts';
import type { LoopState } from '../core/schema/state.ts';
import { guardrailsPath } from './guardrails-path.ts';

/** The prompt of the next iteration of a loop whose task is its prompt file: every driver sends the same. */
export function plainPrompt(
  projectDir: string,
  { state, policy }: { readonly state: LoopState; readonly policy: Policy },
  told: Pick<PromptParts, 'notices' | 'steering' | 'findings' | 'body' | 'beside'>,
): AssembledPrompt {
  return assemblePrompt({
    ...told,
    iteration: state.iteration + 1,
    maxIterations: state.maxIterations,
    guardrailsPath: guardrailsPath(projectDir),
    taskPath: state.taskPath,
    completion: policy.completion,
    idle: policy.idle !== null,
  });
}
