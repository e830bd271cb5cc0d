import { repositoryId, type Submission } from '../../../src/fleet/job.ts';

/** A submission that nothing stands behind. */
export function aSubmission(loopId = 'a-0123456789'): Submission {
  const url = 'https://example.invalid/r.git';
  return {
    ...{ v: 1, loopId, generation: 1, name: 'a', branch: `ralph/${loopId}`, checkpointRef: `refs/ralph/${loopId}` },
    repository: { id: repositoryId(url), url },
    base: { ref: 'main', sha: '1'.repeat(40) },
    task: { path: 'jobs/a/RALPH.md', digest: '2'.repeat(64) },
    contract: { digest: '3'.repeat(64), terms: [['task', 'jobs/a/RALPH.md']], flags: {}, args: {} },
    limits: { iterationTimeoutMs: 0, maxTakeOvers: 5 },
    ...{ needs: { labels: [] }, after: [], account: 'default', publish: 'branch' },
    ...{ submittedBy: 'me@here', submittedAt: '2026-01-01T00:00:00.000Z' },
  };
}
