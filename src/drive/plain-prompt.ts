import { type AssembledPrompt, assemblePrompt, type PromptParts } from '../core/assemble-prompt.ts';
import type { Policy } from '../core/schema/policy.ts';
import type { LoopState } from '../core/schema/state.ts';
import { guardrailsPath } from './hook/guardrails-path.ts';

/** The prompt of the next iteration of a loop whose task is its prompt file: every driver sends the same. */
export function plainPrompt(
  projectDir: string,
  { state, policy }: { readonly state: LoopState; readonly policy: Policy },
  told: Pick<PromptParts, 'notices' | 'steering' | 'findings' | 'body' | 'work' | 'memory'>,
): AssembledPrompt {
  const { notices, steering, findings, body, work, memory } = told;
  return assemblePrompt({
    iteration: state.iteration + 1,
    maxIterations: state.maxIterations,
    notices,
    steering,
    guardrailsPath: guardrailsPath(projectDir),
    findings,
    taskPath: state.taskPath,
    body,
    work,
    memory,
    completion: policy.completion,
    idle: policy.idle !== null,
  });
}
