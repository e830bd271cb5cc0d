import type { Submission } from '../job.ts';
import { WORKER_TEXTS } from '../messages.ts';
import type { FleetServer } from '../queue/connect.ts';
import { loopNamed } from '../queue/loop-index.ts';
import { loopResult } from './loop-result.ts';

/** Returns why the loop cannot start: null if every loop before it is complete, `waits` while one has not ended. */
export async function dependencyOf(server: FleetServer, { after }: Submission): Promise<string | null> {
  let waits = false;
  for (const id of after) {
    const outcome = await outcomeOf(server, id);
    if (outcome === null) waits = true;
    else if (outcome !== 'complete') return WORKER_TEXTS.dependency(id, outcome);
  }
  return waits ? 'waits' : null;
}

/** Returns the outcome of a loop; null while it goes on, or can: a pause is no end. */
async function outcomeOf(server: FleetServer, id: string): Promise<string | null> {
  const { account, generation } = await loopNamed(server, id);
  const job = await server.job(account, id, generation);
  if (job === undefined) return 'forgotten';
  const state = await job.getState();
  if (state === 'failed') return 'failed';
  if (state !== 'completed') return null;
  const result = loopResult.safeParse(job.returnvalue);
  if (!result.success) return 'unknown';
  return result.data.outcome === 'paused' || result.data.outcome === 'fleet-budget' ? null : result.data.outcome;
}
