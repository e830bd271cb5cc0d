import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isDriverAlive } from '../drive/control/ownership.ts';
import { type ProjectRun, projectRuns } from '../drive/parallel/batch.ts';
import { describeLoop, describeProject, type LoopReport, loopNames } from '../drive/status/loop-report.ts';
import { HOOK_TEXTS } from '../drive/turn/messages.ts';
import { keptFiles } from '../drive/worktree/remove-worktree.ts';
import { projectOfLoop, worktreePlaces } from '../drive/worktree/worktree-place.ts';
import { isUnjoined } from '../engine/initial-state.ts';
import type { LoopState, StateOf } from '../engine/schema/state.ts';
import { ifOutOfReach, isFolder, regularFile, TASK_FILE_BYTES } from '../state/files/regular-file.ts';
import { LOOP_NAME, type LoopFiles, loopFiles, type ReadState, readState } from '../state/loop-files.ts';
import { withPrefix } from '../state/process/program.ts';
import { runFiles } from '../state/task-folder/run-files.ts';
import { readRunState } from '../state/task-folder/run-state.ts';
import { endedState, lastArchived, listArchive } from '../state/with-state.ts';
import { projectPath } from '../task/project-file.ts';
import {
  CHECKLIST_FILE,
  DEFAULT_TASK,
  hasFolder,
  LOOP_DIRECTORIES,
  mayName,
  RALPH_FILE,
  taskFileIn,
  taskKind,
} from '../task/task-file.ts';
import { printable, table } from '../term/format.ts';
import { about, advise, type Message, nullIfRefused, offer, RalphError } from '../text/message.ts';
import { quoted } from '../text/quote.ts';
import { statusWords } from '../text/status-words.ts';
import type { CommandContext } from './command.ts';

/** Summary of a loop. `status`: the loop's, or the problem of its state file. `taskPath`: relative to the project. */
export interface BriefLoop {
  readonly name: string | null;
  readonly status: string;
  readonly taskPath: string;
}

/** Loop whose state file exists and has not ended, readable or not. */
interface ActiveLoop extends BriefLoop {
  readonly files: LoopFiles;
  readonly found: Exclude<ReadState, { kind: 'absent' }>;
}

type Where = Pick<CommandContext, 'projectDir' | 'env'>;

/** Returns every live loop of a project, the default loop first, those in its worktrees last. */
export function liveLoops({ projectDir, env }: Where): ActiveLoop[] {
  const inWorktrees = worktreePlaces(projectDir).flatMap((place) =>
    liveIn({ projectDir: place.projectDir, env }).map((loop) => {
      return { ...loop, taskPath: relative(projectDir, join(place.projectDir, loop.taskPath)) };
    }),
  );
  return [...liveIn({ projectDir, env }), ...inWorktrees];
}

function liveIn({ projectDir, env }: Where): ActiveLoop[] {
  return loopNames(projectDir, env).flatMap((name): ActiveLoop[] => {
    const files = loopFiles(projectDir, name, env);
    const found = readState(files.state);
    if (found.kind === 'absent' || (found.kind === 'loop' && found.state.status === 'ended')) return [];
    const { status, taskPath } = found.kind === 'loop' ? found.state : { status: found.kind, taskPath: DEFAULT_TASK };
    return [{ files, found, name, status, taskPath }];
  });
}

/** Returns the live loop of this name, or else those on a task file or on that of a task folder. `path` may be relative. */
export function liveLoopsOn(where: Where, path: string): ActiveLoop[] {
  const loops = liveLoops(where);
  const named = loops.filter(({ files }) => isNamed(files, path));
  return named.length > 0 ? named : loops.filter(({ taskPath }) => isTaskAt(where.projectDir, taskPath, path));
}

/** Returns whether a word is the name of a loop and not the path of something that exists. */
export function isNamed({ name }: LoopFiles, word: string): boolean {
  return name === word && !existsSync(resolve(word));
}

/** Returns whether a path, or the name of a loop directory, refers to this task file or its folder. */
export function isTaskAt(projectDir: string, taskPath: string, path: string): boolean {
  const target = realPath(resolve(pathNamed(projectDir, path)));
  const task = realPath(join(projectDir, taskPath));
  return task === target || (hasFolder(taskKind(task)) && dirname(task) === target);
}

/** Returns the only path among a command's words, or null. Throws `usage` for several, and for one combined with --loop. */
export function pathOrLoop({ positionals, values }: CommandContext, command: string): string | null {
  const path = onePath(command, positionals);
  if (path === null || values['loop'] === undefined) return path;
  throw new RalphError('usage', `${command} takes a path or --loop, not both.`);
}

