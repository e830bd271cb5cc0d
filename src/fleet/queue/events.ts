import type { Redis } from 'ioredis';
import { streamed } from '../../state/event-stream.ts';
import { readOn } from '../../state/files/journal-lines.ts';
import { jsonOrNull } from '../../text/json.ts';
import { secretMask } from '../mask-secrets.ts';
import { recordOf } from './commands.ts';
import { type FleetServer, KEPT_SECONDS, KEYS } from './connect.ts';

/** Maximum number of a loop's events on the server. */
const MOST = 10_000;
const FLUSH_MS = 200;
/** Records that mean nothing once they are over. */
const UNSENT: ReadonlySet<unknown> = new Set(['command.started', 'tool.started', 'agent.usage', 'steering.pending']);
/** Maximum number of events that wait for the server; older ones are dropped first. */
const MOST_WAITING = 2_000;

/** Event of a loop as stored by the fleet. */
interface FleetEvent {
  /** Position in the stream. */
  readonly id: string;
  readonly attempt: number;
  readonly event: Readonly<Record<string, unknown>>;
}

/** Sends a loop's events to the server: in order, secrets masked, each with its attempt. */
export class EventSink {
  readonly #redis: Redis;
  readonly #name: string;
  readonly #attempt: number;
  readonly #mask: (text: string) => string;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** Position of the next record in the loop's own stream. */
  #next = 0;

  constructor({ redis }: FleetServer, loopId: string, attempt: number, env: NodeJS.ProcessEnv) {
    this.#redis = redis;
    this.#name = KEYS.events(loopId);
    this.#attempt = attempt;
    this.#mask = secretMask(env);
  }

  /** Skips the events already in this file, unless the server has none of them. */
  async skipKnown(path: string): Promise<void> {
    if ((await this.#redis.exists(this.#name)) === 1) this.#next = readOn(path, 0).next;
  }

  /** Queues the events recorded in the loop's stream since the last call. */
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

  /** Sends the queued events. While the server is unreachable, events may be lost, but never the loop. */
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

/** Reads the events of a loop in order, without those of older attempts. */
export class EventReader {
  readonly #server: FleetServer;
  readonly #loopId: string;
  #last: FleetEvent | null = null;

  constructor(server: FleetServer, loopId: string) {
    this.#server = server;
    this.#loopId = loopId;
  }

  /** Returns the events since the last call. */
  async read(): Promise<FleetEvent[]> {
    const last = this.#last;
    const found = await readEvents(this.#server, this.#loopId, last?.id ?? '');
    const fresh = last === null ? found : withoutStale([last, ...found]).slice(1);
    this.#last = fresh.at(-1) ?? last;
    return fresh;
  }
}

/** Returns the events after `from` (a position, '' for all), without those of older attempts. */
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

/** Drops events that a worker sent after a newer attempt had begun. */
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
