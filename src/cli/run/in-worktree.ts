import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { approveSettings } from '../../drive/start/approve.ts';
import { prepareStart } from '../../drive/start/prepare-contract.ts';
import type { Prepared, StartRequest } from '../../drive/start/stages.ts';
import { startOf, unagreedSettings } from '../../drive/start/terms/agreed-settings.ts';
import { ignoredFiles, stampOf, stampsOf } from '../../drive/worktree/copy-files.ts';
import { makeWorktree, setUpWorktree, type WorktreeRequest } from '../../drive/worktree/make-worktree.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { holdingsOf, lossTexts, removeWorktree } from '../../drive/worktree/remove-worktree.ts';
import { changedFiles } from '../../drive/worktree/repository.ts';
import { projectOfLoop, type WorktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { safePath } from '../../install/project-files.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { withoutPlace } from '../../task/git/run-git.ts';
import { DEFAULT_TASK, WORKTREES } from '../../task/task-file.ts';
import { ifRefused, nullIfRefused, RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { existingLoopPolicy, RUNNER, type StartTarget, startRequest, startTarget } from '../start/start-request.ts';

/**
 * Creates or finds the worktree of `--worktree` or of the resumed loop. Returns the worktree (null for a loop that works in
 * the project itself), the command to run there, and a function that removes a new worktree.
 */
export async function inWorktree(given: CommandContext) {
  const { values } = given;
  const resumed = values['resume'] === true ? worktreeToResume(given) : null;
  if (values['worktree'] !== true && resumed === null) return { context: given, worktree: null, fresh: null };
  // A variable that names the user's checkout would lead the agent's git there.
  const env = withoutPlace(given.env);
  const context = { ...given, env };
  const target = resumed === null ? startTarget({ ...context, values: { ...values, resume: false } }) : null;
  const request = requestOf(context, target, resumed);
  const { projectDir, taskPath } = request;
  safePath(projectDir, WORKTREES);
  // Problems of the task are reported before anything is created.
  const prepared = target === null || request.existing === 'resume' ? null : prepareSetUp(context, target);
  const { place, needsSetUp, isNew, notices } = makeWorktree(request);
  const tell = (message: string): void => context.err(withPrefix(message));
  for (const notice of notices) tell(notice);
  if (needsSetUp) {
    const { worktreeSetup: command = null, worktreeCopy: copies = [] } = prepared?.resolved.settings ?? {};
    const { signal } = new AbortController();
    const sandbox = prepared?.terms.sandbox;
    await setUpWorktree(place, { projectDir, command, copies, sandbox, env, signal, tell });
  }
  const fresh = isNew ? freshWorktree(projectDir, place, context) : null;
  return { context: within(context, place, taskPath), worktree: place, fresh };
}

/** Returns the worktree named by a bare word or --loop; null without one, or if the project has such a loop. */
function worktreeToResume({ values, projectDir, files, env }: CommandContext): string | null {
  const names = worktreePlaces(projectDir).map(({ name }) => name);
  const { task } = values;
  if (typeof task === 'string') return !existsSync(resolve(task)) && names.includes(task) ? task : null;
  if (files.name === null || !names.includes(files.name)) return null;
  const elsewhere = projectOfLoop(projectDir, files.name, env) !== projectDir;
  return values['worktree'] === true || elsewhere ? files.name : null;
}

function requestOf(
  { values, projectDir, env }: CommandContext,
  target: StartTarget | null,
  resumed: string | null,
): WorktreeRequest {
  const name = target === null ? resumed : target.files.name;
  if (name === null) throw new RalphError('usage', WORKTREE_TEXTS.needsName);
  if (target === null) return { projectDir, name, taskPath: null, existing: 'resume', env };
  return { projectDir, name, taskPath: target.task ?? DEFAULT_TASK, existing: existingLoopPolicy(values), env };
}

/** Prepares the start of a task before its worktree exists. Throws RalphError for a task that cannot be started. */
function prepareSetUp(context: CommandContext, target: StartTarget): Prepared {
  const plan = context.values['plan'] === true ? { from: null } : null;
  const prepared = prepareStart(setUpRequest(context, target, plan));
  const { files, request, terms, resolved } = prepared;
  const start = `${startOf(request, terms)} --worktree`;
  approveSettings({ files, request, start }, unagreedSettings(request, resolved), { agree: askInPerson });
  return prepared;
}

/** Returns the facts about a start that are known before its worktree exists. */
export function setUpRequest(
  context: CommandContext,
  target: StartTarget,
  plan: NonNullable<StartRequest['plan']> | null,
): StartRequest {
  return startRequest(context, target, { ...RUNNER, plan, clientVersion: null, clientArgs: context.rest });
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

/** A worktree that this command has set up, until a loop works there. */
function freshWorktree(projectDir: string, place: WorktreePlace, { env, now, err }: CommandContext) {
  const { name, dir, branch } = place;
  const { changed, removed } = changedFiles(dir, env);
  // Files that set-up and checks have created, as they left them.
  let ours = stampsOf(dir, [...changed, ...removed, ...ignoredFiles(dir, env)]);
  return {
    /** Notes the ignored files that the checks have created. Other new files may be a person's. */
    noteChecks: (): void => {
      const made = nullIfRefused(() => stampsOf(dir, ignoredFiles(dir, env)));
      // A copied file that was changed later is a person's.
      ours = { ...made, ...ours };
    },
    /** Removes the worktree, in which nothing was started. If it contains what may be a person's work, keeps it and says so. */
    drop: (): void => {
      const isOther = (path: string): boolean => ours[path] !== stampOf(dir, path);
      const remove = (): void => {
        const held = holdingsOf({ projectDir, place, env });
        const [uncommitted, ignored] = [held.uncommitted.filter(isOther), held.ignored.filter(isOther)];
        const lost = lossTexts({ ...held, uncommitted, ignored }, branch);
        if (lost.length > 0) throw new RalphError('work-lost', WORKTREE_TEXTS.wouldLose(name, lost));
        removeWorktree(projectDir, name, { agreed: lossTexts(held, branch), env, at: now() });
      };
      // Called after a failed start: a refusal by git must not hide its cause.
      ifRefused(remove, ({ advised }) => err(withPrefix(show(advised))));
    },
  };
}
