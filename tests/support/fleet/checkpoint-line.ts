import { spawnSync } from 'node:child_process';

export interface Checkpoint {
  readonly sha: string;
  readonly attempt: number;
  readonly iteration: number;
}

/**
 * Returns the checkpoints of a loop, the oldest first. Throws an Error if they are no straight line: each has exactly one
 * before it, and neither attempts nor iterations ever go back.
 */
export function checkpointLine(remote: string, id: string): Checkpoint[] {
  const git = (...words: string[]): string => {
    const { status, stdout, stderr } = spawnSync('git', ['--git-dir', remote, ...words], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${words.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  const commits = git('log', '--topo-order', '--reverse', '--format=%H%x09%P%x09%s', `refs/ralph/${id}`)
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, , subject]) => subject?.startsWith('Checkpoint of the loop'));
  const known = new Set(commits.map(([sha]) => sha));
  const line: Checkpoint[] = [];
  for (const [sha = '', parents = ''] of commits) {
    const before = parents.split(' ').filter((parent) => known.has(parent));
    const last = line.at(-1);
    if (before.length !== (last === undefined ? 0 : 1) || (last && before[0] !== last.sha))
      throw new Error(`${sha} does not continue ${last?.sha}`);
    const { attempt, iteration } = JSON.parse(git('cat-file', 'blob', `${sha}:state/fleet.json`)) as Checkpoint;
    if (last && (attempt < last.attempt || iteration < last.iteration || iteration > last.iteration + 1))
      throw new Error(`${sha} goes back or skips: ${last.attempt}/${last.iteration} -> ${attempt}/${iteration}`);
    line.push({ sha, attempt, iteration });
  }
  return line;
}
