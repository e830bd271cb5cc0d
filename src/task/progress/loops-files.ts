import { posix } from 'node:path';
import type { Contract } from '../../engine/schema/contract.ts';
import { isLoopsOwn } from '../left-out.ts';
import { OPEN_QUESTIONS } from '../outputs/open-questions.ts';
import {
  DECISIONS,
  LEARNINGS,
  LOOP_DIRECTORIES,
  PROGRESS_FILE,
  progressPath,
  relativeTaskFolder,
} from '../task-file.ts';

/** Files in which the client records what its user allows and schedules. */
const CLIENTS = ['.claude/settings.local.json', '.claude/scheduled_tasks.json'];

/** Returns a test for files of the project that are not work: the loop's records, folders of loops, the client's notes. */
export function loopsFiles(contract: Contract): (path: string) => boolean {
  const isBook = loopsBooks(contract);
  const isForLoops = (path: string): boolean =>
    path.startsWith(`${LOOP_DIRECTORIES}/`) || path.startsWith('.claude/ralph/');
  return (path) => isBook(path) || isForLoops(path) || CLIENTS.includes(path);
}

/** Returns a test for the files, relative to the project, in which a loop keeps its own books. Scripts beside them are none. */
export function loopsBooks({
  taskPath,
  findingsLog,
}: Pick<Contract, 'taskPath' | 'findingsLog'>): (path: string) => boolean {
  const folder = relativeTaskFolder(taskPath);
  const kept = new Set([
    taskPath,
    posix.normalize(findingsLog),
    LEARNINGS,
    DECISIONS,
    // An agent that works in the project's folder may write this file there.
    PROGRESS_FILE,
    ...[PROGRESS_FILE, OPEN_QUESTIONS].map((name) => posix.join(folder, name)),
    // Whether a file is a plan may be said where it was started, which is not known on another machine.
    progressPath(taskPath),
  ]);
  return (path) => kept.has(path) || isLoopsOwn(path);
}
