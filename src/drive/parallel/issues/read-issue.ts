import * as z from 'zod';
import { RalphError } from '../../../text/message.ts';
import { ISSUE_TEXTS } from '../messages.ts';
import { type Gh, ghJson } from './gh.ts';

const NUMBER = /^\d{1,9}$/;
/** gh shows a pull request, which has its number among the issues, as one. */
const PULL_FORM = /^https:\/\/\S+\/pull\/\d{1,9}$/;
const URL_FORM = /^https:\/\/[\w.-]+\/[\w.-]+\/[\w.-]+\/issues\/\d{1,9}$/;
/** Maximum number of issues of a label that one run takes, and of those that it looks at. */
const MOST = 20;
const MOST_LISTED = 500;

const issue = z.object({
  number: z.int().min(1),
  title: z.string(),
  body: z.string().nullish(),
  url: z.string(),
  state: z.string(),
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

/**
 * Reads an issue by its number or URL. Throws `usage` for another word, and `refused` if gh does not give it, or another one than
 * was named, such as the one elsewhere to which it was moved.
 */
export function readIssue(from: Gh, word: string): Issue {
  if (!NUMBER.test(word) && !URL_FORM.test(word)) throw new RalphError('usage', ISSUE_TEXTS.noIssue(word));
  const words = ['issue', 'view', word, '--json', 'number,title,body,url,state,comments'];
  const { data } = issue.safeParse(ghJson(from, words));
  if (data !== undefined && PULL_FORM.test(data.url)) throw new RalphError('refused', ISSUE_TEXTS.pull(word, data.url));
  if (data === undefined || !URL_FORM.test(data.url)) throw new RalphError('refused', ISSUE_TEXTS.unreadable(word));
  const isNamed = NUMBER.test(word) ? data.number === Number(word) : data.url.toLowerCase() === word.toLowerCase();
  if (!isNamed) throw new RalphError('refused', ISSUE_TEXTS.moved(word, data.url));
  if (data.state !== 'OPEN') throw new RalphError('refused', ISSUE_TEXTS.closed(word));
  return data;
}

/** Returns whether the user's own comment says that a loop completed the issue; words of others say nothing. */
function isCompleted({ comments }: Issue): boolean {
  return comments.some(
    ({ body, viewerDidAuthor }) => viewerDidAuthor === true && body.startsWith(ISSUE_TEXTS.completed),
  );
}

interface Labelled {
  readonly taken: readonly Issue[];
  /** Numbers of issues that a loop of this user has completed. */
  readonly completed: readonly number[];
  /** Number of issues for which there is no place in this run. */
  readonly left: number;
}

/** Reads the open issues with a label that no loop has completed, oldest first. */
export function issuesWith(from: Gh, label: string): Labelled {
  const words = [
    'issue',
    'list',
    `--label=${label}`,
    '--state',
    'open',
    '--limit',
    `${MOST_LISTED}`,
    '--json',
    'number',
  ];
  const listed = z.array(z.object({ number: z.int().min(1) })).safeParse(ghJson(from, words));
  if (!listed.success) throw new RalphError('refused', ISSUE_TEXTS.unreadable(label));
  const numbers = listed.data.map((one) => one.number).sort((a, b) => a - b);
  const [taken, completed]: [Issue[], number[]] = [[], []];
  for (const number of numbers) {
    if (taken.length === MOST) break;
    const one = readIssue(from, `${number}`);
    if (isCompleted(one)) completed.push(number);
    else taken.push(one);
  }
  return { taken, completed, left: numbers.length - taken.length - completed.length };
}
