import { setTimeout as sleep } from 'node:timers/promises';
import { EventReader, type FleetEvent } from '../../fleet/queue/events.ts';
import { loopNamed } from '../../fleet/queue/loop-index.ts';
import { journalLine } from '../show/journal-line.ts';
import type { FleetContext } from './fleet-context.ts';
import { idOf } from './fleet-options.ts';

const POLL_MS = 500;

/** Prints the events of a loop; with --follow until Ctrl+C. */
export async function showLogs(context: FleetContext): Promise<number> {
  const { server, values } = context;
  const { loopId } = await loopNamed(server, idOf(context));
  const reader = new EventReader(server, loopId);
  for (;;) {
    for (const each of await reader.read()) print(context, each);
    if (values['follow'] !== true) return 0;
    await sleep(POLL_MS);
  }
}

function print({ forPeople, out, paint }: FleetContext, { attempt, event }: FleetEvent): void {
  if (forPeople) out(journalLine(event, paint));
  else out(JSON.stringify({ attempt, ...event }));
}
