import { checkKey } from '../../fleet/queue/loop-index.ts';
import { FleetKey } from '../../fleet/signing.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import type { CommandContext } from '../command.ts';
import type { FleetAction } from './actions.ts';
import { addTasks } from './add.ts';
import { cancelLoop, pauseLoop, resumeLoop, retryLoop, steerLoop } from './control.ts';
import { fleetDoctor } from './doctor.ts';
import { connectFleet, type FleetContext } from './fleet-context.ts';
import { showLogs } from './logs.ts';
import { showStatus } from './status.ts';
import { runWorker } from './worker.ts';

const ACTIONS: Readonly<Record<Exclude<FleetAction, 'doctor'>, (context: FleetContext) => Promise<number>>> = {
  worker: runWorker,
  add: addTasks,
  status: showStatus,
  logs: showLogs,
  steer: steerLoop,
  pause: pauseLoop,
  resume: resumeLoop,
  cancel: cancelLoop,
  retry: retryLoop,
};

/** Runs one action of the fleet. Throws RalphError where packages, server or key are missing. */
export async function runFleet(action: FleetAction, context: CommandContext): Promise<number> {
  if (action === 'doctor') return fleetDoctor(context);
  const server = await connectFleet(context, action === 'worker');
  try {
    const key = new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
    await checkKey(server, key);
    return await ACTIONS[action]({ ...context, server, key });
  } finally {
    await server.close();
  }
}
