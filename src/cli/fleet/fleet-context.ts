import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { FleetServer } from '../../fleet/queue/connect.ts';
import { loadPackages } from '../../fleet/queue/load-packages.ts';
import type { FleetKey } from '../../fleet/signing.ts';
import { bundleDir } from '../../install/places.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';

/** A command line of the fleet, connected to its server. */
export interface FleetContext extends CommandContext {
  readonly server: FleetServer;
  readonly key: FleetKey;
}

/** Connects to the server that RALPH_FLEET_URL names. A `patient` connection outlives a restart of it. */
export function connectFleet({ projectDir }: CommandContext, patient: boolean): Promise<FleetServer> {
  const url = fleetVariables()['RALPH_FLEET_URL'];
  if (url === undefined) throw new RalphError('usage', FLEET_TEXTS.noUrl);
  return FleetServer.connect(loadPackages(bundleDir(), projectDir), url, patient);
}
