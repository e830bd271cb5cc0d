import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type AssembledPrompt, assemblePrompt, type PromptParts } from '../../engine/prompt/assemble-prompt.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import type { LoopState } from '../../engine/schema/state.ts';

/** Assembles the next prompt of a loop whose task is a prompt file. */
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

/** Returns the relative path of the project's guardrails file, or null if it has none. */
export function guardrailsPath(projectDir: string): string | null {
  const path = '.claude/ralph/guardrails.md';
  return existsSync(join(projectDir, path)) ? path : null;
}
