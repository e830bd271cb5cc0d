import { setTimeout as sleep } from 'node:timers/promises';
import { type FleetEvent, readEvents, withoutStale } from '../../fleet/queue/events.ts';
import { loopNamed } from '../../fleet/queue/loop-index.ts';
import { journalLine } from '../show/journal-line.ts';
import type { FleetContext } from './fleet-context.ts';
import { idOf } from './fleet-options.ts';

const POLL_MS = 500;

/** Prints the events of a loop; with --follow until Ctrl+C. */
export async function showLogs(context: FleetContext): Promise<number> {
  const { server, values } = context;
  const { loopId } = await loopNamed(server, idOf(context));
  let last: FleetEvent | null = null;
  for (;;) {
    const found = await readEvents(server, loopId, last?.id ?? '');
    const fresh: FleetEvent[] = last === null ? found : withoutStale([last, ...found]).filter((each) => each !== last);
    for (const each of fresh) print(context, each);
    last = fresh.at(-1) ?? last;
    if (values['follow'] !== true) return 0;
    await sleep(POLL_MS);
  }
}

function print({ forPeople, out, paint }: FleetContext, { attempt, event }: FleetEvent): void {
  if (forPeople) out(journalLine(event, paint));
  else out(JSON.stringify({ attempt, ...event }));
}
