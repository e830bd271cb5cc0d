import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ProjectRun, projectRuns } from '../../drive/parallel/batch.ts';
import type { EndedLoop, LiveLoop } from '../../drive/status/loop-report.ts';
import { describeProject, type ProjectLoop } from '../../drive/status/loop-report.ts';
import { show } from '../../state/process/program.ts';
import { loopDirectoryTasks, type TaskKind, taskKind } from '../../task/task-file.ts';
import { instantText, type Paint, printable } from '../../term/format.ts';
import { costText } from '../../text/figures.ts';
import { pick } from '../../text/json.ts';
import { advise } from '../../text/message.ts';
import { statusWords } from '../../text/status-words.ts';
import type { Command, CommandContext } from '../command.ts';
import { explain } from './explain.ts';
import { listTable, runTable } from './run-text.ts';
import { checklistText, liveWords } from './status-text.ts';

export const LIST_COMMAND: Command = {
  name: 'list',
  usage: '',
  help: 'Lists the runs over several tasks (a plan, or tasks that run together) with their title and the number of tasks that are done, and the live, ended and requested loops of this project, including those of task folders, loop directories and worktrees. For each it shows the task, the state, the owner, the cost and how the previous loop ended.',
  example: 'ralph-loop list',
  run(context) {
    const { projectDir, env, now } = context;
    const described = describeProject(projectDir, env);
    const lost = described.filter((report) => report.lost !== null).map(explain);
    const loops = listedLoops(context, described);
    const runs = projectRuns({ projectDir, env, at: now() }, described);
    context.answer({ runs: runs.map(({ run }) => run), loops }, () => forReading(runs, loops, context, lost));
    return 0;
  },
};

interface ListedLoop {
  readonly name: string | null;
  readonly kind: TaskKind;
  /** Status of the live loop, or of the last one; `not-started`, or `unreadable` if the state file cannot be used or is lost. */
  readonly status: string;
  readonly mode: 'hook' | 'router' | 'runner' | null;
  readonly iteration: number;
  /** Task file, relative to its project; null if unknown. */
  readonly path: string | null;
  /** Null for a loop that has not started. */
  readonly startedAt: string | null;
  readonly costUsd: number | null;
  /** Client, host or runner that holds the loop; null if there is none. */
  readonly holder: { readonly pid: number; readonly alive: boolean } | null;
  /** Null for a loop of the project itself. */
  readonly worktree: { readonly dir: string; readonly branch: string } | null;
  readonly live: LiveLoop | null;
  readonly lastLoop: EndedLoop | null;
}

const NOTHING = {
  mode: null,
  iteration: 0,
  startedAt: null,
  costUsd: null,
  holder: null,
  worktree: null,
  live: null,
  lastLoop: null,
} as const;

/** Lists every loop of a project: live, ended or not started, and then those of its worktrees. */
function listedLoops({ projectDir }: CommandContext, described: readonly ProjectLoop[]): ListedLoop[] {
  const loops = described.flatMap(listed);
  const paths = new Set(loops.map(({ path }) => path));
  const notStarted = loopDirectoryTasks(projectDir).filter(({ path }) => !paths.has(path));
  return [
    ...loops.filter(({ worktree }) => worktree === null),
    ...notStarted.map((task) => ({ ...NOTHING, ...task, kind: taskKind(task.path), status: 'not-started' })),
    ...loops.filter(({ worktree }) => worktree !== null),
  ];
}

function listed(loop: ProjectLoop): ListedLoop[] {
  const { files, found, live, lost, lastLoop, kind, taskPath: path } = loop;
  const { name } = files;
  const worktree = loop.worktree && { dir: loop.worktree.dir, branch: loop.worktree.branch };
  if (found.kind === 'corrupt' || found.kind === 'newer' || lost !== null)
    return [{ ...NOTHING, name, kind, status: 'unreadable', path, lastLoop, worktree }];
  const shown = live ?? lastLoop;
  if (shown === null) return [];
  return [
    {
      ...pick(shown, ['status', 'mode', 'iteration', 'startedAt']),
      name,
      kind,
      path,
      live,
      lastLoop,
      worktree,
      costUsd: live === null ? (lastLoop?.costUsd ?? null) : (live.usage?.costUsd ?? null),
      holder: live?.clientPid == null ? null : { pid: live.clientPid, alive: live.clientAlive === true },
    },
  ];
}

