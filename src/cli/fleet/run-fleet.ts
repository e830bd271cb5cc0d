import { checkKey } from '../../fleet/queue/loop-index.ts';
import { FleetKey } from '../../fleet/signing.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import type { CommandContext } from '../command.ts';
import type { FleetAction } from './actions.ts';
import { addTasks } from './add.ts';
import { askLoop } from './control.ts';
import { fleetDoctor, requeue } from './doctor.ts';
import { connectFleet, type FleetContext } from './fleet-context.ts';
import { showLogs } from './logs.ts';
import { showStatus } from './status.ts';
import { runWorker } from './worker.ts';

const ACTIONS: Readonly<Record<FleetAction, (context: FleetContext) => Promise<number>>> = {
  worker: runWorker,
  add: addTasks,
  status: showStatus,
  logs: showLogs,
  steer: (context) => askLoop(context, 'steer'),
  pause: (context) => askLoop(context, 'pause'),
  resume: (context) => askLoop(context, 'resume'),
  cancel: (context) => askLoop(context, 'cancel'),
  retry: (context) => askLoop(context, 'retry'),
  doctor: requeue,
  dashboard: async (context) => (await import('./fleet-feed.ts')).serveFleet(context),
};

/** Runs one action of the fleet. Throws RalphError where packages, server or key are missing. */
export async function runFleet(action: FleetAction, context: CommandContext): Promise<number> {
  if (action === 'doctor' && context.values['requeue'] !== true) return fleetDoctor(context);
  // What runs on outlives a restart of the server.
  const server = await connectFleet(context, action === 'worker' || action === 'dashboard');
  try {
    const key = new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
    await checkKey(server, key);
    return await ACTIONS[action]({ ...context, server, key });
  } finally {
    await server.close();
  }
}