/** Returns the loop on the path, else the named, the only live or the default one. Throws `usage` for several. */
export function chosenLoop(
  context: CommandContext,
  command: string,
  path: string | null = pathOrLoop(context, command),
): LoopFiles {
  const usage = `${command} ${PATH_OR_NAME}`;
  if (path !== null) {
    const loops = liveLoopsOn(context, path);
    // The message names the other loops on this task.
    const unnamed = loops.find(({ name }) => name === null);
    return (
      (unnamed ?? onlyOf(loops, `loops are active on ${path}`, usage))?.files ??
      noLoop(`no live loop is working on ${path === '' ? '""' : path}.`)
    );
  }
  if (context.files.name !== null) return context.files;
  return onlyOf(liveLoops(context), 'loops are active here', usage)?.files ?? context.files;
}

/** Describes the last ended loop of this project and its worktrees, or the loop of this name or on this path. */
export function endedLast({ projectDir, env }: Where, path: string | null): LoopReport | null {
  const endedAt = ({ lastLoop }: LoopReport): string => lastLoop?.endedAt ?? '';
  // The task of a loop in a worktree has the same path there.
  const isOn = ({ lastLoop, files }: LoopReport): boolean =>
    lastLoop !== null &&
    (path === null ||
      isNamed(files, path) ||
      [projectDir, files.projectDir].some((root) => isTaskAt(root, lastLoop.taskPath, path)));
  const [latest] = describeProject(projectDir, env)
    .filter(isOn)
    .sort((a, b) => endedAt(b).localeCompare(endedAt(a)));
  return latest ?? null;
}

/** Returns the loop whose archive is meant: the named one, else the default one, or the last one if that has no archive. */
export function loopOfArchive(context: CommandContext): LoopFiles {
  const isAny = context.files.name === null && listArchive(context.files).length === 0;
  return (isAny ? endedLast(context, null)?.files : undefined) ?? context.files;
}

/** Returns the loop of this name or on this path that has not ended and whose state file is missing or corrupt; else null. */
export function lostOn({ projectDir, env }: Where, path: string): LoopReport | null {
  const isOn = ({ lost, files }: LoopReport): boolean =>
    lost !== null && (isNamed(files, path) || isTaskAt(files.projectDir, lost.taskPath, path));
  return describeProject(projectDir, env).find(isOn) ?? null;
}

/** Returns the ended loop of this name or on this task, or the last one. Throws `refused` for a live one, and `no-loop`. */
export function endedLoop(
  { projectDir, env, files: given }: Pick<CommandContext, 'projectDir' | 'env' | 'files'>,
  named: string | undefined,
): { readonly files: LoopFiles; readonly state: StateOf<'ended'> } {
  const where = { projectDir, env };
  if (named === '') throw new RalphError('usage', 'the name is empty: name a loop or its task.');
  const isPath = named !== undefined && (!LOOP_NAME.test(named) || (existsSync(named) && !isFolder(named)));
  const path = isPath ? named : null;
  const name = path === null ? (named ?? given.name) : null;
  const [live] = path === null ? liveLoops(where) : liveLoopsOn(where, path);
  const found = name === null ? (endedLast(where, path) ?? live) : undefined;
  if (path !== null && found === undefined) return noLoop(`No loop has ended on ${path} here.`);
  const files = found?.files ?? loopFiles(projectOfLoop(projectDir, name, env), name, env);
  const current = readState(files.state);
  if (current.kind === 'loop' && current.state.status !== 'ended')
    throw new RalphError('refused', about(advise('The loop has not ended.', 'Stop it first', 'stop'), current.state));
  const { lost } = describeLoop(files, env);
  if (lost !== null) {
    const loop = { name: files.name, mode: lost.mode };
    throw new RalphError('refused', about(HOOK_TEXTS.stateLost(files.state, lost.iteration), loop));
  }
  const last = lastArchived(files);
  const state = last === null ? null : endedState(files, last.state.loopId);
  if (state === null) return noLoop(`No ended loop${name === null ? '' : ` named ${name}`} was found here.`);
  return { files, state };
}

const PATH_OR_NAME = 'PATH, or --loop NAME';

/** Returns the only loop, if there is one. Throws `usage`, with a list and the command to use, if there are several. */
export function onlyOf<T extends BriefLoop>(loops: readonly T[], what: string, usage: string): T | undefined {
  if (loops.length <= 1) return loops[0];
  const text = `${loops.length} ${what}:\n${loopTable(loops)}\n`;
  throw new RalphError('usage', advise(text, 'Choose one', usage));
}

