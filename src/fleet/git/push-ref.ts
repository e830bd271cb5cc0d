import { git } from './git.ts';
import { readRef } from './mirror.ts';
import { checkRef } from './place.ts';
import { ownCall, type Workspace } from './workspace-paths.ts';

/** `fenced`: another worker moved the reference. `unreachable`: it is as it was, or the repository does not answer. */
export type PushOutcome = 'pushed' | 'fenced' | 'unreachable';

/**
 * Moves a reference in the repository from `expected` (null: it does not exist) to the commit, in one step, or not at
 * all. `tell` gets git's complaint, without credentials.
 */
export async function pushRef(
  ws: Workspace,
  ref: string,
  sha: string,
  expected: string | null,
  tell: (complaint: string) => void,
): Promise<PushOutcome> {
  const words = ['push', '--quiet', '--no-verify', `--force-with-lease=${checkRef(ref)}:${expected ?? ''}`, 'origin'];
  const { ok, complaint } = await git([...words, `${sha}:${ref}`], { ...ownCall(ws), network: true });
  const outcome = ok ? 'pushed' : await outcomeOf(ws, ref, sha, expected);
  if (outcome !== 'pushed') tell(complaint);
  return outcome;
}

/** Asks the repository what became of a push that failed here: its answer may have been lost. */
async function outcomeOf(ws: Workspace, ref: string, sha: string, expected: string | null): Promise<PushOutcome> {
  let found: string | null;
  try {
    found = await readRef(ws.mirror, ref, ws.env);
  } catch {
    return 'unreachable';
  }
  if (found === sha) return 'pushed';
  return found === expected ? 'unreachable' : 'fenced';
}
