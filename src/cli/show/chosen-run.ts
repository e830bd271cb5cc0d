import { type ProjectRun, projectRuns } from '../../drive/parallel/project-runs.ts';
import { endedLast, isTaskAt, liveLoops } from '../choose-loop.ts';
import type { CommandContext } from '../command.ts';

/**
 * Returns the run with several loops that a command without a name is about: the one on the plan at the path; without a path the
 * live one, or the one that ended after every other loop. null if it is about a single loop.
 */
export function chosenRun(context: CommandContext, path: string | null): ProjectRun | null {
  const { projectDir, env, now, files } = context;
  if (files.name !== null) return null;
  const runs = projectRuns({ projectDir, env, at: now() }).filter(({ loop }) => loop === null);
  if (path !== null) return runs.find(({ run: { plan } }) => plan !== null && isTaskAt(projectDir, plan, path)) ?? null;
  const live = liveLoops(context);
  const [last] = runs;
  const current = runs.find(({ run }) => run.live) ?? last;
  if (current === undefined || live.some(({ name }) => !current.members.has(name ?? ''))) return null;
  if (current.run.live) return current;
  const ended = endedLast(context, null)?.lastLoop?.endedAt ?? '';
  return (current.run.endedAt ?? '') >= ended ? current : null;
}