/** Returns the loop resumed by a start without task and name. Throws `usage` with a list if there are several. */
export function loopToResume(context: CommandContext, command: string): LoopFiles {
  const { projectDir, env } = context;
  const usage = command === 'resume' ? 'resume NAME' : `${command} --resume --task ${PATH_OR_NAME}`;
  const idle = liveLoops(context).filter(
    ({ files, found }) => found.kind !== 'loop' || isDriverAlive(files, found.state) !== true,
  );
  // A loop that awaits consent cannot be resumed.
  const left = idle.filter(({ status }) => status !== 'awaiting-consent');
  const all = describeProject(projectDir, env);
  const lost = all.flatMap(({ files, found, lost }) =>
    lost === null || found.kind !== 'absent' ? [] : [{ ...lost, name: files.name, status: 'interrupted' }],
  );
  const chosen = onlyOf<BriefLoop>([...left, ...lost], 'loops are live here', usage);
  if (chosen !== undefined) return loopFiles(projectDir, chosen.name, env);
  const ended = all.flatMap(({ files, lastLoop, worktree }) =>
    lastLoop === null ? [] : [{ ...lastLoop, name: files.name, files, isOwn: worktree === null }],
  );
  const incomplete = ended.filter(({ status }) => status !== 'complete');
  const own = incomplete.filter(({ isOwn }) => isOwn);
  const first = command === 'resume' ? own : ended.filter(({ isOwn }) => isOwn);
  if (first.some(({ name }) => name === null)) return context.files;
  // Loops in worktrees continue only by the command that finds them by name.
  const resumable = command === 'resume' && own.length === 0 ? incomplete : own;
  const chosenEnded = onlyOf(resumable, 'loops have ended here', usage);
  return (chosenEnded ?? onlyOf(idle, 'loops are live here', usage))?.files ?? loopFiles(projectDir, null, env);
}

/** Returns whether no process drives the loop any more; a new driver does not resume a loop that awaits consent. */
export function needsDriver(files: LoopFiles, state: LoopState): boolean {
  if (readState(files.state).kind !== 'loop') return true;
  if (state.status === 'awaiting-consent') return false;
  // The client of a session that has not joined exited before its first hook.
  const isLost = isUnjoined(state) && state.status === 'paused' && state.paused.reason === 'interrupted';
  return isLost || state.status === 'ended' || isDriverAlive(files, state) === false;
}

/** Returns the only loop that awaits consent, else the default one. Throws `usage` with a list if there are several. */
export function loopAwaitingConsent(context: CommandContext): LoopFiles {
  const waiting = liveLoops(context).filter(({ status }) => status === 'awaiting-consent');
  const chosen = onlyOf(waiting, 'loops await consent', `start --consent --task ${PATH_OR_NAME}`);
  return chosen === undefined ? context.files : loopFiles(context.projectDir, chosen.name, context.env);
}

export function loopTable(loops: readonly BriefLoop[]): string {
  return table(
    loops.map(({ name, status, taskPath }) => ['', name ?? '(default)', statusWords(status), printable(taskPath)]),
  );
}

/** Refuses to replace a loop that is active on a path. */
export function activeText(path: string, status?: string): Message {
  return offer(`a loop on ${path} is active${status === undefined ? '' : ` (${statusWords(status)})`}.`, {
    'End it first': `stop ${quoted(path)}`,
    'Or now': `cancel ${quoted(path)}`,
  });
}

export function noLoop(text: string): never {
  throw new RalphError('no-loop', advise(text, 'List the loops', 'list'));
}

/** Throws `no-loop` for the path of a task, or a name, without a loop; says where the journals are if its worktree was removed. */
export function noLoopOn({ projectDir, env }: Where, path: string): never {
  const name = basename(hasFolder(taskKind(path)) ? dirname(path) : path);
  const kept = keptFiles(projectDir, name, env).find(({ events }) => existsSync(events));
  if (kept === undefined) return noLoop(`no loop has worked on ${path}.`);
  const read = `report --project ${quoted(relative(process.cwd(), kept.projectDir))}`;
  throw new RalphError(
    'no-loop',
    advise(`The worktree of the loop ${name} was removed; its journals remain.`, 'Read them', read),
  );
}

