import { findEndedContract, readContract } from '../../state/loop-files.ts';
import { askWithoutFilters, runGit, type Settings } from '../../task/git/run-git.ts';
import { WITHOUT_OWN } from '../../task/left-out.ts';
import { counted } from '../../text/figures.ts';
import { type ShownLoop, shownText } from './collect-report.ts';
import { mapTexts } from './event-text.ts';
import type { Commit, Iteration, Work } from './report-data.ts';

const MOST_COMMITS = 300;
const MOST_PATCH = 24_000;
const MOST_IN_ALL = 2_000_000;
const MOST_NAMES = 200;
const TIME_MS = 20_000;

const SHOWN = ['--no-color', '--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty', '--shortstat', '--patch'];

function workIn(text: string): Pick<Commit, 'stat' | 'patch'> {
  const cut = text.indexOf('\ndiff ');
  if (cut === -1) return { stat: text.trim(), patch: '' };
  return { stat: text.slice(0, cut).trim(), patch: text.slice(cut + 1).slice(0, MOST_PATCH) };
}

/** Returns the commits of HEAD between two instants, oldest first, each with its patch, bounded; none outside a repository. */
async function commitsBetween(directory: string, from: string, to: string, env: NodeJS.ProcessEnv): Promise<Commit[]> {
  const signal = AbortSignal.timeout(TIME_MS);
  const git = async (...words: string[]): Promise<string> => {
    const answer = await runGit(directory, words, { env, signal });
    return answer.kind === 'answer' ? answer.text : '';
  };
  const range = [`--max-count=${MOST_COMMITS}`, `--since=${from}`, `--until=${to}`];
  const list = await git('log', '--no-color', ...range, '--format=%H%x09%cI%x09%s');
  const commits: Commit[] = [];
  let size = 0;
  for (const line of list.split('\n').filter(Boolean).reverse()) {
    const [id = '', at = '', subject = ''] = line.split('\t');
    const work = workIn(size > MOST_IN_ALL ? '' : await git('show', ...SHOWN, '--format=', id));
    size += work.patch.length;
    commits.push({ id, at: new Date(at).toISOString(), subject, ...work });
  }
  return commits;
}

/** Reads the commits of a loop's iterations from `first` to `last`, by index. Bounded, secrets masked, paths shortened. */
export async function commitsOf(
  { files, state }: Pick<ShownLoop, 'files' | 'state'>,
  iterations: readonly Iteration[],
  [first, last]: readonly [number, number],
  now: string,
  env: NodeJS.ProcessEnv,
): Promise<ReadonlyMap<number, readonly Commit[]>> {
  const found = new Map<number, Commit[]>();
  const from = first <= 1 ? state.startedAt : iterations[first - 1]?.startedAt;
  if (from === undefined) return found;
  const ended = state.status === 'ended' ? state.ended.at : now;
  // A task of a plan is committed after its iteration.
  const left = state.plan === undefined ? (iterations[last - 1]?.endedAt ?? now) : ended;
  const end = iterations[last]?.startedAt ?? left;
  for (const commit of await commitsBetween(files.projectDir, from, end, env)) {
    // Git stores whole seconds.
    const maker = iterations.findLast(({ startedAt }) => Date.parse(startedAt) <= Date.parse(commit.at) + 1_000);
    if (maker === undefined || maker.index < first || maker.index > last) continue;
    found.set(maker.index, [...(found.get(maker.index) ?? []), mapTexts(commit, shownText(files.projectDir))]);
  }
  return found;
}

/** Returns the current changes and names of new files, bounded and masked; null if there are none, and outside a repository. */
export async function uncommittedOf(
  loop: Pick<ShownLoop, 'files' | 'state'>,
  env: NodeJS.ProcessEnv,
): Promise<Work['uncommitted']> {
  const { files, state } = loop;
  const stored = findEndedContract(files, state.loopId) ?? readContract(files);
  const options = { env, signal: AbortSignal.timeout(TIME_MS), sandbox: stored?.contract.sandbox };
  const git = (words: readonly string[], settings?: Settings) => runGit(files.projectDir, words, options, settings);
  const changed = await askWithoutFilters(git, ['diff', ...SHOWN, 'HEAD', '--', '.']);
  const others = await git(['ls-files', '--others', '--exclude-standard', '--', '.', ...WITHOUT_OWN]);
  if (changed.kind !== 'answer' || others.kind !== 'answer') return null;
  const { stat, patch } = workIn(changed.text);
  const added = others.text.split('\n').filter(Boolean);
  if (patch === '' && added.length === 0) return null;
  const work = {
    stat: [...(stat === '' ? [] : [stat]), ...(added.length === 0 ? [] : [counted(added.length, 'new file')])].join(
      ', ',
    ),
    patch: [patch, ...added.slice(0, MOST_NAMES).map((path) => `new file: ${path}`)].join('\n').trim(),
  };
  return mapTexts(work, shownText(files.projectDir));
}
