import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import type { Supervisor } from '../../drive/parallel/supervise.ts';
import { type Approver, approveStart, prepareAsked } from '../../drive/start/approve.ts';
import { givenBaseline } from '../../drive/start/baseline.ts';
import { markOfSettings, settingsMark } from '../../drive/start/find-task.ts';
import type { Approved } from '../../drive/start/stages.ts';
import { takeFixedTerms } from '../../drive/start/terms/portable-terms.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import type { clientFinder } from '../../hosts/hosts.ts';
import { mainProjectOf } from '../../task/task-file.ts';
import { type Message, RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';
import { userOf } from '../start/approver.ts';
import { RUNNER, requestStart, type StartTarget } from '../start/start-request.ts';
import { type Review, StartReview } from './review-start.ts';

interface RunFacts {
  /** Present if this run works on one task of a plan beside others; its supervisor has run the checks. */
  readonly part: Supervisor['part'];
  readonly settings: Supervisor['settings'];
  readonly isWorktree: boolean;
  readonly client: ReturnType<typeof clientFinder>;
  /** Present if the start is shown to the user, who decides by a key; null otherwise. */
  readonly shown: { readonly review: Review; readonly taskFile: string } | null;
}

/** Asks the open questions, runs the checks and records the start point. Returns null if the user leaves the start. */
export async function approveRun(
  context: CommandContext,
  target: StartTarget,
  { part, settings, isWorktree, client, shown }: RunFacts,
): Promise<Approved | null> {
  const user = userOf(context);
  const approver: Approver =
    part === null ? user : { ...user, runChecks: async (of) => ({ baseline: await givenBaseline(of, part.baseline) }) };
  const own: Parameters<typeof requestStart>[2] = {
    ...RUNNER,
    fixed: takeFixedTerms(context.env),
    clientVersion: (host) => client(host).version,
    clientArgs: context.rest,
  };
  const asked = await requestStart(context, target, own, context.mayAsk);
  const request = part && asked.plan ? { ...asked, plan: { ...asked.plan, only: part.task } } : asked;
  if (shown !== null) {
    return new StartReview<Approved>(context, shown.review, user, {
      files: [shown.taskFile],
      isEdited: true,
      prepare: (answers, asked) => prepareAsked({ ...request, flags: { ...request.flags, ...answers } }, asked),
      approve: (prepared, asked) => approveStart(prepared, asked, !isWorktree),
    }).approve();
  }
  const prepared = await prepareAsked(request, approver);
  const { frontmatter } = prepared.terms;
  // A resumed task takes the file in its worktree as it is, as every resume does.
  if (settings !== null && request.existing !== 'resume' && settingsMark(frontmatter) !== settings)
    throw new RalphError('refused', otherSettings(context.projectDir, prepared.terms, settings));
  if (context.values['worktree-setup'] !== undefined && !isWorktree && prepared.terms.verifyIn === undefined)
    throw new RalphError('usage', WORKTREE_TEXTS.noSetUp);
  return approveStart(prepared, approver, !isWorktree);
}

/** Says whose settings differ from those with which the run began: an existing worktree's, or the project's. */
function otherSettings(
  projectDir: string,
  { name, taskPath }: Approved['prepared']['terms'],
  settings: string,
): Message | string {
  const main = mainProjectOf(projectDir);
  return main !== null && name !== null && markOfSettings(main, taskPath) === settings
    ? PARALLEL_TEXTS.settingsInWorktree(taskPath, name)
    : PARALLEL_TEXTS.otherSettings(taskPath);
}
