import type { Told } from '../../engine/events.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import { type AssembledPrompt, wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { TaskPromptParts } from '../../engine/prompt/assemble-task-prompt.ts';
import {
  assembleChecklistPrompt,
  assemblePromptWithTerms,
  assembleTaskPrompt,
  reflectionDue,
  reflectionText,
} from '../../engine/prompt/assemble-task-prompt.ts';
import type { Contract, TaskTerms } from '../../engine/schema/contract.ts';
import type { Snapshot } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { orLogged } from '../../state/loop-files.ts';
import type { Evidence, EvidenceWatch } from '../../task/commands/run-evidence.ts';
import { type BodyValues, renderBody, taskCommand } from '../../task/frontmatter/placeholders.ts';
import { missingFiles } from '../../task/outputs/check-task-outputs.ts';
import { snapshot } from '../../task/progress/snapshot.ts';
import { hasFolder, taskFolder, taskFolderName, taskKind } from '../../task/task-file.ts';
import { extraSections, guardrailsPath, type realFindings } from '../prompt/extra-sections.ts';
import { gatherEvidence, takeStartEvidence } from '../prompt/gather-evidence.ts';
import { comparedChecklist } from '../prompt/loop-checklist.ts';
import { readMemory, readReflection, readTask, type TaskText } from '../prompt/read-task.ts';
import { keepPlainPrompt, keepPrompt, writePromptedTurn } from '../records/prompted-turn.ts';
import type { TurnContext } from './turn.ts';

interface TaskPromptRequest extends Pick<TurnContext, 'files' | 'env' | 'now'> {
  readonly contract: Contract;
  readonly task: TaskTerms;
  /** Current state; `iteration` counts finished iterations. */
  readonly state: LoopState;
  readonly text: TaskText;
  readonly told: Told;
  readonly findings: ReturnType<typeof realFindings>;
  /** True if the prompt goes to an agent that does not know the loop. */
  readonly fresh?: boolean;
  /** Recent snapshot of the project that is still valid; null requests a new one. */
  readonly before?: Snapshot | null;
  readonly signal: AbortSignal;
  readonly watch?: EvidenceWatch;
}

/**
 * Makes the next prompt and stores the baseline for measuring its iteration. `path` is the file with the whole prompt,
 * relative to the project; null if it could not be written. Rejects with the abort's reason.
 */
export async function taskPrompt(request: TaskPromptRequest) {
  const { files, contract, task, state, env, signal } = request;
  const { projectDir } = files;
  const iteration = state.iteration + 1;
  const folder = taskFolder(projectDir, contract.taskPath);
  const evidence =
    (iteration === 1 && startEvidence(request)) ||
    (await gatherEvidence(files, contract, { signal, env, iteration, ...request.watch }));
  const ofFolder = hasFolder(taskKind(contract.taskPath));
  const before = ofFolder ? (request.before ?? (await snapshot(projectDir, folder, { env, signal }))) : null;
  signal.throwIfAborted();
  // The commands may have taken minutes, in which the user may have edited the task.
  const text = readTask(projectDir, contract.taskPath) ?? request.text;
  const { prompt, reflects } = promptWith({ ...request, text }, evidence);
  const whole = wholePrompt(prompt);
  note(request, 'turn', () =>
    writePromptedTurn(files, {
      loopId: state.loopId,
      iteration,
      at: request.now(),
      prompt: whole,
      reflected: reflects,
      evidence: evidence.map((each, index) => ({ ...each, run: runOf(contract, projectDir, task, index, iteration) })),
      snapshot: before,
    }),
  );
  const keep = () => (ofFolder ? keepPrompt(folder, whole, contract) : keepPlainPrompt(files, whole));
  return { prompt, path: note(request, 'prompt', keep) };
}

/** Returns the next prompt with the output of the task's commands; stores nothing. */
export function promptWith(
  request: Omit<TaskPromptRequest, 'env' | 'signal' | 'before' | 'watch'>,
  evidence: readonly Evidence[],
): { readonly prompt: AssembledPrompt; readonly reflects: boolean } {
  const { files, contract, task, state } = request;
  const { projectDir } = files;
  const iteration = state.iteration + 1;
  return promptOf(request, {
    iteration,
    maxIterations: state.maxIterations,
    ...request.told,
    guardrailsPath: guardrailsPath(projectDir),
    findings: request.findings,
    beside: extraSections(files, contract, request.now(), request.fresh === true),
    taskPath: contract.taskPath,
    body: renderedBody(request, {
      commands: Object.fromEntries(evidence.map(({ name, output }) => [name, output])),
      args: task.args,
      ralph: { iteration, name: taskFolderName(projectDir, contract.taskPath), maxIterations: state.maxIterations },
    }),
    completion: contract.policy.completion,
    idle: contract.policy.idle !== null,
    terms: task,
    validation: contract.validation,
    lastFailures: state.gateFailures.value,
    missing: missingFiles(projectDir, contract.taskPath, task),
    elapsedMs: timeSpent(state, request.now()),
  });
}

/** Returns the output of the commands that ran before the start as that of this iteration; null if there is none. */
function startEvidence({ files, contract, now, watch }: TaskPromptRequest): Evidence[] | null {
  if (contract.task?.commands.length === 0) return null;
  const evidence = takeStartEvidence(files, contract.loopId, now());
  for (const each of evidence ?? []) {
    watch?.onCommand?.(each.name);
    watch?.onEvidence?.(each);
  }
  return evidence;
}

/** Renders the body. Without arguments and commands, the body of a prompt file is literal text. */
function renderedBody(
  { text: { body }, contract, task }: Pick<TaskPromptRequest, 'text' | 'contract' | 'task'>,
  values: BodyValues,
): string {
  const isText = task.commands.length === 0 && Object.keys(task.args).length === 0;
  return isText && taskKind(contract.taskPath) === 'prompt' ? body : renderBody(body, values);
}

function promptOf(
  { files, contract, task, text }: Pick<TaskPromptRequest, 'files' | 'contract' | 'task' | 'text'>,
  parts: Omit<TaskPromptParts, 'progress'>,
): { prompt: AssembledPrompt; reflects: boolean } {
  const { projectDir } = files;
  const { taskPath } = contract;
  const reflects = reflectionDue(parts.iteration, task.reflectEvery);
  if (taskKind(taskPath) === 'prompt')
    return { prompt: assemblePromptWithTerms({ ...parts, folder: '', progress: null }), reflects };
  // Items and line numbers refer to the file, not to command output.
  const checklist = comparedChecklist(files, contract, text);
  if (checklist === null) {
    const progress = readMemory(taskFolder(projectDir, taskPath));
    return { prompt: assembleTaskPrompt({ ...parts, progress }), reflects };
  }
  const reflection = reflects ? (readReflection(projectDir, taskPath) ?? reflectionText(taskPath)) : null;
  return { prompt: assembleChecklistPrompt({ ...parts, checklist, reflection }), reflects };
}

function runOf(contract: Contract, projectDir: string, task: TaskTerms, index: number, iteration: number): string {
  const command = task.commands[index];
  return command === undefined ? '' : taskCommand(contract, projectDir, command, iteration).run;
}

/** Runs a write that affects no decision; a failure is logged. */
function note<T>({ files, now }: TaskPromptRequest, what: string, write: () => T): T | null {
  return orLogged(files, now(), what, write) ?? null;
}
