import { setTimeout as sleep } from 'node:timers/promises';
import { controlLoop, type FleetControl } from '../../fleet/control.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { EventReader } from '../../fleet/queue/events.ts';
import { checkKey, loopNamed } from '../../fleet/queue/loop-index.ts';
import { FleetKey } from '../../fleet/signing.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { journalLine } from '../show/journal-line.ts';
import type { FleetAction } from './actions.ts';
import { addTasks } from './add.ts';
import { fleetDoctor, requeue } from './doctor.ts';
import { connectFleet, type FleetContext, idOf } from './fleet-options.ts';
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
  const runsOn = action === 'worker' || action === 'dashboard' || context.values['follow'] === true;
  const server = await connectFleet(context, runsOn);
  try {
    const key = new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
    await checkKey(server, key);
    return await ACTIONS[action]({ ...context, server, key });
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'ReplyError') throw new RalphError('refused', FLEET_TEXTS.refuses(message), error);
    if (message === 'Connection is closed.') throw new RalphError('refused', FLEET_TEXTS.gone, error);
    throw error;
  } finally {
    await server.close();
  }
}

/** Asks a loop for something. The words after the id are the message of `steer`. */
async function askLoop(context: FleetContext, kind: FleetControl): Promise<number> {
  const { positionals } = context;
  const text = kind === 'steer' ? positionals.slice(1).join(' ').trim() : '';
  if (kind === 'steer' && text === '') throw new RalphError('usage', FLEET_TEXTS.needsText);
  const loop = idOf({ ...context, positionals: kind === 'steer' ? positionals.slice(0, 1) : positionals });
  const done = await controlLoop(context, loop, kind, text);
  context.answer({ success: true, ...done, loop }, () => done.message);
  return 0;
}

const POLL_MS = 500;

/** Prints the events of a loop; with --follow until Ctrl+C. */
async function showLogs(context: FleetContext): Promise<number> {
  const { server, values, forPeople, out, paint } = context;
  const { loopId } = await loopNamed(server, idOf(context));
  const reader = new EventReader(server, loopId);
  for (;;) {
    for (const { attempt, event } of await reader.read()) {
      out(forPeople ? journalLine(event, paint) : JSON.stringify({ attempt, ...event }));
    }
    if (values['follow'] !== true) return 0;
    await sleep(POLL_MS);
  }
}
