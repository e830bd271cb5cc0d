import type { Told } from '../../engine/effects.ts';
import { wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Tell } from '../../engine/runner-event.ts';
import type { EvidenceWatch } from '../../task/commands/run-evidence.ts';
import { openedPrompt } from '../plan/on-plan.ts';
import { besideTask, realFindings } from '../prompt/extra-sections.ts';
import { plainPrompt } from '../prompt/plain-prompt.ts';
import { taskPrompt } from '../prompt/task-prompt.ts';
import { unlessOvertaken } from './abort-if-superseded.ts';
import type { Loaded, Turn } from './turn.ts';

/**
 * The whole prompt of the next iteration, for an agent that knows nothing of the one before. Runs a task folder's
 * commands first, which `tell` hears of, and which end when the driver has to leave (`aborted`) or somebody ended,
 * stopped or paused the loop meanwhile (`overtaken`).
 */
export async function freshPrompt(
  turn: Turn,
  stored: NonNullable<Loaded['stored']>,
  told: Told,
  body: string,
  tell: Tell,
): Promise<{ readonly prompt: string } | 'aborted' | 'overtaken'> {
  const { state } = turn.loaded;
  const { files } = turn.context;
  const { contract } = stored;
  const ofPlan = await openedPrompt(turn, told);
  if (ofPlan !== null) return { prompt: wholePrompt(ofPlan) };
  const findings = realFindings(files.projectDir, stored, state.lastFindingsCount);
  if (contract.task !== null) {
    const watch: EvidenceWatch = {
      onCommand: (name) => tell({ type: 'command-started', name }),
      onEvidence: ({ name, outcome, durationMs }) => tell({ type: 'command-ran', name, outcome, durationMs }),
    };
    const { env, now } = turn.context;
    const { task } = contract;
    const made = await unlessOvertaken(files, state, turn.options.signal, (signal) =>
      taskPrompt({ files, contract, task, state, body, told, findings, fresh: true, env, signal, now, watch }),
    );
    return typeof made === 'string' ? made : { prompt: wholePrompt(made.prompt) };
  }
  const beside = besideTask(files, contract, turn.context.now(), true);
  const parts = { ...told, findings, body, beside };
  const prompt = plainPrompt(files.projectDir, { state, policy: contract.policy }, parts);
  return { prompt: wholePrompt(prompt) };
}
