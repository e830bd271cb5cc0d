import { join, relative, sep } from 'node:path';
import type { CheckResult, Told } from '../../engine/events.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import { assembleChecklistPrompt, reflectionText } from '../../engine/prompt/assemble-checklist-prompt.ts';
import { type AssembledPrompt, assemblePrompt, wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import {
  assemblePromptWithTerms,
  assembleTaskPrompt,
  reflectionDue,
  type TaskPromptParts,
} from '../../engine/prompt/assemble-task-prompt.ts';
import type { Contract, TaskTerms } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { Snapshot } from '../../engine/schema/stored-views.ts';
import { ifOutOfReach, readRegularFile, writeAtomically } from '../../state/files/regular-file.ts';
import { type LoopFiles, makeRuntimeDir, orLogged } from '../../state/loop-files.ts';
import { makeRunDir, pathKind, refuseLink, runFiles } from '../../state/task-folder/run-files.ts';
import type { Evidence, EvidenceWatch } from '../../task/commands/run-evidence.ts';
import { type BodyValues, renderBody, taskCommand } from '../../task/frontmatter/placeholders.ts';
import { PROGRESS_FILE } from '../../task/memory/memory-paths.ts';
import { missingFiles } from '../../task/outputs/check-task-outputs.ts';
import { snapshot } from '../../task/progress/snapshot.ts';
import { hasFolder, loopDirectory, taskFolder, taskFolderName, taskKind } from '../../task/task-file.ts';
import { redact } from '../../text/redact/redact.ts';
import { extraSections, guardrailsPath, realFindings } from '../prompt/extra-sections.ts';
import { gatherEvidence } from '../prompt/gather-evidence.ts';
import { checkChecklist, comparedChecklist } from '../prompt/loop-checklist.ts';
import { readTask, type TaskText } from '../prompt/read-task.ts';
import { takeStartEvidence } from '../prompt/start-evidence.ts';
import { iterationStarted } from '../records/live-events.ts';
import { writePromptedTurn } from '../records/prompted-turn.ts';
import { abortIfSuperseded } from './abort-if-superseded.ts';
import { HOOK_TEXTS } from './messages.ts';
import { type Listener, type OpenedPrompt, runChecks, type TaskKind } from './task-kind.ts';
import { dispatch, type Prompt, type PromptStep, type Turn, type TurnContext } from './turn.ts';

/** A task that is a prompt file, a checklist or a task folder. */
export const fileTask: TaskKind = {
  openPrompt,
  verify: async (turn) => ({ results: await verifyClaim(turn) }),
};

async function verifyClaim(turn: Turn): Promise<readonly CheckResult[]> {
  const { context, loaded } = turn;
  // No command needs to run for a list that is unfinished by its own account.
  const held = loaded.stored === null ? [] : checkChecklist(context.files, loaded.stored.contract);
  return held.length > 0 ? held : runChecks(turn);
}

async function openPrompt(turn: Turn, step: PromptStep, listener: Listener): Promise<OpenedPrompt> {
  const { context, loaded, freshContext } = turn;
  const { files, now } = context;
  const { state, stored, policy } = loaded;
  const task = readTask(files.projectDir, state.taskPath);
  if (task === null) {
    return dispatch(turn, { type: 'task-missing', at: now(), message: HOOK_TEXTS.taskMissing(state.taskPath) });
  }
  tellBegin(turn, listener);
  const findings = realFindings(files, stored, state.lastFindingsCount);
  if (stored?.contract.task) {
    return {
      turn,
      made: await folderPrompt(turn, step, stored.contract, stored.contract.task, task, findings, listener),
    };
  }
  const beside = stored === null ? [] : extraSections(files, stored.contract, now(), freshContext);
  const { notices, steering } = step;
  const parts = { notices, steering, findings, body: task.body, beside };
  const assembled = assemblePrompt({
    ...parts,
    iteration: state.iteration + 1,
    maxIterations: state.maxIterations,
    taskPath: state.taskPath,
    guardrailsPath: guardrailsPath(files.projectDir),
    completion: policy.completion,
    idle: policy.idle !== null,
  });
  return { turn, made: { step, assembled, path: null, isTaskFile: true } };
}

export function tellBegin({ loaded: { state } }: Turn, { tell }: Listener): void {
  tell(iterationStarted(state));
}

async function folderPrompt(
  turn: Turn,
  step: PromptStep,
  contract: Contract,
  task: TaskTerms,
  text: TaskText,
  findings: ReturnType<typeof realFindings>,
  { tell }: Listener,
): Promise<Prompt | 'aborted' | 'superseded'> {
  const { context, loaded, task: ended, freshContext } = turn;
  const { files, env, now } = context;
  const { state } = loaded;
  // A snapshot a few seconds old is reused unless a command or a wait gave something time to change.
  const isRecent = !freshContext && task.commands.length === 0 && ended?.waited === false && ended.gate === null;
  const made = await abortIfSuperseded(turn, (signal) =>
    taskPrompt({
      files,
      contract,
      task,
      state,
      text,
      told: step,
      findings,
      env,
      signal,
      now,
      fresh: freshContext,
      before: isRecent ? ended.measured.after : null,
      watch: {
        onCommand: (name) => tell({ type: 'command.started', name }),
        onEvidence: ({ name, outcome, durationMs, why }) =>
          tell({ type: 'command.ran', name, outcome, durationMs, ...(why !== undefined && { why }) }),
      },
    }),
  );
  return typeof made === 'string' ? made : { step, assembled: made.prompt, path: made.path, isTaskFile: false };
}

interface TaskPromptRequest extends Pick<TurnContext, 'files' | 'env' | 'now'> {
  readonly contract: Contract;
  readonly task: TaskTerms;
  /** Current state; `iteration` counts finished iterations. */
  readonly state: LoopState;
  readonly text: TaskText;
  readonly told: Told;
  readonly findings: ReturnType<typeof realFindings>;
  /** The prompt goes to an agent without knowledge of the loop. */
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
async function taskPrompt(request: TaskPromptRequest) {
  const { files, contract, task, state, env, signal } = request;
  const { projectDir } = files;
  const iteration = state.iteration + 1;
  const folder = taskFolder(projectDir, contract.taskPath);
  const evidence = (iteration === 1 && startEvidence(request)) || (await newEvidence(request, iteration));
  const ofFolder = hasFolder(taskKind(contract.taskPath));
  const before = ofFolder ? (request.before ?? (await snapshot(projectDir, folder, { env, signal }))) : null;
  signal.throwIfAborted();
  const { prompt, reflects } = promptOf(request, {
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

function newEvidence(
  { files, contract, env, signal, watch }: TaskPromptRequest,
  iteration: number,
): Promise<Evidence[]> {
  return gatherEvidence(files, contract, { signal, env, iteration, ...watch });
}

/** Returns the output of the commands that ran before the start, and tells it as that of this iteration; null if there is none. */
function startEvidence({ files, contract, now, watch }: TaskPromptRequest): Evidence[] | null {
  if (contract.task?.commands.length === 0) return null;
  const evidence = takeStartEvidence(files, contract.loopId, now());
  for (const each of evidence ?? []) {
    watch?.onCommand?.(each.name);
    watch?.onEvidence?.(each);
  }
  return evidence;
}

/** Renders the body. That of a prompt file without arguments and commands is literal text. */
function renderedBody({ text: { body }, contract, task }: TaskPromptRequest, values: BodyValues): string {
  const isText = task.commands.length === 0 && Object.keys(task.args).length === 0;
  return isText && taskKind(contract.taskPath) === 'prompt' ? body : renderBody(body, values);
}

function promptOf(
  { files, contract, task, text }: TaskPromptRequest,
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

/** Writes the prompt to a file that an agent can be pointed to. Returns its path, relative to the project. */
function keepPrompt(folder: string, whole: string, { taskPath }: Contract): string {
  const run = runFiles(folder);
  makeRunDir(run);
  const path = join(run.dir, 'prompt.md');
  refuseLink(path);
  writeAtomically(path, redact(whole));
  return `${taskPath.slice(0, taskPath.lastIndexOf('/') + 1)}.ralph-runner/prompt.md`;
}

function keepPlainPrompt(files: LoopFiles, whole: string): string {
  makeRuntimeDir(files);
  refuseLink(files.prompt);
  writeAtomically(files.prompt, redact(whole));
  return relative(files.projectDir, files.prompt).split(sep).join('/');
}

/** Runs a write that affects no decision; a failure is logged. */
function note<T>({ files, now }: TaskPromptRequest, what: string, write: () => T): T | null {
  return orLogged(files, now(), what, write) ?? null;
}

const MAX_BYTES = 4 * 1024 * 1024;

export function readMemory(folder: string): string | null {
  return readPlain(join(folder, PROGRESS_FILE));
}

/** Returns the user's reflection prompt in a loop directory; null if it is empty or absent. */
function readReflection(projectDir: string, taskPath: string): string | null {
  const path = loopDirectory(projectDir, taskPath)?.reflect;
  const text = path === undefined ? null : readPlain(path);
  return text === null || text.trim() === '' ? null : text;
}

/** Reads a plain file; null for a link, which could show a foreign file in every prompt. */
function readPlain(path: string): string | null {
  // The folder may be inaccessible: a prompt without it is better than none.
  return ifOutOfReach(() => (pathKind(path) === 'file' ? readRegularFile(path, MAX_BYTES) : null), null);
}
