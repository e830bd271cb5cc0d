import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { makeWorktree, setUpWorktree, type WorktreeRequest } from '../../drive/worktree/make-worktree.ts';
import { counted, WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { worktreeLoss } from '../../drive/worktree/remove-worktree.ts';
import { projectOfLoop, type WorktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { safePath } from '../../install/files/project-files.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { DEFAULT_TASK, WORKTREES } from '../../task/task-file.ts';
import { printable } from '../../term/paint.ts';
import { table } from '../../term/table.ts';
import { shellWord } from '../../text/quote.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { existingLoopPolicy, startFlags } from '../start/start-request.ts';
import { startTarget } from '../start/start-target.ts';

export interface PlacedRun {
  /** What the command is about: the project in the worktree, where there is one. */
  readonly context: CommandContext;
  /** null for a loop that works in the project itself. */
  readonly worktree: WorktreePlace | null;
}

/**
 * Makes or finds the worktree that `--worktree` asks for, and gives the same command as it is to be run there. A loop
 * that is to be resumed and lies in a worktree alone is looked for there without being asked.
 */
export async function inWorktree(called: CommandContext): Promise<PlacedRun> {
  const resumed = called.values['resume'] === true ? worktreeToResume(called) : null;
  if (called.values['worktree'] !== true && resumed === null) {
    if (called.values['worktree-setup'] === undefined) return { context: called, worktree: null };
    throw new RalphError('usage', '--worktree-setup is for a new worktree: give --worktree as well.');
  }
  const request = requestOf(called, resumed);
  safePath(request.projectDir, WORKTREES);
  // Whatever is wrong with the task is told before anything is made.
  const command = request.existing === 'resume' ? null : setUpCommand(called, request.projectDir, request.taskPath);
  const { place, needsSetUp, notices } = makeWorktree(request);
  const tell = (message: string): void => called.err(withPrefix(message));
  for (const notice of notices) tell(notice);
  if (needsSetUp) {
    const { signal } = new AbortController();
    await setUpWorktree(place, { projectDir: request.projectDir, command, env: called.env, signal, tell });
  }
  return { context: within(called, place, request.taskPath), worktree: place };
}

/** The name of the worktree that a bare name or --loop means, where the project itself has no loop of that name. */
function worktreeToResume({ values, projectDir, files, env }: CommandContext): string | null {
  const names = worktreePlaces(projectDir).map(({ name }) => name);
  const { task } = values;
  if (typeof task === 'string') return !existsSync(resolve(task)) && names.includes(task) ? task : null;
  if (files.name === null || !names.includes(files.name)) return null;
  const elsewhere = projectOfLoop(projectDir, files.name, env) !== projectDir;
  return values['worktree'] === true || elsewhere ? files.name : null;
}

function requestOf(called: CommandContext, resumed: string | null): WorktreeRequest {
  const { values, projectDir, env } = called;
  if (resumed !== null) return { projectDir, name: resumed, taskPath: null, existing: 'resume', env };
  const { files, task } = startTarget({ ...called, values: { ...values, resume: false } });
  if (files.name === null) throw new RalphError('usage', WORKTREE_TEXTS.needsName);
  const existing = existingLoopPolicy(values);
  return { projectDir, name: files.name, taskPath: task ?? DEFAULT_TASK, existing, env };
}

/** What the settings say, which are read from the project and its task as they stand there. */
function setUpCommand(called: CommandContext, projectDir: string, taskPath: string | null): string | null {
  const { env } = called;
  const { args, formerArgs } = startTarget({ ...called, projectDir });
  const { resolved } = prepareContract({
    projectDir,
    name: null,
    task: taskPath,
    args,
    formerArgs,
    flags: startFlags(called),
    env,
    at: called.now(),
    headless: true,
    launched: true,
    consented: true,
    clientVersion: null,
    bundleDir: null,
    clientArgs: called.rest,
    mode: 'runner',
  });
  return resolved.settings.worktreeSetup;
}

/** The same command in the worktree: its task is the one that lies there. */
function within(called: CommandContext, place: WorktreePlace, taskPath: string | null): CommandContext {
  const { projectDir, name } = place;
  const { task: _task, path: _path, ...values } = called.values;
  return {
    ...called,
    projectDir,
    files: loopFiles(projectDir, name, called.env),
    positionals: [],
    values: { ...values, ...(taskPath !== null && { task: join(projectDir, taskPath) }) },
  };
}

/** After a run: where its work lies, and the commands to look at it, to merge it and to clean up. The merge is the user's. */
export function worktreeText(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): string {
  const { branch, dir, name } = place;
  const lost = lossOf(mainDir, place, env);
  const has =
    lost === null ? '' : ` (${counted(lost.unmerged, 'commit')}, ${counted(lost.uncommitted, 'file')} not committed)`;
  const rows = [
    ['look at it', `git log -p HEAD..${branch}`],
    ...((lost?.uncommitted ?? 0) > 0
      ? [['commit the rest', `git -C ${shellWord(dir)} add -A && git -C ${shellWord(dir)} commit`]]
      : []),
    ['merge it', `git merge ${branch}`],
    ['clean up', `ralph-loop worktree remove ${name}`],
  ];
  return `${withPrefix(`the work is on the branch ${branch}${has}, in ${printable(dir)}.`)}\n${table(rows.map((row) => ['', ...row]))}`;
}

/** null where git does not say: the branch is there all the same. */
function lossOf(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): ReturnType<typeof worktreeLoss> | null {
  try {
    return worktreeLoss(mainDir, place, env);
  } catch (error) {
    if (error instanceof RalphError) return null;
    throw error;
  }
}