const HEAD = 'LOOP,TASK,NOW,ITERATIONS,CHECKLIST,COST,HELD BY,SINCE,LAST END'.split(',');

/** Lists the runs, and the loops that belong to none of them. */
function forReading(
  runs: readonly ProjectRun[],
  loops: readonly ListedLoop[],
  context: CommandContext,
  lostLoops: readonly ReturnType<typeof explain>[],
): string {
  const { projectDir, now, paint } = context;
  const at = now();
  const own = loops.filter((each) => !runs.some((run) => isOf(run, each)));
  const shown = runs.map(({ run }) => run);
  const lost = shown.filter(({ status }) => status === 'unreadable').map(({ why }) => printable(why));
  const parts = [
    ...(shown.length === 0 ? [] : [[runTable(shown, at, paint), ...lost].join('\n')]),
    ...(own.length === 0 ? [] : [loopsTable(own, projectDir, at, paint)]),
    ...lostLoops.map(({ why, next }) => printable(`${why} ${next}`)),
  ];
  if (parts.length > 0) return parts.join('\n\n');
  return show(advise('No loop has run in this project.', 'Start one', 'run "TASK"'));
}

/** Returns whether a listed loop works for a run, or is the whole run. */
function isOf({ members, loop }: ProjectRun, { name, worktree, status }: ListedLoop): boolean {
  if (loop !== null) return loop.files.name === name && loop.worktree?.dir === worktree?.dir;
  // The loop of a task that is integrated went with its worktree.
  return (worktree !== null || status === 'not-started') && members.has(name ?? '');
}

function loopsTable(loops: readonly ListedLoop[], projectDir: string, at: string, paint: Paint): string {
  const rows = loops.map((loop) => {
    const { name, path, status, live, lastLoop, costUsd, worktree, holder, mode } = loop;
    const checklist = (live ?? lastLoop)?.checklist;
    return [
      `${name ?? '(default)'}${worktree === null ? '' : ' (worktree)'}`,
      path === null ? '' : printable(path),
      live === null ? plainStatus(status) : paint(live.clientAlive === false ? 'red' : 'green', stateOf(live)),
      live === null ? '' : `${live.iteration}/${live.maxIterations}`,
      checklist === undefined ? '' : checklistText(checklist),
      costUsd === null ? '' : costText(costUsd, Boolean(live?.usage?.unpricedRuns)),
      live === null ? '' : heldBy(mode, holder),
      live === null ? '' : instantText(live.startedAt, at),
      lastLoop === null
        ? provedElsewhere(loop, projectDir)
        : `${statusWords(lastLoop.status)}, ${instantText(lastLoop.endedAt, at)}`,
    ];
  });
  return listTable(HEAD, rows, paint);
}

function heldBy(mode: ListedLoop['mode'], holder: ListedLoop['holder']): string {
  const by = mode === 'hook' ? 'session' : mode;
  return holder === null ? (mode === 'hook' ? '' : (by ?? '')) : `${by} ${holder.pid}`;
}

/** Names the proof that a loop on another machine left in a task's folder; '' if there is none. */
function provedElsewhere({ name, path, status }: ListedLoop, projectDir: string): string {
  const isThere =
    status === 'not-started' && path !== null && existsSync(join(projectDir, dirname(path), 'proof.json'));
  return isThere ? show(advise('complete elsewhere.', 'Check its proof', `verify ${name}`)) : '';
}

/** Returns the status of a loop that is not live, unless another column shows it. */
function plainStatus(status: string): string {
  return status === 'not-started' || status === 'unreadable' ? status.replace('-', ' ') : '';
}

function stateOf(live: LiveLoop): string {
  return live.clientAlive === false
    ? `${statusWords(live.status)}, ${live.mode === 'runner' ? 'runner' : 'client'} gone`
    : liveWords(live);
}
