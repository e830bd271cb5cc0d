import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { FLEET_ID, type FleetKey } from '../job.ts';
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

/** Returns an id for this time, or for the time after that of `last` if it would not sort after it. */
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
const MOST = 1_000;

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

/** Signed command. Ids rise in the order of the stream, so that the last applied one determines which are new. */
export type FleetCommand = z.infer<typeof command>;

type Asked = Pick<FleetCommand, 'kind' | 'text' | 'loop' | 'generation' | 'by'>;

/** Appends to a stream whose last entry is still the one that was read. */
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
    // An id below an applied one would never be read; this holds across senders and connections.
    if ((await server.redis.eval(APPEND, 1, name, end, MOST, KEPT_SECONDS, ...fields)) === 1) return signed;
  }
}

/**
 * Reads the signed commands of a loop's generation, in the order of their ids, each after `last`. Entries that no member of
 * the fleet has signed are counted and otherwise ignored.
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

export function recordOf(fields: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index + 1 < fields.length; index += 2) record[fields[index] ?? ''] = fields[index + 1] ?? '';
  return record;
}
