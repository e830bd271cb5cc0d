import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { loopNames } from '../drive/status/project-loops.ts';
import { worktreePlaces } from '../drive/worktree/worktree-place.ts';
import { type LoopFiles, loopFiles } from '../state/loop-files.ts';
import { type ReadState, readState } from '../state/read-state.ts';
import { DEFAULT_TASK, hasFolder, taskKind } from '../task/task-file.ts';
import { printable } from '../term/paint.ts';
import { table } from '../term/table.ts';
import { RalphError } from '../text/ralph-error.ts';
import type { CommandContext } from './command.ts';
import { onePath, pathNamed } from './task-place.ts';

/** A state that lies in the project and has not ended, whether it can be read or not. */
export interface LiveLoop {
  readonly files: LoopFiles;
  readonly found: Exclude<ReadState, { kind: 'absent' }>;
  /** Relative to the project. */
  readonly taskPath: string;
}

type Where = Pick<CommandContext, 'projectDir' | 'env'>;

/** Every live loop of a project, the default one first, those in its worktrees last. */
export function liveLoops({ projectDir, env }: Where): LiveLoop[] {
  const inWorktrees = worktreePlaces(projectDir).flatMap((place) =>
    liveIn({ projectDir: place.projectDir, env }).map((loop) => {
      return { ...loop, taskPath: relative(projectDir, join(place.projectDir, loop.taskPath)) };
    }),
  );
  return [...liveIn({ projectDir, env }), ...inWorktrees];
}

function liveIn({ projectDir, env }: Where): LiveLoop[] {
  return loopNames(projectDir, env).flatMap((name): LiveLoop[] => {
    const files = loopFiles(projectDir, name, env);
    const found = readState(files.state);
    if (found.kind === 'absent' || (found.kind === 'loop' && found.state.status === 'ended')) return [];
    return [{ files, found, taskPath: found.kind === 'loop' ? found.state.taskPath : DEFAULT_TASK }];
  });
}

/** The live loops on a task file, or on the one in a task folder. `path` is absolute or from the current directory. */
export function liveLoopsOn(where: Where, path: string): LiveLoop[] {
  return liveLoops(where).filter(({ taskPath }) => isTaskAt(where.projectDir, taskPath, path));
}

/** Whether a path (absolute or from the current directory) or the name of a loop directory means this task file, or the folder that it is in. */
export function isTaskAt(projectDir: string, taskPath: string, path: string): boolean {
  const wanted = realPath(resolve(pathNamed(projectDir, path)));
  const task = realPath(join(projectDir, taskPath));
  return task === wanted || (hasFolder(taskKind(task)) && dirname(task) === wanted);
}

/** The path that a command was given, or null. Throws `usage` for more than one, and for one beside --loop. */
export function pathOrLoop({ positionals, values }: CommandContext, command: string): string | null {
  const path = onePath(command, positionals);
  if (path === null || values['loop'] === undefined) return path;
  throw new RalphError('usage', `${command} takes a path or --loop, not both.`);
}

/**
 * The loop that a command is for: the one on the path that was given, the one that --loop or RALPH_LOOP names, or else
 * the only one that is live; the default one where none is, and where it is one of several on the path. Throws `usage` with a list where several could be meant.
 * `command` is how it is written before a path.
 */
export function chosenLoop(
  context: CommandContext,
  command: string,
  path: string | null = pathOrLoop(context, command),
): LoopFiles {
  if (path !== null) {
    const loops = liveLoopsOn(context, path);
    // The others on its task have names to be told apart by.
    const unnamed = loops.find(({ files }) => files.name === null);
    return (unnamed ?? only(loops, command, `on ${path}`))?.files ?? nothingOn(path);
  }
  if (context.files.name !== null) return context.files;
  return only(liveLoops(context), command, 'here')?.files ?? context.files;
}

function only(loops: readonly LiveLoop[], command: string, where: string): LiveLoop | undefined {
  onlyOf(loops.map(briefly), command, `loops are active ${where}`);
  return loops[0];
}

/**
 * The only one of these loops, if there is one. Throws `usage` with a list where there are several; `command` is how it
 * is written before a path, `what` says what they have in common.
 */
export function onlyOf<T extends BriefLoop>(loops: readonly T[], command: string, what: string): T | undefined {
  if (loops.length <= 1) return loops[0];
  throw new RalphError(
    'usage',
    `${loops.length} ${what}. Say which one: ralph-loop ${command} PATH, or --loop NAME.\n${loopTable(loops)}`,
  );
}

/** A live loop in brief. `status`: the loop's, or what is wrong with its state file. */
export interface BriefLoop {
  readonly name: string | null;
  readonly status: string;
  readonly taskPath: string;
}

export function briefly({ files, found, taskPath }: LiveLoop): BriefLoop {
  return { name: files.name, status: found.kind === 'loop' ? found.state.status : found.kind, taskPath };
}

/** Loops for people, one a line. */
export function loopTable(loops: readonly BriefLoop[]): string {
  return table(loops.map(({ name, status, taskPath }) => ['', name ?? '(default)', status, printable(taskPath)]));
}

function nothingOn(path: string): never {
  throw new RalphError(
    'no-loop',
    `no live loop works on ${path === '' ? '""' : path}. ralph-loop list shows the loops of this project.`,
  );
}

/** A file that is gone still has a folder. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
