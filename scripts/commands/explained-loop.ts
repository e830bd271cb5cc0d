import { RalphError } from '../../src/core/ralph-error.ts';
import { loopNames } from '../../src/install/loop-names.ts';
import { type LoopFiles, loopFiles } from '../../src/state/loop-files.ts';
import { readState } from '../../src/state/read-state.ts';
import type { CommandContext } from './command.ts';
import { lastEnded } from './last-ended.ts';
import { chosenLoop, isTaskAt, liveLoopsOn, pathOrLoop } from './live-loops.ts';

/**
 * The loop that is to be explained: the live one that other commands would take, or else one that is over; the default
 * one where there has been none. Throws `usage` where several could be meant, `no-loop` where none worked on the path.
 */
export function explainedLoop(context: CommandContext): LoopFiles {
  const path = pathOrLoop(context, 'explain');
  if (path !== null && liveLoopsOn(context, path).length === 0) {
    const ended = endedLast(context, path);
    if (ended !== null) return ended;
    throw new RalphError('no-loop', `no loop has worked on ${path}. main.cjs list shows the loops of this project.`);
  }
  const files = chosenLoop(context, 'explain', path);
  if (path !== null || files.name !== null || readState(files.state).kind !== 'absent') return files;
  return endedLast(context, null) ?? files;
}

/** The loop of this project that ended last, on a path where one is given. */
function endedLast(context: CommandContext, path: string | null): LoopFiles | null {
  const { projectDir, env } = context;
  const [latest] = loopNames(projectDir, env)
    .map((name) => loopFiles(projectDir, name, env))
    .flatMap((files) => {
      const ended = lastEnded(files);
      return ended !== null && (path === null || isTaskAt(projectDir, ended.taskPath, path)) ? [{ files, ended }] : [];
    })
    .sort((a, b) => b.ended.endedAt.localeCompare(a.ended.endedAt));
  return latest?.files ?? null;
}
