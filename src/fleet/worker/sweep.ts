import { loopEnvironment } from '../contract-terms.ts';
import type { FleetPlace } from '../git/place.ts';
import { closeWorkspace, staleWorkspaces } from '../git/workspace.ts';

/** Removes work trees that killed workers left: what counts of them is published. */
export function sweepWorkspaces(place: FleetPlace, env: NodeJS.ProcessEnv): void {
  for (const stale of staleWorkspaces({ ...place, env: loopEnvironment(place, env) })) closeWorkspace(stale);
}
