import { assemblePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract, TaskTerms } from '../../engine/schema/contract.ts';
import { iterationStarted } from '../records/live-events.ts';
import { abortIfSuperseded } from '../turn/abort-if-superseded.ts';
import { dispatch } from '../turn/dispatch.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { type Listener, type OpenedPrompt, runChecks, type TaskKind } from '../turn/task-kind.ts';
import type { Prompt, PromptStep, Turn } from '../turn/turn.ts';
import { extraSections, guardrailsPath, realFindings } from './extra-sections.ts';
import { readTask } from './read-task.ts';
import { taskPrompt } from './task-prompt.ts';

/** A task that is a prompt file, a checklist or a task folder. */
export const fileTask: TaskKind = {
  openPrompt,
  verify: async (turn) => ({ results: await runChecks(turn) }),
};

async function openPrompt(turn: Turn, step: PromptStep, listener: Listener): Promise<OpenedPrompt> {
  const { context, loaded, freshContext } = turn;
  const { files, now } = context;
  const { state, stored, policy } = loaded;
  const task = readTask(files.projectDir, state.taskPath);
  if (task === null) {
    return dispatch(turn, { type: 'task-missing', at: now(), message: HOOK_TEXTS.taskMissing(state.taskPath) });
  }
  tellBegin(turn, listener);
  const findings = realFindings(files.projectDir, stored, state.lastFindingsCount);
  if (stored?.contract.task) {
    return {
      turn,
      made: await folderPrompt(turn, step, stored.contract, stored.contract.task, task.body, findings, listener),
    };
  }
  const beside = stored === null ? [] : extraSections(files, stored.contract, now(), freshContext);
  const { notices, steering } = step;
  const parts = { notices, steering, findings, body: task.body, beside };
  const assembled = assemblePrompt({
    ...parts,
    ...{ iteration: state.iteration + 1, maxIterations: state.maxIterations, taskPath: state.taskPath },
    ...{ guardrailsPath: guardrailsPath(files.projectDir), completion: policy.completion, idle: policy.idle !== null },
  });
  return { turn, made: { step, assembled, path: null, isTaskFile: true } };
}

export function tellBegin({ loaded: { state } }: Turn, { tell }: Listener): void {
  tell(iterationStarted(state));
}

async function folderPrompt(
  { context, loaded, signal: aborted, task: ended, freshContext }: Turn,
  step: PromptStep,
  contract: Contract,
  task: TaskTerms,
  body: string,
  findings: ReturnType<typeof realFindings>,
  { tell }: Listener,
): Promise<Prompt | 'aborted' | 'superseded'> {
  const { files, env, now } = context;
  const { state } = loaded;
  // A snapshot that is seconds old serves again, unless a command or a wait has given anything time to change.
  const isRecent = !freshContext && task.commands.length === 0 && ended?.waited === false && ended.gate === null;
  const made = await abortIfSuperseded(files, state, aborted, (signal) =>
    taskPrompt({
      ...{ files, contract, task, state, body, told: step, findings, env, signal, now, fresh: freshContext },
      before: isRecent ? ended.measured.after : null,
      watch: {
        onCommand: (name) => tell({ type: 'command-started', name }),
        onEvidence: ({ name, outcome, durationMs }) => tell({ type: 'command-ran', name, outcome, durationMs }),
      },
    }),
  );
  return typeof made === 'string' ? made : { step, assembled: made.prompt, path: made.path, isTaskFile: false };
}
