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

interface FleetEvent {
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
    for (const text of texts)
      commands.xadd(this.#name, 'MAXLEN', '~', MOST, '*', 'attempt', this.#attempt, 'event', text);
    await commands.expire(this.#name, KEPT_SECONDS).exec();
  }
}

const MOST_AT_ONCE = 500;

/** Reads the events of a loop in order, without those that a worker sent after a newer attempt had begun. */
export class EventReader {
  readonly #redis: Redis;
  readonly #name: string;
  /** Start of the next read, as a position in the stream. */
  #next = '-';
  #newest = 0;

  constructor({ redis }: Pick<FleetServer, 'redis'>, loopId: string) {
    this.#redis = redis;
    this.#name = KEYS.events(loopId);
  }

  /** Returns the events since the last call. */
  async read(): Promise<FleetEvent[]> {
    // What a read that fails has found so far is read again.
    let [next, newest] = [this.#next, this.#newest];
    for (const found: FleetEvent[] = []; ; ) {
      const entries = await this.#redis.xrange(this.#name, next, '+', 'COUNT', MOST_AT_ONCE);
      for (const [id, fields] of entries) {
        next = `(${id}`;
        const { attempt = '', event = '' } = recordOf(fields);
        const parsed = jsonOrNull(event);
        if (typeof parsed !== 'object' || parsed === null) continue;
        if (!/^\d+$/.test(attempt) || Number(attempt) < newest) continue;
        newest = Number(attempt);
        found.push({ attempt: newest, event: parsed as FleetEvent['event'] });
      }
      if (entries.length === MOST_AT_ONCE) continue;
      [this.#next, this.#newest] = [next, newest];
      return found;
    }
  }
}