/** Resolves links; for a missing file, those of its folder. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}

/** Finds the task folder of a path, or of a loop directory's name. Throws `usage` for anything else. */
export function taskPlace(projectDir: string, word: string) {
  if (word === '') throw new RalphError('usage', 'the path is empty: name a task folder.');
  const path = resolve(pathNamed(projectDir, word));
  if (!existsSync(path)) {
    const what = /\.md$/i.test(word) && !hasFolder(taskKind(path)) ? 'file' : 'task folder';
    const text = `${word}: no such ${what} exists.`;
    throw new RalphError('usage', advise(text, 'List the loops with their tasks', 'list'));
  }
  const isFolder = statSync(path).isDirectory();
  if (!isFolder && !hasFolder(taskKind(path))) {
    const text = `${word} is no task folder. Name one, or the RALPH.md or task.md in it.`;
    throw new RalphError('usage', advise(text, 'Check it as a plan', `plan check ${quoted(word)}`));
  }
  const dir = realpathSync(isFolder ? path : dirname(path));
  if (taskFileIn(dir) === null && !existsSync(join(dir, '.ralph-runner')))
    throw new RalphError('usage', advise(`${word} has no RALPH.md.`, 'Create a task folder', 'scaffold NAME'));
  const root = realpathSync(projectDir);
  const file = isFolder ? (taskFileIn(dir) ?? goneFile(dir)) : basename(path);
  const taskPath = projectPath(root, dir, file);
  if (taskPath === null) throw new RalphError('usage', `${word} is outside the project ${projectDir}.`);
  return {
    /** Absolute, symbolic links resolved. */
    dir,
    /** Its RALPH.md or task.md, relative to the project, with `/` as separator. The file itself may be missing. */
    taskPath,
    run: runFiles(dir),
  };
}

/** Returns the name of a missing task file, from the status of the folder's last run. */
function goneFile(dir: string): string {
  // The problem is reported by the caller, which shows the run state.
  const run = nullIfRefused(() => ifOutOfReach(() => readRunState(runFiles(dir)), null), 'refused');
  const path = run?.status?.taskPath;
  return path !== undefined && taskKind(path) === 'checklist' ? CHECKLIST_FILE : RALPH_FILE;
}

/** Returns the only path among a command's words, or null. Throws `usage` for more. */
export function onePath(name: string, positionals: readonly string[]): string | null {
  const [path, ...more] = positionals;
  if (more.length === 0) return path ?? null;
  throw new RalphError('usage', `${name} takes one path, not ${positionals.length}. Quote a path with spaces.`);
}

/** Returns a path that exists here; else that of the loop directory of this name with a task, or this path in the project. */
export function pathNamed(projectDir: string, word: string): string {
  if (existsSync(resolve(word))) return word;
  const folder = join(projectDir, LOOP_DIRECTORIES, word);
  if (mayName(word) && existsSync(folder) && taskFileIn(folder) !== null) return folder;
  const inProject = resolve(projectDir, word);
  return existsSync(inProject) ? inProject : word;
}

/** Reads a task file. Throws `task-missing` with the name `shown`; adds text and advice of `missing` if there is no file. */
export function readTaskText(path: string, shown: string, missing: Partial<Message> = {}): string {
  try {
    return readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') {
      const why = code === 'EFBIG' ? 'it is larger than 8 MB' : (code ?? 'not a regular file');
      throw new RalphError('task-missing', `${shown} cannot be read (${why}).`, error);
    }
    const { text = '', ...advice } = missing;
    throw new RalphError('task-missing', { text: `${shown} does not exist.${text}`, ...advice }, error);
  }
}

/**
 * Returns the run with several loops that a command without a name is about: the one on the plan at the path; without a path,
 * the live one, or one that ended after every other loop. Null if the command is about a single loop.
 */
export function chosenRun(context: CommandContext, path: string | null): ProjectRun | null {
  const { projectDir, env, now, files } = context;
  if (files.name !== null) return null;
  const runs = projectRuns({ projectDir, env, at: now() }).filter(({ loop }) => loop === null);
  if (path !== null) return runs.find(({ run: { plan } }) => plan !== null && isTaskAt(projectDir, plan, path)) ?? null;
  const live = liveLoops(context);
  const [last] = runs;
  const current = runs.find(({ run }) => run.live) ?? last;
  // Any worktree may be one of a run whose record is lost.
  const isIts = ({ files, name }: ActiveLoop) =>
    files.projectDir !== projectDir && (current?.run.status === 'unreadable' || current?.members.has(name ?? ''));
  if (current === undefined || !live.every(isIts)) return null;
  if (current.run.live) return current;
  const ended = endedLast(context, null)?.lastLoop?.endedAt ?? '';
  return (current.run.endedAt ?? '') >= ended ? current : null;
}

/** Says, if the last run has several loops, which one a command without a name is about; `ofPlan` is added for those of a plan. */
export function tellOfRun(context: CommandContext, ofPlan = ''): void {
  const found = context.positionals.length === 0 ? chosenRun(context, null) : null;
  if (found === null) return;
  const { title, plan, status, why } = found.run;
  const name = endedLast(context, null)?.files.name;
  const about = name == null ? '' : ` This is about ${found.members.has(name) ? 'its' : 'the'} loop ${name}.`;
  const how = plan === null ? '' : ofPlan;
  const several = advise(`The last run, ${title}, has several tasks.${about}${how}`, 'See them', 'status');
  context.err(withPrefix(status === 'unreadable' ? why : several));
}
