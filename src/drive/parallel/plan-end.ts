import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCode } from '../../engine/exit-code.ts';
import { planStop } from '../../engine/plan/attempt.ts';
import { planStopText } from '../../engine/plan/messages.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { TerminalStatus } from '../../engine/schema/state.ts';
import { regularFile, TASK_FILE_BYTES } from '../../state/files/read-regular-file.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { WORKTREES } from '../../task/task-file.ts';
import { advise, type Message } from '../../text/message.ts';
import type { PlanBatch } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';

/** How a run over a plan ended. */
export interface PlanEnd {
  readonly status: TerminalStatus;
  readonly code: number;
  readonly message: Message;
  /** Nothing is left that `run --resume` could take up. */
  readonly isOver: boolean;
}

export function readPlanText(projectDir: string, path: string): string {
  return readFileSync(regularFile(join(projectDir, path), TASK_FILE_BYTES), 'utf8');
}

/** Returns the end of the run as a sequential one would tell it. Exit code: the first of 130, 1, 2, 3 that a task left. */
export function planEnd(
  projectDir: string,
  { plan, tasks: entries, atOnce }: PlanBatch,
  { refused, pressed }: { readonly refused: string | null; readonly pressed: boolean },
): PlanEnd {
  const { path, from, maxTasks, done, blocked } = plan;
  const { tasks } = readPlan(readPlanText(projectDir, path));
  const known = { current: null, attempts: 0, done, blocked, report: null };
  const stop = planStop(known, tasks, { maxTasks, from });
  const left = entries.filter(({ step }) => step !== 'ended');
  const resume = { verb: 'Resume', command: 'run --resume' };
  if (left.length > 0 || stop === null) {
    const codes = left.map(({ end }) => end?.code ?? 3);
    const code = [130, 1, 2, 3].find((each) => codes.includes(each)) ?? (refused === null ? 3 : 2);
    const status = code === 2 ? 'budget-exhausted' : code === 1 ? 'error' : pressed ? 'stopped' : 'interrupted';
    const message = { text: PARALLEL_TEXTS.unfinished(path), advice: [resume] };
    return { status, code, message, isOver: false };
  }
  const code = exitCode(stop.as);
  if (stop.as !== 'blocked' || !('became' in stop) || stop.became.length === 0) {
    const { text, advice = [] } = planStopText(stop, known, tasks, path);
    const again = advice.map((each) =>
      each.options?.['plan'] === true ? { ...each, options: { ...each.options, parallel: String(atOnce) } } : each,
    );
    return { status: stop.as, code, message: { text, advice: again }, isOver: stop.as !== 'blocked' };
  }
  const keys = stop.became.map(planKey);
  const places = entries
    .filter(({ planTask = '' }) => keys.includes(planKey(planTask)))
    .map(({ name }) => `${WORKTREES}/${name}`);
  const text = PARALLEL_TEXTS.blocked(stop.became, path, places);
  return { status: 'blocked', code, message: advise(text, resume.verb, resume.command), isOver: false };
}
