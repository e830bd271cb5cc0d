import type { Redis } from 'ioredis';
import { streamed } from '../../state/event-stream.ts';
import { secretMask } from '../mask-secrets.ts';
import { recordOf } from './commands.ts';
import { type FleetServer, KEYS } from './connect.ts';

/** Events of one loop that the server keeps. */
const MOST = 10_000;
const KEPT_SECONDS = 30 * 24 * 3600;
const FLUSH_MS = 200;
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

  constructor({ redis }: FleetServer, loopId: string, attempt: number, env: NodeJS.ProcessEnv) {
    this.#redis = redis;
    this.#name = KEYS.events(loopId);
    this.#attempt = attempt;
    this.#mask = secretMask(env);
  }

  tell(event: object): void {
    const at = new Date().toISOString();
    this.#waiting.push(this.#mask(JSON.stringify(streamed({ at, ...event }))));
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

/** Returns the events after `from` (a position, '' for all), those of older attempts left out. */
export async function readEvents({ redis }: FleetServer, loopId: string, from: string): Promise<FleetEvent[]> {
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
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as FleetEvent['event']) : null;
  } catch {
    return null;
  }
}
