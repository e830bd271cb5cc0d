import { join } from 'node:path';
import { withoutChangeIn } from '../../engine/plan/attempt.ts';
import { passedOverText } from '../../engine/plan/messages.ts';
import { nextPlanTask, sequentialOrder } from '../../engine/plan/task-order.ts';
import { type AssembledPrompt, wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { resolveScope } from '../../task/git/task-scope.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { progressPath } from '../../task/task-file.ts';
import { PLAN_TEXTS } from '../plan/messages.ts';
import { promptFor } from '../plan/open-task.ts';
import { extraSections, realFindings } from '../prompt/extra-sections.ts';
import { readTask } from '../prompt/read-task.ts';
import { plainPrompt } from '../turn/file-task.ts';
import { promptWith } from '../turn/task-prompt.ts';
import { beginningState } from './beginning-state.ts';
import type { Prepared, StartBaseline } from './stages.ts';
import { unasked } from './start-loop.ts';

/** Id of a loop that is only previewed. */
const PREVIEWED = 'preview';
const NOTHING_TOLD = { notices: { rejection: [], misplacedSignal: null, warnings: [] }, steering: [] };

/** Returns the first prompt of a run (empty without a task) and what to say about it. Starts and stores nothing. */
export async function previewStart(prepared: Prepared, baseline: StartBaseline | null) {
  const { request, files, terms } = prepared;
  const contract = { ...buildContract({ ...terms, loopId: PREVIEWED }).contract, evidence: {} };
  const state = beginningState(unasked(prepared), null, PREVIEWED);
  const text = readTask(files.projectDir, terms.taskPath);
  const findings = realFindings(files, { hash: '', contract }, null);
  const now = (): string => request.at;
  const { task, policy } = contract;
  const notes: string[] = [];
  let prompt: AssembledPrompt | null = null;
  if (policy.plan !== undefined) {
    const { first, said } = await planPreview(prepared, policy.plan);
    notes.push(...said);
    prompt = first && promptFor({ files, contract, now, state: () => state }, first, NOTHING_TOLD);
  } else if (text !== null && task !== null) {
    const asked = { files, contract, task, state, text, told: NOTHING_TOLD, findings, now, fresh: true };
    prompt = promptWith(asked, baseline?.evidence ?? []).prompt;
  } else if (text !== null) {
    const beside = extraSections(files, contract, request.at, true);
    prompt = plainPrompt(files, state, policy, { ...NOTHING_TOLD, findings, body: text.body, beside });
  }
  return { prompt: prompt === null ? '' : wholePrompt(prompt), notes };
}

/** Returns the first task of a plan (null if there is none), and the order of its tasks with the skipped ones. */
async function planPreview(
  { files: { projectDir }, request, terms: { taskPath } }: Prepared,
  { from, maxTasks }: { readonly from: string | null; readonly maxTasks: number },
) {
  const { tasks } = readPlan(readRegularFile(join(projectDir, taskPath)) ?? '');
  const order = sequentialOrder(tasks, from, maxTasks);
  const skipped = passedOverText({ choice: nextPlanTask(tasks, from) }) ?? [];
  const [task] = order;
  if (task === undefined)
    return { first: null, said: [PLAN_TEXTS.nothingToDo(taskPath, 'none is open')].concat(skipped) };
  const scope = await resolveScope(projectDir, task.scope, { env: request.env });
  const own = progressPath(taskPath);
  const kept = {
    progressPath: own,
    progress: readRegularFile(join(projectDir, own)),
    noChange: withoutChangeIn(tasks),
  };
  const said = [`Tasks, in this order: ${order.map(({ id }) => id).join(', ')}.`].concat(skipped);
  return { first: { ...task, scope, ...kept }, said };
}
