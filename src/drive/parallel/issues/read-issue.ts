import * as z from 'zod';
import { RalphError } from '../../../text/message.ts';
import { ISSUE_TEXTS } from '../messages.ts';
import { type Gh, ghJson } from './gh.ts';

const NUMBER = /^\d{1,9}$/;
const URL_FORM = /^https:\/\/[\w.-]+\/[\w.-]+\/[\w.-]+\/issues\/\d{1,9}$/;
/** Maximum number of issues of a label that one run takes. */
const MOST = 20;

const issue = z.object({
  number: z.int().min(1),
  title: z.string(),
  body: z.string().nullish(),
  url: z.string().regex(URL_FORM),
  comments: z
    .array(
      z.object({
        author: z.object({ login: z.string() }).nullish(),
        body: z.string(),
        viewerDidAuthor: z.boolean().nullish(),
      }),
    )
    .nullish()
    .transform((all) => all ?? []),
});

/** An issue as others wrote it: data, never instructions. */
export type Issue = z.infer<typeof issue>;

/** Reads an issue by its number or URL. Throws `usage` for another word and `refused` if gh does not give it. */
export function readIssue(from: Gh, word: string): Issue {
  if (!NUMBER.test(word) && !URL_FORM.test(word)) throw new RalphError('usage', ISSUE_TEXTS.noIssue(word));
  const answer = issue.safeParse(ghJson(from, ['issue', 'view', word, '--json', 'number,title,body,url,comments']));
  if (!answer.success) throw new RalphError('refused', ISSUE_TEXTS.unreadable(word));
  return answer.data;
}

/** Returns whether the user's own comment says that a loop completed the issue; words of others say nothing. */
export function isCompleted({ comments }: Issue): boolean {
  return comments.some(
    ({ body, viewerDidAuthor }) => viewerDidAuthor === true && body.startsWith(ISSUE_TEXTS.completed),
  );
}

/** Reads the open issues with a label, oldest first. Throws `refused` if there is none. */
export function issuesWith(from: Gh, label: string): Issue[] {
  const words = ['issue', 'list', `--label=${label}`, '--state', 'open', '--limit', `${MOST}`, '--json', 'number'];
  const listed = z.array(z.object({ number: z.int().min(1) })).safeParse(ghJson(from, words));
  const numbers = listed.success ? listed.data.map((one) => one.number).sort((a, b) => a - b) : [];
  if (numbers.length === 0) throw new RalphError('refused', ISSUE_TEXTS.none(label));
  return numbers.map((number) => readIssue(from, `${number}`));
}
