import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import * as z from 'zod';
import { streamed } from '../../state/event-stream.ts';
import { readOn } from '../../state/files/journal-lines.ts';
import { jsonOrNull } from '../../text/json.ts';
import { FLEET_ID, type FleetKey } from '../job.ts';
import { secretMask } from '../mask-secrets.ts';
import { type FleetServer, KEPT_SECONDS, KEYS } from './connect.ts';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Returns an id that sorts by time: 48 bits of epoch milliseconds and 80 random ones, in Crockford's base 32. */
export function ulid(at: number): string {
  let time = '';
  for (let rest = at, digit = 0; digit < 10; digit++, rest = Math.floor(rest / 32)) time = DIGITS[rest % 32] + time;
  const random = [...randomBytes(16)].map((byte) => DIGITS[byte % 32]).join('');
  return time + random;
}

/** Returns an id for this time or, if it would not sort after `last`, for the time after that of `last`. */
export function ulidAfter(last: string | null, at: number): string {
  const id = ulid(at);
  if (last === null || id > last) return id;
  const time = [...last.slice(0, 10)].reduce((sum, digit) => sum * 32 + DIGITS.indexOf(digit), 0);
  return ulid(time + 1);
}

const COMMAND_KINDS = ['cancel', 'pause', 'steer'] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

export const MOST_TEXT = 8_000;
/** Maximum number of a loop's commands in the stream. */
const MOST_COMMANDS = 1_000;

const command = z.strictObject({
  id: z.string().regex(ULID),
  kind: z.enum(COMMAND_KINDS),
  text: z.string().max(MOST_TEXT),
  loop: z.string().regex(FLEET_ID),
  generation: z.coerce.number().int().min(1),
  by: z.string().max(200),
  at: z.string().max(40),
  signature: z.string(),
});

/** Signed command. Ids rise in the order of the stream, so the last applied id determines which commands are new. */
export type FleetCommand = z.infer<typeof command>;

type Asked = Pick<FleetCommand, 'kind' | 'text' | 'loop' | 'generation' | 'by'>;

/** Appends to a stream if its last entry is still the one that was read. */
const APPEND = `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
if (last[1] and last[1][1] or '') ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', unpack(ARGV, 4))
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
`;

/** Signs a command and appends it to the stream of its loop, with an id after all existing ones. */
export async function sendCommand(server: FleetServer, key: FleetKey, asked: Asked): Promise<FleetCommand> {
  const name = KEYS.commands(asked.loop);
  for (;;) {
    const { signed: former, end } = await signedCommands(server, key, asked.loop);
    const last =
      former
        .map(({ id }) => id)
        .sort()
        .at(-1) ?? null;
    const now = await server.now();
    const unsigned = { ...asked, id: ulidAfter(last, now), at: new Date(now).toISOString() };
    const signed: FleetCommand = { ...unsigned, signature: key.signCommand(unsigned) };
    const fields = Object.entries(signed).flatMap(([field, value]) => [field, String(value)]);
    // An id below an applied one would never be read. The script ensures the order across senders and connections.
    if ((await server.redis.eval(APPEND, 1, name, end, MOST_COMMANDS, KEPT_SECONDS, ...fields)) === 1) return signed;
  }
}

/**
 * Reads the signed commands of a loop's generation, in the order of their ids, each after `last`. Entries not signed by a
 * member of the fleet are counted and otherwise ignored.
 */
export async function readCommands(
  server: FleetServer,
  key: FleetKey,
  { loopId, generation }: { readonly loopId: string; readonly generation: number },
  last: string | null,
) {
  const { signed, refused } = await signedCommands(server, key, loopId);
  const isNew = ({ id, generation: of }: FleetCommand): boolean => of === generation && (last === null || id > last);
  const known = new Map(signed.filter(isNew).map((each) => [each.id, each]));
  return { commands: [...known.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), refused };
}

async function signedCommands({ redis }: FleetServer, key: FleetKey, loopId: string) {
  const entries = await redis.xrange(KEYS.commands(loopId), '-', '+');
  const signed = entries.flatMap(([, fields]) => {
    const { data } = command.safeParse(recordOf(fields));
    return data?.loop === loopId && key.hasSignedCommand(data, data.signature) ? [data] : [];
  });
  return { signed, refused: entries.length - signed.length, end: entries.at(-1)?.[0] ?? '' };
}

function recordOf(fields: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index + 1 < fields.length; index += 2) record[fields[index] ?? ''] = fields[index + 1] ?? '';
  return record;
}

/** Maximum number of a loop's events on the server. */
const MOST_EVENTS = 10_000;
const FLUSH_MS = 200;
/** Records that no longer matter once they are over. */
const UNSENT: ReadonlySet<unknown> = new Set(['command.started', 'tool.started', 'agent.usage', 'steering.pending']);
/** Maximum number of events that wait for the server; older ones are dropped first. */
const MOST_WAITING = 2_000;

interface FleetEvent {
  readonly attempt: number;
  readonly event: Readonly<Record<string, unknown>>;
}

/** Sends a loop's events to the server: in order, with secrets masked, each with its attempt. */
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
      commands.xadd(this.#name, 'MAXLEN', '~', MOST_EVENTS, '*', 'attempt', this.#attempt, 'event', text);
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
    // If a read fails, everything that it has found so far is read again.
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
