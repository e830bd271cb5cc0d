import type { Redis } from 'ioredis';
import { streamed } from '../../state/event-stream.ts';
import { readOn } from '../../state/files/journal-lines.ts';
import { jsonOrNull } from '../../text/or-else.ts';
import { secretMask } from '../mask-secrets.ts';
import { recordOf } from './commands.ts';
import { type FleetServer, KEYS } from './connect.ts';

/** Events of one loop that the server keeps. */
const MOST = 10_000;
const KEPT_SECONDS = 30 * 24 * 3600;
const FLUSH_MS = 200;
/** Records that say nothing once they are over. */
const UNSENT: ReadonlySet<unknown> = new Set(['command.started', 'tool.started', 'agent.usage', 'steering.pending']);
/** Events that wait for a server that is away; older ones are dropped first. */
const MOST_WAITING = 2_000;

/** An event of a loop as the fleet keeps it. */
export interface FleetEvent {
  /** Position in the stream. */
  readonly id: string;
  readonly attempt: number;
  readonly event: Readonly<Record<string, unknown>>;
}

/** Passes a loop's events to the server: in order, secrets masked, each with the attempt that it belongs to. */
export class EventSink {
  readonly #redis: Redis;
  readonly #name: string;
  readonly #attempt: number;
  readonly #mask: (text: string) => string;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** Where the next record of the loop's own stream begins. */
  #next = 0;

  constructor({ redis }: FleetServer, loopId: string, attempt: number, env: NodeJS.ProcessEnv) {
    this.#redis = redis;
    this.#name = KEYS.events(loopId);
    this.#attempt = attempt;
    this.#mask = secretMask(env);
  }

  /** Leaves out what this file holds already, unless the server has nothing of it. */
  async skipKnown(path: string): Promise<void> {
    if ((await this.#redis.exists(this.#name)) === 1) this.#next = readOn(path, 0).next;
  }

  /** Passes on what the loop has recorded in its stream since the last call. */
  follow(path: string): void {
    const { entries, next } = readOn(path, this.#next);
    this.#next = next;
    for (const entry of entries) if (!UNSENT.has(entry['type'])) this.#add(entry);
  }

  tell(event: object): void {
    this.#add(streamed({ at: new Date().toISOString(), ...event }));
  }

  #add(event: object): void {
    this.#waiting.push(this.#mask(JSON.stringify(event)));
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS);
  }

  /** Sends what waits. A server that is away loses events, never the loop. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const texts = this.#waiting;
    if (texts.length === 0 || this.#redis.status !== 'ready') return;
    this.#waiting = [];
    const commands = this.#redis.pipeline();
    for (const text of texts) {
      commands.xadd(this.#name, 'MAXLEN', '~', MOST, '*', 'attempt', this.#attempt, 'event', text);
    }
    await commands.expire(this.#name, KEPT_SECONDS).exec();
  }
}

const MOST_AT_ONCE = 500;

/** Reads the events of a loop in turn, those of older attempts left out. */
export class EventReader {
  readonly #server: FleetServer;
  readonly #loopId: string;
  #last: FleetEvent | null = null;

  constructor(server: FleetServer, loopId: string) {
    this.#server = server;
    this.#loopId = loopId;
  }

  /** Returns what came since the last call. */
  async read(): Promise<FleetEvent[]> {
    const last = this.#last;
    const found = await readEvents(this.#server, this.#loopId, last?.id ?? '');
    const fresh = last === null ? found : withoutStale([last, ...found]).slice(1);
    this.#last = fresh.at(-1) ?? last;
    return fresh;
  }
}

/** Returns the events after `from` (a position, '' for all), those of older attempts left out. */
async function readEvents({ redis }: FleetServer, loopId: string, from: string): Promise<FleetEvent[]> {
  const found: FleetEvent[] = [];
  for (let next = from === '' ? '-' : `(${from}`; ; ) {
    const entries = await redis.xrange(KEYS.events(loopId), next, '+', 'COUNT', MOST_AT_ONCE);
    for (const [id, fields] of entries) {
      const { attempt = '', event = '' } = recordOf(fields);
      const parsed = eventOf(event);
      if (parsed !== null && /^\d+$/.test(attempt)) found.push({ id, attempt: Number(attempt), event: parsed });
    }
    const last = entries.at(-1);
    if (entries.length < MOST_AT_ONCE || last === undefined) return withoutStale(found);
    next = `(${last[0]}`;
  }
}

/** Drops what a worker told after a newer attempt had begun. */
export function withoutStale(events: readonly FleetEvent[]): FleetEvent[] {
  let newest = 0;
  return events.filter(({ attempt }) => {
    newest = Math.max(newest, attempt);
    return attempt === newest;
  });
}

function eventOf(text: string): FleetEvent['event'] | null {
  const parsed = jsonOrNull(text);
  return typeof parsed === 'object' ? (parsed as FleetEvent['event'] | null) : null;
}
