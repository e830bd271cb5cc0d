import { runGit } from './run-git.ts';

export interface CommitText {
  readonly id: string;
  readonly at: string;
  readonly subject: string;
  /** `3 files changed, 10 insertions(+)`. */
  readonly stat: string;
  readonly patch: string;
}

const MOST_COMMITS = 300;
const MOST_PATCH = 24_000;
const MOST_IN_ALL = 2_000_000;
const TIME_MS = 20_000;

export interface OpenWork {
  readonly stat: string;
  readonly patch: string;
}

/** Returns how the tracked files differ from HEAD now, bounded; null if they do not, and outside a repository. */
export async function uncommittedWork(
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OpenWork | null> {
  const signal = AbortSignal.timeout(TIME_MS);
  const words = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--shortstat', '--patch', 'HEAD', '--', '.'];
  const answer = await runGit(directory, words, { env, signal });
  if (answer.kind !== 'answer') return null;
  const cut = answer.text.indexOf('\ndiff ');
  if (cut === -1) return null;
  return { stat: answer.text.slice(0, cut).trim(), patch: answer.text.slice(cut + 1).slice(0, MOST_PATCH) };
}

/** Returns the commits of HEAD between two instants, oldest first, each with its patch, bounded; none outside a repository. */
export async function commitsBetween(
  directory: string,
  from: string,
  to: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CommitText[]> {
  const signal = AbortSignal.timeout(TIME_MS);
  const git = async (...words: string[]): Promise<string> => {
    const answer = await runGit(directory, words, { env, signal });
    return answer.kind === 'answer' ? answer.text : '';
  };
  const list = await git(
    'log',
    '--no-color',
    `--max-count=${MOST_COMMITS}`,
    `--since=${from}`,
    `--until=${to}`,
    '--format=%H%x09%cI%x09%s',
  );
  const commits: CommitText[] = [];
  let size = 0;
  for (const line of list
    .split('\n')
    .filter((each) => each !== '')
    .reverse()) {
    const [id = '', at = '', subject = ''] = line.split('\t');
    const isFull = size > MOST_IN_ALL;
    const shown = isFull
      ? ''
      : await git('show', '--no-color', '--no-ext-diff', '--no-textconv', '--shortstat', '--patch', '--format=', id);
    const cut = shown.indexOf('\ndiff ');
    const patch = (cut === -1 ? '' : shown.slice(cut + 1)).slice(0, MOST_PATCH);
    size += patch.length;
    commits.push({
      id,
      at: new Date(at).toISOString(),
      subject,
      stat: (cut === -1 ? shown : shown.slice(0, cut)).trim(),
      patch,
    });
  }
  return commits;
}
