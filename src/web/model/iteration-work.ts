import { commitsBetween, uncommittedWork } from '../../task/git/commits-since.ts';
import { type ShownLoop, shownText } from './collect-report.ts';
import { mapTexts } from './event-text.ts';
import type { Commit, Iteration, Work } from './report-data.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the commits of a loop's iterations from `first` to `last`, by index. Bounded, secrets masked, paths shortened. */
export async function commitsOf(
  { files, state }: Pick<ShownLoop, 'files' | 'state'>,
  iterations: readonly Iteration[],
  [first, last]: readonly [number, number],
  now: string,
  env: Env,
): Promise<ReadonlyMap<number, readonly Commit[]>> {
  const found = new Map<number, Commit[]>();
  const from = first <= 1 ? state.startedAt : iterations[first - 1]?.startedAt;
  if (from === undefined) return found;
  const end = iterations[last]?.startedAt ?? iterations[last - 1]?.endedAt ?? now;
  for (const commit of await commitsBetween(files.projectDir, from, end, env)) {
    // Git keeps whole seconds.
    const maker = iterations.findLast(({ startedAt }) => Date.parse(startedAt) <= Date.parse(commit.at) + 1_000);
    if (maker === undefined || maker.index < first || maker.index > last) continue;
    found.set(maker.index, [...(found.get(maker.index) ?? []), mapTexts(commit, shownText(files.projectDir))]);
  }
  return found;
}

/** Returns what is changed and not committed, bounded and masked; null if nothing is. */
export async function uncommittedOf({ files }: Pick<ShownLoop, 'files'>, env: Env): Promise<Work['uncommitted']> {
  return mapTexts(await uncommittedWork(files.projectDir, env), shownText(files.projectDir));
}
