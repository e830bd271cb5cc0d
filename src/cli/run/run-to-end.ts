import { join } from 'node:path';
import type { Supervisor } from '../../drive/parallel/supervise.ts';
import { runLoop } from '../../drive/runner/run-loop.ts';
import { type RunnerOptions, runnerTimeouts } from '../../drive/runner/runner.ts';
import { catchUpToResume } from '../../drive/start/resume/catch-up.ts';
import { startLoop } from '../../drive/start/start-loop.ts';
import { rateLimitWait } from '../../drive/turn/wait.ts';
import type { WorktreePlace } from '../../drive/worktree/worktree-place.ts';
import { clientFinder, hostOf } from '../../hosts/hosts.ts';
import { refuseOtherLoops } from '../../install/settings/stop-hooks.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { ringBell } from '../../term/write-text.ts';
import type { CommandContext } from '../command.ts';
import { handleRunningLoop } from '../control/handle-running-loop.ts';
import { loopView } from '../runner-lines.ts';
import { worktreeText } from '../show/worktree.ts';
import { LEFT } from '../start/first-checks.ts';
import { hostHooks } from '../start/host-hooks.ts';
import { refuseAlone } from '../start/start-plan.ts';
import { startTarget } from '../start/start-request.ts';
import { printWarnings } from '../start/warnings.ts';
import { reportAtEnd } from '../web/report.ts';
import { approveRun } from './approve-run.ts';
import { inWorktree } from './in-worktree.ts';
import type { Review } from './review-start.ts';
import { runnerAgent } from './runner-agent.ts';

export interface RunManner {
  readonly supervisor: Supervisor | null;
  readonly review: Review;
  /** True if the start is shown to the user, who decides by a key. */
  readonly isShown: boolean;
}

/** Runs one loop to its end, in its worktree if it has one. Returns the exit code. */
export async function runToEnd(run: CommandContext, projectDir: string, manner: RunManner): Promise<number> {
  const { review, isShown } = manner;
  const { context: place, worktree, fresh } = await inWorktree(run);
  const noteChecks = (): void => fresh?.noteChecks();
  review.onChecked = noteChecks;
  try {
    return await runIn(place, projectDir, worktree, manner);
  } catch (error) {
    // The start was refused before it was shown: all new files come from its checks.
    if (!isShown) noteChecks();
    throw error;
  } finally {
    if (!review.isKept) fresh?.drop();
  }
}

async function runIn(
  place: CommandContext,
  projectDir: string,
  worktree: WorktreePlace | null,
  { supervisor, review, isShown }: RunManner,
): Promise<number> {
  const found = startTarget(place, 'run');
  const context = await handleRunningLoop({ ...place, files: found.files });
  if (typeof context === 'number') return context;
  const target = { ...found, files: context.files };
  const { env, files } = context;
  const part = supervisor?.part ?? null;
  const waits = runnerTimeouts(env);
  rateLimitWait(env, 0); // throws for an invalid value
  refuseAlone(files, part !== null, context);
  const report = await reportAtEnd(context);
  const find = clientFinder(env);
  const client: typeof find = (host) => {
    if (hostOf(host).readsClaudeSettings) refuseOtherLoops(context.projectDir, env);
    return find(host);
  };
  const shown = isShown ? { review, taskFile: join(projectDir, target.task ?? DEFAULT_TASK) } : null;
  const approved = await approveRun(context, target, {
    part,
    settings: supervisor?.settings ?? null,
    isWorktree: worktree !== null,
    client,
    shown,
  });
  if (approved === null) return LEFT;
  const passed = await hostHooks(context, approved.prepared.terms.host, client, 'iteration');
  const { tell, live, close } = await loopView(context);
  let bell = false;
  try {
    const ran = await runLoop(
      files,
      async () => {
        const { request } = approved.prepared;
        if (part !== null && request.existing === 'resume')
          await catchUpToResume(files, { env, now: context.now, part });
        const started = startLoop(approved);
        review.isKept = true;
        return started;
      },
      (started): RunnerOptions => {
        bell = started.settings.notify.bell;
        printWarnings(context, started);
        const shared = { ...(supervisor && { askPermit: supervisor.askPermit }), ...(part && { part }) };
        const requiresProof = context.values['require-verified'] === true;
        const agent = runnerAgent(context, started, client, passed);
        return { ...agent, env, timeouts: waits, tell, requiresProof, ...shared, ...(live && { live }) };
      },
    );
    return ran.code;
  } finally {
    close();
    if (bell) ringBell();
    if (worktree !== null && review.isKept) context.err(worktreeText(projectDir, worktree, env));
    await report?.(files);
  }
}
