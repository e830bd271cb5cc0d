import type { Batch } from '../../engine/schema/batch.ts';
import type { Run, RunTask } from '../../engine/schema/run.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { describeLoop } from '../status/loop-report.ts';
import { planRunOf, wholeRun } from '../status/plan-run.ts';
import { describeProject, type ProjectLoop } from '../status/project-loops.ts';
import { keptFiles } from '../worktree/remove-worktree.ts';
import { worktreePlace } from '../worktree/worktree-place.ts';
import { archivedBatches, findBatch } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';
import { runId, runOfBatch, type Where } from './run-of-batch.ts';

export interface ProjectRun {
  readonly run: Run;
  /** Names of the loops that work or have worked on its tasks, each in a worktree; empty for a single loop of the project. */
  readonly members: ReadonlySet<string>;
  /** Loop that is the whole run; null for one with members. */
  readonly loop: ProjectLoop | null;
}

/** Returns the files of the loop of a task: in its worktree, or what was kept of it; null if neither has the loop. */
export function memberFiles(projectDir: string, { loop }: RunTask, env: NodeJS.ProcessEnv): LoopFiles | null {
  if (loop?.name == null) return null;
  const own = loopFiles(worktreePlace(projectDir, loop.name).projectDir, loop.name, env);
  const all = [own, ...keptFiles(projectDir, loop.name, env)];
  return all.find((files) => holdsLoop(files, loop.loopId, env)) ?? null;
}

/** Returns whether a loop, or any if the id is null, is the live or last one of these files. */
export function holdsLoop(files: LoopFiles, loopId: string | null, env: NodeJS.ProcessEnv): boolean {
  const { live, lastLoop } = describeLoop(files, env);
  const ids = [live?.loopId, lastLoop?.loopId].filter((id) => id != null);
  return loopId === null ? ids.length > 0 : ids.includes(loopId);
}

/** Returns the runs of a project, newest first: those that have not ended, and of each plan or list of tasks the last one. */
export function projectRuns(where: Where, loops = describeProject(where.projectDir, where.env)): ProjectRun[] {
  const { projectDir, env, at } = where;
  const found = findBatch(projectDir, env);
  const archived = archivedBatches(projectDir, env).flatMap(({ batch }) => batch ?? []);
  const known = found === null || found instanceof RalphError ? archived : [...archived, found];
  const batches = [...new Map(known.map((batch) => [runId(batch), batch])).values()];
  const beside = batches.map((batch) => besideRun(batch, where));
  const members = new Set(beside.flatMap(({ members }) => [...members]));
  const single = loops.flatMap((loop): ProjectRun[] => {
    const run = loop.worktree !== null && members.has(loop.files.name ?? '') ? null : planRunOf(loop, at);
    return run === null ? [] : [{ run, members: new Set(), loop }];
  });
  const lost = found instanceof RalphError ? [lostRun(found, at)] : [];
  const newest = [...beside, ...single].sort((a, b) => b.run.startedAt.localeCompare(a.run.startedAt));
  const isLast = (one: ProjectRun, index: number): boolean =>
    one.run.live || newest.findIndex(({ run }) => subjectOf(run) === subjectOf(one.run)) === index;
  return [...lost, ...newest.filter(isLast)];
}

function besideRun(batch: Batch, where: Where): ProjectRun {
  return { run: runOfBatch(batch, where), members: new Set(batch.tasks.map(({ name }) => name)), loop: null };
}

/** Returns what a run works on; a later run on the same takes its place in lists. */
function subjectOf({ plan, tasks }: Run): string {
  return plan ?? tasks.map(({ id }) => id).join('\n');
}

/** Stands for a run whose record is lost, which no list may leave out. */
function lostRun({ message }: RalphError, at: string): ProjectRun {
  const run = wholeRun({
    id: 'lost',
    title: PARALLEL_TEXTS.lostTitle,
    plan: null,
    atOnce: 1,
    status: 'unreadable',
    live: false,
    startedAt: at,
    endedAt: at,
    durationMs: null,
    why: message,
    next: '',
    tasks: [],
  });
  return { run, members: new Set(), loop: null };
}
