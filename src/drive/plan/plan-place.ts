import { lstatSync, readlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckResult, Effect, EngineEvent } from '../../engine/events.ts';
import { planOf } from '../../engine/plan/attempt.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { PlanState } from '../../engine/schema/plan.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { realPathOf } from '../../state/files/regular-file.ts';
import { placesOf, viewOf } from '../../task/git/git-view.ts';
import { changeByGit, type GitChange, type GitOptions } from '../../task/git/run-git.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { progressPath } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import type { TurnContext } from '../turn/turn.ts';

/** The checks of a plan. They reject with the abort's reason. */
export interface PlanChecks {
  readonly inProject: () => Promise<readonly CheckResult[]>;
  /** Runs them on a clean copy of a commit. */
  readonly on: (commit: string) => Promise<readonly CheckResult[]>;
}

export interface PlanPlace extends TurnContext {
  readonly contract: Contract;
  readonly state: () => LoopState;
  readonly signal: AbortSignal;
  /** Ids of the tasks done in this session, if the state of this loop does not have them. */
  readonly session?: readonly string[];
  readonly dispatch: (event: EngineEvent) => readonly Effect[];
}

export function planIn({ state }: Pick<PlanPlace, 'state'>): PlanState {
  return planOf(state());
}

/** Returns the options of every git query: verification relies on answers under the settings of the start. */
export function gitOptions(place: Pick<PlanPlace, 'env' | 'signal' | 'files' | 'contract'>): GitOptions {
  const { env, signal, files, contract } = place;
  return { env, signal, view: viewOf(files, contract), sandbox: contract.sandbox };
}

/** Returns the options of every change by git: with the sandbox, programs that the repository names run in it as well. */
export function changing({ env, files, contract }: PlanPlace): Omit<GitChange, 'words'> {
  const { projectDir: directory } = files;
  const { sandbox: terms } = contract;
  if (terms === undefined) return { directory, env };
  const view = viewOf(files, contract);
  const { top: writable, gitDir } = view ? placesOf(view) : { top: directory, gitDir: join(directory, '.git') };
  return { directory, env, sandbox: { terms, writable, readable: writable, gitDir } };
}

const LOCK_TRIES = 40;
const LOCK_MS = 250;

/**
 * Runs git where a task is worked on, and retries for ten seconds while another git holds the index. Returns its output, trimmed.
 * Throws RalphError `refused` with what git says.
 */
export async function git(place: PlanPlace, words: readonly string[], input = ''): Promise<string> {
  for (let tries = 0; ; tries++) {
    const done = await changeByGit({ ...changing(place), words, input });
    if (done.ok) return done.text.trim();
    if (tries === LOCK_TRIES || !done.said.includes('index.lock')) throw new RalphError('refused', done.said);
    await sleep(LOCK_MS);
  }
}

export function progressOf({ contract }: Pick<PlanPlace, 'contract'>): string {
  return progressPath(contract.taskPath);
}

/** Returns all names that git may use for plan and progress file, links resolved, relative to the project, existing or not. */
export function ownPaths(projectDir: string, planPath: string): string[] {
  const own = [planPath, progressPath(planPath)];
  const root = realPathOf(projectDir);
  const behind = own.flatMap((path) => {
    const folder = realPathOf(join(projectDir, dirname(path)));
    return [folder === null ? null : join(folder, basename(path)), realPathOf(join(projectDir, path))];
  });
  const named = behind.flatMap((path) => {
    const from = path === null || root === null ? '..' : relative(root, path).split('\\').join('/');
    return from.startsWith('..') ? [] : [from];
  });
  return [...new Set([...own, ...named])];
}

/** Returns the target of a symbolic link as written; null if the path is not a link. */
export function linkText(path: string): string | null {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? readlinkSync(path) : null;
}

/**
 * Returns the text of a plan in which the task of a loop beside others is open: until this loop has committed it, another program
 * has ticked it.
 */
export function withOwnOpen({ part, contract }: PlanPlace, text: string): string {
  const only = part === undefined ? undefined : contract.policy.plan?.only;
  if (only === undefined) return text;
  const task = readPlan(text).tasks.find(({ id, status }) => status === 'done' && planKey(id) === planKey(only));
  return task === undefined ? text : `${text.slice(0, task.boxAt)} ${text.slice(task.boxAt + 1)}`;
}
