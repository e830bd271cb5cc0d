import { join } from 'node:path';
import { withoutChangeIn } from '../../engine/plan/attempt.ts';
import { passedOverText } from '../../engine/plan/messages.ts';
import { nextPlanTask, sequentialOrder } from '../../engine/plan/task-order.ts';
import { type AssembledPrompt, wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
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

/** How a run would begin. */
interface Preview {
  /** Prompt of the first iteration; empty without a task. */
  readonly prompt: string;
  /** What the user should know of it. */
  readonly notes: readonly string[];
}

/** Id of a loop that is only looked at. */
const PREVIEWED = 'preview';
const NOTHING_TOLD = { notices: { rejection: [], misplacedSignal: null, warnings: [] }, steering: [] };

/** Returns how a run would begin. Starts and stores nothing. */
export async function previewStart(prepared: Prepared, baseline: StartBaseline | null): Promise<Preview> {
  const { contract: made } = buildContract({ ...prepared.terms, loopId: PREVIEWED });
  const contract = { ...made, evidence: {} };
  const state = beginningState(unasked(prepared), null, PREVIEWED);
  if (contract.policy.plan !== undefined) return previewPlan(prepared, contract, state);
  return { prompt: promptText(previewPrompt(prepared, contract, state, baseline)), notes: [] };
}

const promptText = (prompt: AssembledPrompt | null): string => (prompt === null ? '' : wholePrompt(prompt));

function previewPrompt(
  { files, request }: Prepared,
  contract: Contract,
  state: LoopState,
  baseline: StartBaseline | null,
): AssembledPrompt | null {
  const text = readTask(files.projectDir, contract.taskPath);
  if (text === null) return null;
  const findings = realFindings(files, { hash: '', contract }, null);
  const now = (): string => request.at;
  const { task, policy } = contract;
  if (task !== null) {
    const asked = { files, contract, task, state, text, told: NOTHING_TOLD, findings, now, fresh: true };
    return promptWith(asked, baseline?.evidence ?? []).prompt;
  }
  const beside = extraSections(files, contract, request.at, true);
  return plainPrompt(files, state, policy, { ...NOTHING_TOLD, findings, body: text.body, beside });
}

/** Returns the prompt for the first task of a plan, the order of its tasks, and those that are skipped. */
async function previewPlan({ files, request }: Prepared, contract: Contract, state: LoopState): Promise<Preview> {
  const { projectDir } = files;
  const { taskPath, policy } = contract;
  const { from = null, maxTasks = 0 } = policy.plan ?? {};
  const { tasks } = readPlan(readRegularFile(join(projectDir, taskPath)) ?? '');
  const order = sequentialOrder(tasks, from, maxTasks);
  const skipped = passedOverText({ choice: nextPlanTask(tasks, from) }) ?? [];
  const [first] = order;
  if (first === undefined)
    return { prompt: '', notes: [PLAN_TEXTS.nothingToDo(taskPath, 'none is open')].concat(skipped) };
  const progress = progressPath(taskPath);
  const task = {
    ...first,
    scope: await resolveScope(projectDir, first.scope, { env: request.env }),
    progressPath: progress,
    progress: readRegularFile(join(projectDir, progress)),
    noChange: withoutChangeIn(tasks),
  };
  const place = { files, contract, now: () => request.at, state: () => state };
  const notes = [`Tasks, in this order: ${order.map(({ id }) => id).join(', ')}.`].concat(skipped);
  return { prompt: promptText(promptFor(place, task, NOTHING_TOLD)), notes };
}
