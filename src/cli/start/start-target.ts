import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { lastLoopIn, lastTaskOf, taskLoopName, taskPathOf } from '../../drive/start/find-task.ts';
import { describeLoop, type EndedLoop } from '../../drive/status/loop-report.ts';
import { loopNames } from '../../drive/status/project-loops.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { isDriverAlive } from '../../drive/turn/ownership.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { bundleDir } from '../../install/places.ts';
import { findEndedContract, readContract } from '../../state/contract-store.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { readArguments } from '../../task/settings/task-settings.ts';
import { DEFAULT_TASK, hasFolder, taskKind } from '../../task/task-file.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { briefly, liveLoops, onlyOf } from '../live-loops.ts';
import { pathNamed } from '../task-place.ts';

/** Which loop a start is about. */
export interface StartTarget {
  readonly files: LoopFiles;
  /** Relative to the project; null is PROMPT.md. */
  readonly task: string | null;
  readonly args: Readonly<Record<string, string>>;
  /** Those of the loop that a start goes on with, for what is not given anew. */
  readonly formerArgs: Readonly<Record<string, string>>;
  /** Settings of its command line that hold on, except where they are given anew (keptFlags). */
  readonly formerFlags: Contract['flags'];
}

/**
 * What `--task` (or `--path`), `--arg` and `--loop` mean. A task folder's loop has a name of its own; a start that goes
 * on with a loop takes its task where none is given, and the only loop that it can mean where none is named; one that
 * begins the named loop of a task folder anew takes its task, too. `command` is the one to advise. Throws RalphError for
 * what cannot be meant.
 */
export function startTarget(context: CommandContext, command: 'start' | 'run' | 'router start' = 'start'): StartTarget {
  const { values, projectDir, env } = context;
  const resumes = values['resume'] === true;
  const given = givenTask(context);
  const meant = given === null ? unnamedLoop(context, command) : context.files;
  const task =
    given ?? (resumes ? lastTaskOf(meant) : values['tdd'] === true ? tddTask(projectDir) : folderAnew(context));
  const named = meant.name !== null || task === null || !hasFolder(taskKind(task));
  const files = named ? meant : loopFiles(projectDir, taskLoopName(projectDir, task, env), env);
  const pairs = values['arg'];
  const read = readArguments(Array.isArray(pairs) ? pairs.map(String) : []);
  if ('problem' in read) throw new RalphError('usage', read.problem);
  const names = Object.keys(read.args);
  if (task === null && !resumes && names.length > 0 && !existsSync(join(projectDir, DEFAULT_TASK)))
    throw new RalphError('usage', START_TEXTS.argsWithoutTask(names, DEFAULT_TASK));
  const former = resumes ? formerContract(files) : null;
  return {
    files,
    task,
    args: read.args,
    formerArgs: former?.task?.args ?? {},
    // Nobody but an agent has seen those of a loop that still awaits consent.
    formerFlags: former?.consented === true ? former.flags : {},
  };
}

/** The task folder whose loop `--fresh --loop NAME` begins anew: it is what `explain` and a refusal advise. */
function folderAnew({ values, files }: CommandContext): string | null {
  if (values['fresh'] !== true || files.name === null) return null;
  const task = lastTaskOf(files);
  return task !== null && hasFolder(taskKind(task)) ? task : null;
}

/** Where neither a task nor a name says which loop is meant, a start over one that lies here finds it. */
function unnamedLoop(context: CommandContext, command: string): LoopFiles {
  const { values, files } = context;
  if (files.name !== null) return files;
  if (values['resume'] === true) return loopToResume(context, command);
  return values['consent'] === true ? loopToAgreeTo(context) : files;
}

/** From the current directory, where it is there, else from the project. */
function givenTask({ values, projectDir }: CommandContext): string | null {
  const { task, path } = values;
  if (task !== undefined && path !== undefined)
    throw new RalphError('usage', '--path is another name of --task: give one.');
  const given = task ?? path;
  if (typeof given !== 'string') return null;
  if (given === '') throw new RalphError('usage', '--task is empty: name a task file or a task folder.');
  const here = resolve(given);
  return taskPathOf(projectDir, existsSync(here) ? here : pathNamed(projectDir, given));
}

/** Of the loop that lies here, or of the one that ended last, which is the one that a start goes on with. */
function formerContract(files: LoopFiles): Contract | null {
  try {
    return readContract(files)?.contract ?? endedContract(files);
  } catch (error) {
    // An unreadable contract is replaced by this start: its arguments have to be given again, and start says so.
    if (error instanceof RalphError) return null;
    throw error;
  }
}

function endedContract(files: LoopFiles): Contract | null {
  const last = lastLoopIn(files);
  const stored = last && findEndedContract(files, last.loopId);
  if (!stored) return null;
  // How many tasks come before a review is said of one sitting, and that one has had its review.
  const { max_tasks: _, ...flags } = stored.contract.flags;
  return { ...stored.contract, flags };
}

/**
 * The loop that a start without a task or a name goes on with: the only one that lies here and nobody works on; where
 * none does, the default one if it has ended, else the only one that has ended and is not complete. Throws `usage` with
 * a list where several could be meant.
 */
export function loopToResume(context: CommandContext, command: string): LoopFiles {
  const left = liveLoops(context).filter(
    ({ files, found }) => found.kind !== 'loop' || isDriverAlive(files, found.state) !== true,
  );
  const chosen = onlyOf(left.map(briefly), `${command} --resume --task`, 'loops lie here');
  if (chosen !== undefined) return filesOf(context, chosen.name);
  const ended = endedLoops(context);
  if (ended.some(({ name }) => name === null)) return context.files;
  const over = ended.filter(({ status }) => status !== 'complete');
  return filesOf(context, onlyOf(over, `${command} --resume --task`, 'loops have ended here')?.name ?? null);
}

/** The loop that the user agrees to: the only one that awaits it. Throws `usage` with a list where there are several. */
export function loopToAgreeTo(context: CommandContext): LoopFiles {
  const asked = liveLoops(context)
    .map(briefly)
    .filter(({ status }) => status === 'awaiting-consent');
  const chosen = onlyOf(asked, 'start --consent --task', 'loops await consent');
  return chosen === undefined ? context.files : filesOf(context, chosen.name);
}

function endedLoops({ projectDir, env }: CommandContext): (EndedLoop & { readonly name: string | null })[] {
  return loopNames(projectDir, env).flatMap((name) => {
    const ended = describeLoop(loopFiles(projectDir, name, env), env).lastLoop;
    return ended === null ? [] : [{ ...ended, name }];
  });
}

function filesOf({ projectDir, env }: CommandContext, name: string | null): LoopFiles {
  return loopFiles(projectDir, name, env);
}

const TDD_TASK = '.claude/ralph/TDD.md';

/** The task file of a TDD loop that names none, relative to the project: written from the template where it is not there. */
export function tddTask(projectDir: string): string {
  const path = join(projectDir, TDD_TASK);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeAtomically(path, readFileSync(join(bundleDir(), 'templates', 'TDD.md')));
  }
  return TDD_TASK;
}
