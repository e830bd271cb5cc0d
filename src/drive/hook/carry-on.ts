import { clientVersion } from '../../claude/transcript/transcript.ts';
import type { Effect } from '../../engine/effects.ts';
import type { PromptParts } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract, TaskTerms } from '../../engine/schema/contract.ts';
import { forLoop } from '../../term/for-loop.ts';
import { openedPrompt, openPlan } from '../plan/on-plan.ts';
import { besideTask, realFindings } from '../prompt/extra-sections.ts';
import { readTask } from '../prompt/read-task.ts';
import { type TaskPrompt, taskPrompt } from '../prompt/task-prompt.ts';
import { unlessOvertaken } from '../turn/abort-if-superseded.ts';
import { HOOK_TEXTS, said } from '../turn/messages.ts';
import { carryOutAlike, look, verifyStep, waitStep } from '../turn/shared-steps.ts';
import { feed, isStep, type Turn, toldToGo } from '../turn/turn.ts';
import { blockAnswer, type StopAnswer, taskBlockAnswer } from './answer-block.ts';

/** Carries the effects out until one of them is the answer. */
export async function carryOn(turn: Turn, decided: readonly Effect[]): Promise<StopAnswer | null> {
  let effects = decided;
  for (;;) {
    const step = carryOutAlike(turn, effects);
    for (const effect of effects) if (effect.type === 'notify') turn.notes.push(effect.message);
    switch (step?.type) {
      case undefined:
        return null;
      case 'ignore':
        return null;
      case 'allow':
        return letGo(turn, step.message);
      case 'prompt': {
        const instead = await openPlan(turn, (message) => turn.notes.push(message));
        if (instead !== null) {
          effects = instead;
          break;
        }
        const task = readTask(turn.context.files.projectDir, turn.loaded.state.taskPath);
        if (task !== null) {
          const sent = await sendBack(turn, step, task.body);
          if (!('meanwhile' in sent)) return sent;
          effects = sent.meanwhile;
          break;
        }
        const message = HOOK_TEXTS.taskMissing(turn.loaded.state.taskPath);
        effects = feed(turn, { type: 'task-missing', at: turn.context.now(), message });
        break;
      }
      case 'wait':
        if (turn.task) turn.task.waited = true;
        effects = await waitStep(turn, step.until);
        break;
      case 'look':
        effects = await look(turn);
        break;
      case 'verify':
        effects = await verifyStep(turn);
        break;
      default:
        step satisfies never;
    }
  }
}

/** The block, or what has to be done instead because something came in while the prompt was made. */
async function sendBack(
  turn: Turn,
  step: Extract<Effect, { type: 'prompt' }>,
  body: string,
): Promise<StopAnswer | { readonly meanwhile: readonly Effect[] }> {
  const { context, loaded } = turn;
  const { stored } = loaded;
  const ofPlan = await openedPrompt(turn, step);
  if (ofPlan !== null) {
    const effects = feed(turn, { type: 'prompt-made', at: context.now(), outcome: 'ready' });
    if (effects.some(isStep)) return { meanwhile: effects };
    return taskBlockAnswer(turn.loaded, { prompt: ofPlan, path: null }, notesOf(turn), versionOf(turn));
  }
  const findings = realFindings(context.files.projectDir, stored, loaded.state.lastFindingsCount);
  if (!stored?.contract.task) {
    const beside = stored === null ? [] : besideTask(context.files, stored.contract, context.now(), false);
    return blockAnswer(context, { ...loaded, findings, beside }, step, body, notesOf(turn), versionOf(turn));
  }
  const made = await makeTaskPrompt(turn, stored.contract, stored.contract.task, step, body, findings);
  if (made === 'aborted') {
    feed(turn, { type: 'prompt-made', at: context.now(), outcome: 'given-up' });
    return { meanwhile: toldToGo(turn) };
  }
  const effects = feed(turn, { type: 'prompt-made', at: context.now(), outcome: 'ready' });
  if (effects.some(isStep)) return { meanwhile: effects };
  // Whoever stood in its way is gone again: it is made anew.
  if (made === 'overtaken') return { meanwhile: [step] };
  return taskBlockAnswer(turn.loaded, made, notesOf(turn), versionOf(turn));
}

/** What the user is told beside the block, with the commands that mean this loop. */
function notesOf({ notes, loaded }: Turn): string[] {
  return notes.map((note) => forLoop(note, loaded.state));
}

function makeTaskPrompt(
  { context, loaded, options, task: own }: Turn,
  contract: Contract,
  task: TaskTerms,
  told: Extract<Effect, { type: 'prompt' }>,
  body: string,
  findings: PromptParts['findings'],
): Promise<TaskPrompt | 'aborted' | 'overtaken'> {
  const { files, env, now } = context;
  // A look that is seconds old serves for the next iteration, unless a command or somebody else had the time to change something.
  const before = task.commands.length === 0 && own && !own.waited && own.gate === null ? own.measured.after : null;
  const { state } = loaded;
  return unlessOvertaken(files, state, options.signal, (signal) =>
    taskPrompt({ files, contract, task, state, body, told, findings, before, env, signal, now }),
  );
}

/** Known from the launch, or else from the client's own transcript. */
function versionOf({ context, loaded }: Turn): string | null {
  return loaded.stored?.contract.clientVersion ?? clientVersion(context.input.transcriptPath);
}

function letGo(turn: Turn, message: string | null): StopAnswer | null {
  const lines = message === null ? turn.notes : [...turn.notes, message];
  // Told to go by the client: nobody reads what is printed now.
  if (lines.length === 0 || turn.options.signal.aborted) return null;
  return { systemMessage: forLoop(lines.map(said).join('\n'), turn.loaded.state) };
}
