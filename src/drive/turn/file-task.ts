import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { type AssembledPrompt, assemblePrompt, type PromptParts } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract, Policy, TaskTerms } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { lastRecord, recordNotice } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { taskKind } from '../../task/task-file.ts';
import { extraSections, guardrailsPath, realFindings } from '../prompt/extra-sections.ts';
import { checkChecklist } from '../prompt/loop-checklist.ts';
import { readTask, type TaskText } from '../prompt/read-task.ts';
import { iterationStarted } from '../records/live-events.ts';
import { abortIfSuperseded } from './abort-if-superseded.ts';
import { HOOK_TEXTS } from './messages.ts';
import { type Listener, type OpenedPrompt, runChecks, type TaskKind } from './task-kind.ts';
import { taskPrompt } from './task-prompt.ts';
import { dispatch, type Prompt, type PromptStep, type Turn } from './turn.ts';

/** A task that is a prompt file, a checklist or a task folder. */
export const fileTask: TaskKind = { openPrompt, verify: async (turn) => ({ results: await verifyClaim(turn) }) };

async function verifyClaim(turn: Turn): Promise<readonly CheckResult[]> {
  const { context, loaded } = turn;
  const { stored } = loaded;
  const held = () => (stored === null ? [] : checkChecklist(context.files, stored.contract));
  // No command needs to run for a list that is itself unfinished; the user may add to it while they run.
  const before = held();
  if (before.length > 0) return before;
  const results = [...(await runChecks(turn)), ...held()];
  if (results.every(({ outcome }) => outcome === 'ok')) noteLaterText(turn);
  return results;
}

/** Reports a change of the task's text that the last iteration did not see. The agent itself edits a checklist. */
function noteLaterText({ context: { files, now }, loaded: { state } }: Turn): void {
  const begun = lastRecord(files, state.loopId)?.startedAt;
  if (begun === undefined || taskKind(state.taskPath) === 'checklist') return;
  const stat = statSync(join(files.projectDir, state.taskPath), { throwIfNoEntry: false });
  const isThere = stat !== undefined && readTask(files.projectDir, state.taskPath) !== null;
  const changedMs = isThere ? stat.mtimeMs : null;
  // A time in the future comes from another clock, such as one that was set back.
  if (changedMs !== null && (changedMs <= Date.parse(begun) || changedMs > Date.parse(now()))) return;
  const how = isThere ? 'written' : 'removed or emptied';
  const text = `${state.taskPath} was ${how} after iteration ${state.iteration} had begun: its agent may have had an earlier text`;
  recordNotice(files, state, { at: now(), kind: 'change', text });
}

async function openPrompt(turn: Turn, step: PromptStep, listener: Listener): Promise<OpenedPrompt> {
  const { context, loaded, freshContext } = turn;
  const { files, now } = context;
  const { state, stored, policy } = loaded;
  const task = readTask(files.projectDir, state.taskPath);
  if (task === null)
    return dispatch(turn, { type: 'task-missing', at: now(), message: HOOK_TEXTS.taskMissing(state.taskPath) });
  listener.tell(turn, iterationStarted(state));
  const findings = realFindings(files, stored, state.lastFindingsCount);
  if (stored?.contract.task) {
    return {
      turn,
      made: await folderPrompt(turn, step, stored.contract, stored.contract.task, task, findings, listener),
    };
  }
  const beside = stored === null ? [] : extraSections(files, stored.contract, now(), freshContext);
  const { notices, steering } = step;
  const assembled = plainPrompt(files, state, policy, { notices, steering, findings, body: task.body, beside });
  return { turn, made: { step, assembled, path: null, isTaskFile: true } };
}

/** Assembles the next prompt of a task without a folder. */
export function plainPrompt(
  { projectDir }: LoopFiles,
  { iteration, maxIterations, taskPath }: LoopState,
  { completion, idle }: Policy,
  parts: Pick<PromptParts, 'notices' | 'steering' | 'findings' | 'body' | 'beside'>,
): AssembledPrompt {
  const limits = { iteration: iteration + 1, maxIterations, completion, idle: idle !== null };
  return assemblePrompt({ ...parts, ...limits, taskPath, guardrailsPath: guardrailsPath(projectDir) });
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
  // A snapshot a few seconds old is reused unless a command ran or a wait passed in which something could change.
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
        onCommand: (name) => tell(turn, { type: 'command.started', name }),
        onEvidence: ({ name, outcome, durationMs, why }) =>
          tell(turn, { type: 'command.ran', name, outcome, durationMs, ...(why !== undefined && { why }) }),
      },
    }),
  );
  return typeof made === 'string' ? made : { step, assembled: made.prompt, path: made.path, isTaskFile: false };
}
