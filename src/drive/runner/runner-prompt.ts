import { assemblePrompt, wholePrompt } from '../../core/assemble-prompt.ts';
import type { Effect } from '../../core/effects.ts';
import type { Evidence } from '../../task/run-evidence.ts';
import type { Loaded } from '../hook/carry-on.ts';
import { guardrailsPath } from '../hook/guardrails-path.ts';
import { realFindings } from '../hook/open-findings.ts';
import { taskPrompt } from '../task/task-prompt.ts';
import type { Runner } from './runner.ts';

/**
 * The prompt of the next iteration, whole, as the hook would send it back. Runs a task folder's commands first. Rejects
 * with the reason for leaving, once no command is left.
 */
export async function runnerPrompt(
  { turn, files, options }: Runner,
  stored: NonNullable<Loaded['stored']>,
  told: Pick<Extract<Effect, { type: 'prompt' }>, 'notices' | 'steering'>,
  body: string,
): Promise<string> {
  const { state } = turn.loaded;
  const { contract } = stored;
  const findings = realFindings(files.projectDir, stored, state.lastFindingsCount);
  if (contract.task !== null) {
    const onEvidence = ({ name, outcome, durationMs }: Evidence): void =>
      options.tell({ type: 'command-ran', name, outcome, durationMs });
    const { env, now } = turn.context;
    const { signal } = turn.options;
    const { task } = contract;
    const made = await taskPrompt({ files, contract, task, state, body, told, findings, env, signal, now, onEvidence });
    return wholePrompt(made.prompt);
  }
  return wholePrompt(
    assemblePrompt({
      ...told,
      iteration: state.iteration + 1,
      maxIterations: state.maxIterations,
      guardrailsPath: guardrailsPath(files.projectDir),
      findings,
      taskPath: state.taskPath,
      body,
      completion: contract.policy.completion,
      idle: contract.policy.idle !== null,
    }),
  );
}
