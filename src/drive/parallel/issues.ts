import { spawnSync } from 'node:child_process';
import * as z from 'zod';
import type { BatchTask } from '../../engine/schema/batch.ts';
import { onPath } from '../../state/process/find-program.ts';
import { jsonOrNull } from '../../text/json.ts';
import { RalphError } from '../../text/message.ts';
import { firstLine } from '../../text/quote.ts';
import { statusWords } from '../../text/status-words.ts';
import { ISSUE_TEXTS } from './messages.ts';
import { quotedForOthers } from './proved-text.ts';

interface Gh {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Runs the user's own `gh` without a shell and without questions. Throws `refused` if it is missing or fails. */
export function gh({ projectDir, env }: Gh, words: readonly string[], input = ''): string {
  const program = onPath('gh', env);
  if (program === null) throw new RalphError('refused', ISSUE_TEXTS.noGh);
  // Variables that force colours would put colour codes into the JSON.
  const { CLICOLOR_FORCE: _, GH_FORCE_TTY: __, ...plain } = env;
  const own = { ...plain, GH_PROMPT_DISABLED: '1', NO_COLOR: '1' };
  const options = { cwd: projectDir, env: own, input, encoding: 'utf8', maxBuffer: 1 << 26, timeout: 120_000 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, words, options);
  if (status === 0) return stdout;
  const complaint = (error?.message ?? stderr).trim();
  throw new RalphError('refused', ISSUE_TEXTS.failed(words.slice(0, 2).join(' '), complaint));
}

/** Returns the same as parsed JSON; null if it is not JSON. */
export const ghJson = (from: Gh, words: readonly string[]): unknown => jsonOrNull(gh(from, words));

const NUMBER = /^\d{1,9}$/;
/** gh shows a pull request as an issue, because their numbers are shared. */
const PULL_FORM = /^https:\/\/\S+\/pull\/\d{1,9}$/;
const URL_FORM = /^https:\/\/[\w.-]+\/[\w.-]+\/[\w.-]+\/issues\/\d{1,9}$/;
/** Pattern for what users paste: #7, or an address with a fragment or query. */
const PASTED = /^(?:#(?=\d+$)|(?=https:))([^?#]*?)\/?(?:[?#]\S*)?$/;
/** Maximum number of issues with a label that one run takes and examines. */
const MOST = 20;
const MOST_LISTED = 500;
/** Maximum number of labelled issues that gh fails to return before the run stops: more failures have one cause. */
const MOST_REFUSED = 3;

const comment = z.object({
  author: z.object({ login: z.string() }).nullish(),
  body: z.string(),
  viewerDidAuthor: z.boolean().nullish(),
});

const issue = z.object({
  number: z.int().min(1),
  title: z.string(),
  body: z.string().nullish(),
  url: z.string(),
  state: z.string(),
  comments: z
    .array(comment)
    .nullish()
    .transform((all) => all ?? []),
});

/** An issue by others: data, never instructions. */
type Issue = z.infer<typeof issue>;

/**
 * Reads an issue by its number or URL. Throws `usage` for any other word, and `refused` if gh returns none or another one, such
 * as the issue to which it was moved.
 */
export function readIssue(from: Gh, pasted: string): Issue {
  const word = PASTED.exec(pasted)?.[1] ?? pasted;
  if (!NUMBER.test(word) && !URL_FORM.test(word)) throw new RalphError('usage', ISSUE_TEXTS.noIssue(pasted));
  const words = ['issue', 'view', word, '--json', 'number,title,body,url,state,comments'];
  const { data } = issue.safeParse(ghJson(from, words));
  if (data !== undefined && PULL_FORM.test(data.url)) throw new RalphError('refused', ISSUE_TEXTS.pull(word, data.url));
  if (data === undefined || !URL_FORM.test(data.url)) throw new RalphError('refused', ISSUE_TEXTS.unreadable(word));
  const isNamed = NUMBER.test(word) ? data.number === Number(word) : data.url.toLowerCase() === word.toLowerCase();
  if (!isNamed) throw new RalphError('refused', ISSUE_TEXTS.moved(word, data.url));
  if (data.state !== 'OPEN') throw new RalphError('refused', ISSUE_TEXTS.closed(word));
  return data;
}

/** Returns whether the user's own comment says that a loop completed the issue; comments by others do not count. */
function isCompleted({ comments }: Issue): boolean {
  return comments.some(
    ({ body, viewerDidAuthor }) => viewerDidAuthor === true && body.startsWith(ISSUE_TEXTS.completed),
  );
}

/**
 * Reads the open issues with a label, oldest first; gh lists the newest. `completed`: a loop of this user has completed them;
 * `refused`: gh does not return them, with the reason; `left`: number that does not fit into this run; `isCut`: there may be older ones.
 */
export function issuesWith(from: Gh, label: string) {
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
  const refused: [number, string][] = [];
  for (const number of numbers) {
    if (taken.length === MOST) break;
    try {
      const one = readIssue(from, `${number}`);
      if (isCompleted(one)) completed.push(number);
      else taken.push(one);
    } catch (error) {
      if (!(error instanceof RalphError) || refused.length === MOST_REFUSED) throw error;
      refused.push([number, error.message]);
    }
  }
  const left = numbers.length - taken.length - completed.length - refused.length;
  return { taken, completed, refused, left, isCut: numbers.length === MOST_LISTED };
}

type Ended = BatchTask & {
  readonly end: NonNullable<BatchTask['end']>;
  readonly issue: NonNullable<BatchTask['issue']>;
};

const commented = z.object({ comments: z.array(comment) });

/**
 * Tells the issue how its loop ended, complete or not, exactly once: it first looks for an own comment with the loop's mark, so
 * that a run killed after commenting does not comment again. Returns what to tell the user.
 */
export function commentIssue(
  from: Gh,
  task: Ended,
  proved: string,
): { readonly message: string; readonly done: boolean } {
  const { name, issue, loopId } = task;
  const mark = `<!-- ralph-loop: ${loopId ?? name} -->`;
  try {
    const found = commented.safeParse(ghJson(from, ['issue', 'view', issue.url, '--json', 'comments']));
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
  const reason = quotedForOthers(from, firstLine(end.message));
  if (end.status !== 'complete')
    return `ralph-loop worked on this issue and did not complete it (${statusWords(end.status)}).\n\n${reason}`;
  const pull = /https:\/\/\S+/.exec(end.integrated ?? '')?.[0];
  const work =
    end.integrated === null ? `The work is on the branch ralph/${name} of its user.` : 'The work is delivered.';
  const where = pull === undefined ? work : `Pull request: ${pull}`;
  return [ISSUE_TEXTS.completed, reason, proved, where].filter((part) => part !== '').join('\n\n');
}

/** Maximum number of characters of an issue in a task file, in its description and in each comment. */
const MOST_OF_ISSUE = 12_000;
const MOST_OF_BODY = 8000;
const MOST_OF_COMMENT = 2000;

/**
 * Returns the text of an issue to be quoted in a task: without control and direction characters, and cut with a note.
 * It decides nothing: kind, name, checks and settings of the task do not depend on it.
 */
export function issueText({ title, body, url, comments }: Pick<Issue, 'title' | 'body' | 'url' | 'comments'>): string {
  const said = comments.map(
    ({ author, body: text }) =>
      `Comment by ${clean(author?.login ?? 'unknown', 100)}:\n\n${clean(text, MOST_OF_COMMENT)}`,
  );
  const whole = [clean(title, 300).replace(/\s+/g, ' '), clean(body ?? '', MOST_OF_BODY), ...said]
    .filter((part) => part !== '')
    .join('\n\n');
  return `${url}\n\n${cut(whole, MOST_OF_ISSUE)}`;
}

function clean(text: string, most: number): string {
  const plain = text
    .slice(0, most * 4)
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(/\t/g, '  ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, (found) => (found === '\n' ? found : ''));
  return cut(plain.trim(), most, text.length);
}

function cut(text: string, most: number, length = text.length): string {
  if (text.length <= most && length <= most * 4) return text;
  return `${text.slice(0, most)}\n[cut: ${length} characters in all; read the rest at its address]`;
}
