import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { unagreedSettings } from '../../drive/start/agreed-settings.ts';
import { type PreparedContract, prepareContract } from '../../drive/start/prepare-contract.ts';
import type { StartRequest } from '../../drive/start/read-settings.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { copyIgnored } from '../../drive/worktree/copy-task.ts';
import { makeWorktree, setUpWorktree, type WorktreeRequest } from '../../drive/worktree/make-worktree.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { worktreeLoss } from '../../drive/worktree/remove-worktree.ts';
import { projectOfLoop, type WorktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { counted } from '../../engine/messages.ts';
import { safePath } from '../../install/files/project-files.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { DEFAULT_TASK, WORKTREES } from '../../task/task-file.ts';
import { printable, table } from '../../term/format.ts';
import { nullIfRefused, RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';
import type { CommandContext } from '../command.ts';
import { approveSettings } from '../start/approve.ts';
import { existingLoopPolicy, startRequest, startTarget } from '../start/start-request.ts';

/**
 * Creates or finds the worktree of `--worktree` or of the resumed loop. Returns it, null for a loop that works in the project
 * itself, and the command to run there.
 */
export async function inWorktree(context: CommandContext) {
  const { values, env } = context;
  const resumed = values['resume'] === true ? worktreeToResume(context) : null;
  if (values['worktree'] !== true && resumed === null) {
    if (values['worktree-setup'] === undefined) return { context, worktree: null };
    throw new RalphError('usage', '--worktree-setup is for a new worktree: add --worktree.');
  }
  const request = requestOf(context, resumed);
  const { projectDir, taskPath } = request;
  safePath(projectDir, WORKTREES);
  // Problems of the task are reported before anything is created.
  const prepared = request.existing === 'resume' ? null : prepareSetUp(context, taskPath);
  const { place, needsSetUp, notices } = makeWorktree(request);
  const tell = (message: string): void => context.err(withPrefix(message));
  for (const notice of notices) tell(notice);
  if (needsSetUp) {
    const { worktreeSetup: command = null, worktreeCopy = [] } = prepared?.resolved.settings ?? {};
    const copied = copyIgnored(projectDir, place.projectDir, worktreeCopy, env);
    if (copied.length > 0) tell(WORKTREE_TEXTS.copiedIgnored(copied));
    const { signal } = new AbortController();
    await setUpWorktree(place, { projectDir, command, sandbox: prepared?.terms.sandbox, env, signal, tell });
  }
  return { context: within(context, place, taskPath), worktree: place };
}

/** Returns the worktree named by a bare word or --loop if the project itself has no loop of that name. */
function worktreeToResume({ values, projectDir, files, env }: CommandContext): string | null {
  const names = worktreePlaces(projectDir).map(({ name }) => name);
  const { task } = values;
  if (typeof task === 'string') return !existsSync(resolve(task)) && names.includes(task) ? task : null;
  if (files.name === null || !names.includes(files.name)) return null;
  const elsewhere = projectOfLoop(projectDir, files.name, env) !== projectDir;
  return values['worktree'] === true || elsewhere ? files.name : null;
}

function requestOf(context: CommandContext, resumed: string | null): WorktreeRequest {
  const { values, projectDir, env } = context;
  if (resumed !== null) return { projectDir, name: resumed, taskPath: null, existing: 'resume', env };
  const { files, task } = startTarget({ ...context, values: { ...values, resume: false } });
  if (files.name === null) throw new RalphError('usage', WORKTREE_TEXTS.needsName);
  const existing = existingLoopPolicy(values);
  return { projectDir, name: files.name, taskPath: task ?? DEFAULT_TASK, existing, env };
}

/** Prepares the contract of a task in its worktree. Throws RalphError for a task that cannot be started. */
function prepareSetUp(context: CommandContext, task: string | null): PreparedContract {
  const request = setUpRequest(context, task, context.values['plan'] === true ? { from: null } : null);
  const prepared = prepareContract(request);
  approveSettings(context.files, request, unagreedSettings(request, prepared.resolved));
  return prepared;
}

/** Returns the facts about a start that are known before its worktree exists. */
export function setUpRequest(
  context: CommandContext,
  task: string | null,
  plan: NonNullable<StartRequest['plan']> | null,
): StartRequest {
  const own = { plan, mode: 'runner', headless: true, launched: true, consented: true, clientVersion: null } as const;
  return startRequest(context, { ...startTarget(context), task }, { ...own, clientArgs: context.rest });
}

/** Returns the same command in the worktree, with the task there. */
function within(context: CommandContext, place: WorktreePlace, taskPath: string | null): CommandContext {
  const { projectDir, name } = place;
  const { task: _task, path: _path, ...values } = context.values;
  return {
    ...context,
    projectDir,
    files: loopFiles(projectDir, name, context.env),
    positionals: [],
    values: { ...values, ...(taskPath !== null && { task: join(projectDir, taskPath) }) },
  };
}

/** Returns the location of a run's work, and the commands to review it, merge it and clean up. The user merges it. */
export function worktreeText(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): string {
  const { branch, dir, name } = place;
  // null if git cannot tell; the branch exists anyway.
  const lost = nullIfRefused(() => worktreeLoss(mainDir, place, env));
  const has =
    lost === null ? '' : ` (${counted(lost.unmerged, 'commit')}, ${counted(lost.uncommitted, 'file')} not committed)`;
  const git = `git -C ${shellWord(dir)}`;
  const hasCommits = lost === null || lost.unmerged > 0;
  const hasChanges = lost === null || lost.uncommitted > 0;
  const rows = [
    ...(hasCommits ? [['look at its commits', `git log -p HEAD..${branch}`]] : []),
    ...(hasChanges ? [['look at the rest', `${git} status && ${git} diff HEAD`]] : []),
    ...(hasChanges ? [['commit the rest', `${git} add -A && ${git} commit`]] : []),
    ...(hasCommits || hasChanges ? [['merge it', `git merge ${branch}`]] : []),
    ['clean up', `${programName()} worktree remove ${name}`],
  ];
  return `${withPrefix(`the work is on the branch ${branch}${has}, in ${printable(dir)}.`)}\n${table(rows.map((row) => ['', ...row]))}`;
}
