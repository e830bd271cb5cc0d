import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CheckResult } from '../../core/events.ts';
import { planKey, tasksByKey } from '../../core/plan-task.ts';
import { readRegularFile } from '../../state/read-regular-file.ts';
import { untickTask } from '../../task/plan/mark-task.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { linkText } from './link-text.ts';
import type { OpenTask } from './open-task-file.ts';
import type { PlanPlace } from './plan-place.ts';
import { replaceText } from './settling.ts';
import { PLAN_TEXTS } from './texts.ts';

export interface HeldPlan {
  readonly results: readonly CheckResult[];
  /** For the user. */
  readonly notes: readonly string[];
}

const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Holds plan and progress file to what the engine left when the task was opened: boxes that were ticked since then, by
 * whatever way, are open again, and the progress file is as it was; both are told as failures. Everything else in the
 * plan is the user's to change. Throws what the disk says.
 */
export function heldPlan(place: PlanPlace, task: OpenTask): HeldPlan {
  const gone = putBackPlan(place, task);
  const ticked = takeOutTicks(place, task);
  const fail = (name: string, detail: string): CheckResult => ({ name, outcome: 'failed', detail });
  const results = [
    ...(gone ? [fail('plan', PLAN_TEXTS.gonePlan(task.planPath))] : []),
    ...(ticked.length === 0 ? [] : [fail('plan', PLAN_TEXTS.ticked(ticked, task.planPath))]),
    ...(putBackProgress(place, task) ? [fail('progress', PLAN_TEXTS.progressChanged(task.progressPath))] : []),
  ];
  const changed = tasksChanged(place, task);
  const notes = [
    ...(scopeChanged(place, task) ? [PLAN_TEXTS.scopeChanged(task.id, task.planPath)] : []),
    ...(changed.length === 0 ? [] : [PLAN_TEXTS.tasksChanged(changed, task.planPath)]),
  ];
  return { results, notes };
}

/** What a link leads to now would be written over with the next tick, wherever it lies. */
function putBackPlan({ files }: PlanPlace, { planPath, plan, planLink = null }: OpenTask): boolean {
  const path = join(files.projectDir, planPath);
  const isReadable = (): boolean => readRegularFile(path, MOST_BYTES) !== null;
  if (isReadable() && linkText(path) === planLink) return false;
  makeRoom(path);
  if (planLink !== null) symlinkSync(planLink, path);
  if (isReadable()) return true;
  makeRoom(path);
  writeFileSync(path, plan);
  return true;
}

function makeRoom(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
}

/** A task for a person to verify is theirs to tick, whenever they like. Gives the ids of the others. */
function takeOutTicks({ files }: PlanPlace, task: OpenTask): string[] {
  const path = join(files.projectDir, task.planPath);
  let text = readFileSync(path, 'utf8');
  if (text === task.plan) return [];
  const before = tasksByKey(readPlan(task.plan).tasks);
  const ticked: string[] = [];
  for (const now of readPlan(text).tasks) {
    const status = before.get(planKey(now.id))?.status;
    if (now.status !== 'done' || status === 'done' || status === 'manual-verify') continue;
    text = untickTask(text, now);
    ticked.push(now.id);
  }
  if (ticked.length > 0) replaceText(path, text);
  return ticked;
}

/** A plain file or none, in which nothing but the engine's own entries stands: no link is written through. */
function putBackProgress({ files }: PlanPlace, { progressPath, progress }: OpenTask): boolean {
  const path = join(files.projectDir, progressPath);
  const isPlain = lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  if (isPlain && readRegularFile(path, MOST_BYTES) === progress) return false;
  makeRoom(path);
  if (progress !== null) writeFileSync(path, progress);
  return true;
}

function scopeChanged({ files }: PlanPlace, task: OpenTask): boolean {
  const scopeIn = (text: string): string =>
    JSON.stringify(tasksByKey(readPlan(text).tasks).get(planKey(task.id))?.scope ?? null);
  const now = readFileSync(join(files.projectDir, task.planPath), 'utf8');
  return now !== task.plan && scopeIn(now) !== scopeIn(task.plan);
}

/** What became of tasks meanwhile, each with a word: without it a plan could be complete that was not worked off. */
function tasksChanged({ files }: PlanPlace, task: OpenTask): string[] {
  const text = readFileSync(join(files.projectDir, task.planPath), 'utf8');
  if (text === task.plan) return [];
  const [before, now] = [readPlan(task.plan).tasks, readPlan(text).tasks];
  const [known, standing] = [tasksByKey(before), tasksByKey(now)];
  const changed = before.flatMap((was) => {
    const how = changeOf(was, standing.get(planKey(was.id)), planKey(was.id) === planKey(task.id));
    return how === null ? [] : [`${was.id} (${how})`];
  });
  return [...changed, ...now.flatMap(({ id }) => (known.has(planKey(id)) ? [] : [`${id} (new)`]))];
}

function changeOf(was: PlanFileTask, now: PlanFileTask | undefined, isCurrent: boolean): string | null {
  if (was.status === 'done') return now?.status === 'open' ? 'open again' : null;
  if (was.status !== 'open') return null;
  if (now?.status !== 'open') return now?.status ?? 'gone';
  return !isCurrent && JSON.stringify(now.scope) !== JSON.stringify(was.scope) ? 'another scope' : null;
}
