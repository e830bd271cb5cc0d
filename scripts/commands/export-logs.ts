import { realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { safePath } from '../../src/install/safe-path.ts';
import { exportRun } from '../../src/state/export-run.ts';
import { projectPath } from '../../src/task/project-file.ts';
import type { CommandContext } from './command.ts';
import { foreignSegment } from './new-task-folder.ts';
import { isAgent } from './refuse-agent.ts';
import { onePath, taskPlace } from './task-place.ts';

/** Whether `logs` was called for the run of a task folder, and not to print journals. */
export function wantsExport({ values, positionals }: CommandContext): boolean {
  return positionals.length > 0 || values['path'] !== undefined || values['dest'] !== undefined;
}

/** Copies the run of a task folder to a folder of its own. Throws RalphError for every misuse. */
export function exportLogs(context: CommandContext): number {
  const { values, projectDir, env, now, forPeople, out, err } = context;
  for (const name of ['events', 'follow', 'loop']) {
    if (values[name] !== undefined) {
      throw new RalphError('usage', `--${name} is for printing journals; the run of a task folder is copied whole.`);
    }
  }
  const { run, taskPath } = taskPlace(projectDir, pathOf(context));
  const named = resolve(
    typeof values['dest'] === 'string' ? values['dest'] : `ralph-logs-${now().replaceAll(':', '-')}`,
  );
  const dest = isAgent(env) ? placeForAgent(projectDir, named) : named;
  const { exported, skipped } = exportRun(run, dest);
  for (const path of skipped) err(`ralph: ${path} is no plain file and stays behind.`);
  out(
    forPeople
      ? `${exported.length} files of ${taskPath} are in ${dest}.`
      : JSON.stringify({ success: true, dest, exported, skipped }),
  );
  return 0;
}

/** What an agent may have written stays in the project, and out of the folders that steer its client. */
function placeForAgent(projectDir: string, dest: string): string {
  const root = realpathSync(projectDir);
  const inside = projectPath(root, root, dest);
  const real = inside === null ? null : safePath(root, inside);
  const taken = real === null ? undefined : foreignSegment(relative(root, real));
  if (real !== null && taken === undefined) return real;
  throw new RalphError(
    'refused',
    taken === undefined
      ? `${dest} is outside the project. An agent exports into the project: --dest DIR. The user may name any new folder, in another terminal.`
      : `${dest} is no place for an export: ${taken} belongs to another program. Choose another: --dest DIR.`,
  );
}

function pathOf({ values, positionals }: CommandContext): string {
  const word = onePath('logs', positionals);
  const option = values['path'];
  if (word !== null && option !== undefined) throw new RalphError('usage', 'logs takes PATH or --path, not both.');
  const path = word ?? option;
  if (typeof path !== 'string' || path === '') {
    throw new RalphError('usage', 'name the task folder to export: main.cjs logs PATH --dest DIR.');
  }
  if (values['dest'] === '') throw new RalphError('usage', '--dest is empty: name a new folder.');
  return path;
}
