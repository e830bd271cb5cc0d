import * as z from 'zod';
import type { BatchTask } from '../../../engine/schema/batch.ts';
import { RalphError } from '../../../text/message.ts';
import { ISSUE_TEXTS } from '../messages.ts';
import { type Gh, gh, ghJson } from './gh.ts';
import { quotedForOthers } from './proved-text.ts';

type Ended = BatchTask & {
  readonly end: NonNullable<BatchTask['end']>;
  readonly issue: NonNullable<BatchTask['issue']>;
};

const seen = z.object({
  comments: z.array(z.object({ body: z.string(), url: z.string().nullish(), viewerDidAuthor: z.boolean().nullish() })),
});

/**
 * Tells the issue how its loop ended, complete or not, exactly once: it looks for an own comment with the loop's mark first, so
 * that a run that was killed after it had written does not write again. Returns what to tell the user.
 */
export function commentIssue(
  from: Gh,
  task: Ended,
  proved: string,
): { readonly message: string; readonly done: boolean } {
  const { name, issue, loopId } = task;
  const mark = `<!-- ralph-loop: ${loopId ?? name} -->`;
  try {
    const found = seen.safeParse(ghJson(from, ['issue', 'view', issue.url, '--json', 'comments']));
    if (!found.success) throw new RalphError('refused', ISSUE_TEXTS.unreadable(issue.url));
    const own = found.data.comments.find(
      ({ body, viewerDidAuthor }) => viewerDidAuthor !== false && body.includes(mark),
    );
    if (own === undefined)
      gh(from, ['issue', 'comment', issue.url, '--body-file', '-'], `${textOf(from, task, proved)}\n\n${mark}\n`);
    return { message: ISSUE_TEXTS.commented(name, issue.url), done: true };
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { message: ISSUE_TEXTS.notCommented(name, error.message), done: false };
  }
}

function textOf(from: Gh, { name, end }: Ended, proved: string): string {
  const [first = ''] = end.message.split('\n');
  const reason = quotedForOthers(from, first);
  if (end.status !== 'complete')
    return `ralph-loop worked on this issue and did not complete it (${end.status}).\n\n${reason}`;
  const pull = /https:\/\/\S+/.exec(end.integrated ?? '')?.[0];
  const work =
    end.integrated === null ? `The work is on the branch ralph/${name} of its user.` : 'The work is delivered.';
  const where = pull === undefined ? work : `Pull request: ${pull}`;
  return [ISSUE_TEXTS.completed, reason, proved, where].filter((part) => part !== '').join('\n\n');
}
