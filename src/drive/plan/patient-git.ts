import { changeByGit, type GitChange, type GitChanged } from '../../task/git/run-git.ts';

const LOCK_TRIES = 40;
const LOCK_MS = 250;

/** Runs git as `changeByGit` does, again for ten seconds while another git holds the index. */
export async function patientGit(change: GitChange): Promise<GitChanged> {
  for (let tries = 0; ; tries++) {
    const done = await changeByGit(change);
    if (done.ok || tries === LOCK_TRIES || !done.said.includes('index.lock')) return done;
    await new Promise((resolve) => setTimeout(resolve, LOCK_MS));
  }
}
