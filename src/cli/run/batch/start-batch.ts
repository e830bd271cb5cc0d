import { claimBatch, findBatch, refuseRunning } from '../../../drive/parallel/batch.ts';
import { rememberAgreed } from '../../../drive/start/terms/agreed-settings.ts';
import { RalphError } from '../../../text/message.ts';
import type { Command, CommandContext } from '../../command.ts';
import { LEFT } from '../../start/first-checks.ts';
import { AGREED_BY_START } from '../../start/start-request.ts';
import type { DraftedTask } from '../../task/draft.ts';
import { removeDrafts } from '../../task/scaffold.ts';
import { reportAtEnd } from '../../web/report.ts';
import type { Review } from '../review-start.ts';
import { agreedBatch } from './batch-consent.ts';
import { begunBatch, resumedBatch } from './batch-record.ts';

/**
 * Records the run to which the user agrees. Returns it, with a function that writes its report (null if none is wanted), or an
 * exit code if the user declines: drafts are then removed, as after an error.
 */
export async function startBatch(context: CommandContext, command: Command) {
  const { projectDir, env, values } = context;
  const resumes = values['resume'] === true;
  const isFresh = !resumes && values['fresh'] === true;
  const former = findBatch(projectDir, env);
  if (former instanceof RalphError && !isFresh) throw former;
  const known = former instanceof RalphError ? null : former;
  if (known !== null) refuseRunning(known);
  const drafted: DraftedTask[] = [];
  const review: Review = { drafted, isKept: false };
  try {
    const found: string[] = [];
    const wanted = resumes ? resumedBatch(context, known) : await begunBatch(context, known, found, drafted);
    if (wanted === null) return 0;
    const report = await reportAtEnd(context);
    const agreed = drafted.flatMap((one) => one.agreed);
    const asked = { ...context, values: { ...values, [AGREED_BY_START]: agreed } };
    const batch = await agreedBatch(asked, command, { batch: wanted, found, review });
    if (batch === null) return LEFT;
    claimBatch(projectDir, env, batch, former);
    review.isKept = true;
    rememberAgreed(
      env,
      agreed.map((digest) => ({ digest })),
    );
    return { batch, report };
  } finally {
    if (!review.isKept) removeDrafts(context, drafted);
  }
}
