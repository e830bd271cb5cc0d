import { loopEnvironment } from './contract-terms.ts';
import { readCheckpoint } from './git/checkpoint.ts';
import { git } from './git/git.ts';
import { fetchMirror } from './git/mirror.ts';
import { type FleetPlace, plainUrl } from './git/place.ts';
import { envelopeOf, repositoryId } from './job.ts';
import type { FleetServer } from './queue/connect.ts';
import { addLoop, loopsNamed } from './queue/loop-index.ts';
import type { FleetKey } from './signing.ts';

export interface Requeued {
  readonly queued: readonly string[];
  /** Loops whose checkpoint carries no submission that the fleet has signed. */
  readonly refused: readonly string[];
}

/** Queues every loop of a repository that has not ended and has no job. Throws RalphError `state-io` if git fails. */
export async function requeueLoops(
  server: FleetServer,
  key: FleetKey,
  place: FleetPlace,
  env: NodeJS.ProcessEnv,
  url: string,
): Promise<Requeued> {
  const plain = plainUrl(url);
  const own = loopEnvironment(place, env);
  const here: FleetPlace = { ...place, env: own };
  const repository = { id: repositoryId(plain), url: plain };
  const mirror = await fetchMirror(here, repository);
  const listed = await git(['ls-remote', '--refs', 'origin', 'refs/ralph/*'], {
    env: own,
    gitDir: mirror,
    network: true,
  });
  const refs = listed.output
    .toString('utf8')
    .split('\n')
    .flatMap((line) => line.split('\t')[1] ?? []);
  await fetchMirror(here, repository, refs);
  const queued: string[] = [];
  const refused: string[] = [];
  for (const line of listed.output.toString('utf8').split('\n')) {
    const [sha = '', ref = ''] = line.split('\t');
    if (ref === '') continue;
    const id = ref.slice('refs/ralph/'.length);
    const meta = await readCheckpoint(mirror, sha, own).catch(() => null);
    const [known] = await loopsNamed(server, [id]);
    // A loop that was retried and not taken up since has a later generation than its checkpoint.
    const generation = Math.max(meta?.generation ?? 1, known?.generation ?? 1);
    if (meta !== null && meta.outcome !== null && generation === meta.generation) continue;
    const envelope = envelopeOf(meta?.submission);
    if (envelope === null || !key.hasSealed(envelope) || envelope.submission.loopId !== id) {
      refused.push(id);
      continue;
    }
    const { submission } = envelope;
    if ((await server.job(submission.account, id, generation)) !== undefined) continue;
    await addLoop(server, key, { ...submission, generation });
    queued.push(id);
  }
  return { queued, refused };
}
