import * as z from 'zod';
import { FLEET_ID } from '../job.ts';
import type { FleetKey } from '../signing.ts';
import { type FleetServer, KEYS } from './connect.ts';
import { ULID, ulidAfter } from './ulid.ts';

export const COMMAND_KINDS = ['cancel', 'pause', 'steer'] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

export const MOST_TEXT = 8_000;
const KEPT_SECONDS = 30 * 24 * 3600;
/** Commands of one loop that the stream keeps. */
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

/** A signed command. Ids rise in the order of the stream, so that the last one applied says which are new. */
export type FleetCommand = z.infer<typeof command>;

type Asked = Pick<FleetCommand, 'kind' | 'text' | 'loop' | 'generation' | 'by'>;

/** Signs a command and appends it to the stream of its loop, with an id after all that are in it. */
export async function sendCommand(server: FleetServer, key: FleetKey, asked: Asked): Promise<FleetCommand> {
  const name = KEYS.commands(asked.loop);
  for (;;) {
    // Another sender in between makes the transaction fail: an id below one that was applied would never be read.
    await server.redis.watch(name);
    const { signed: former } = await signedCommands(server, key, asked.loop);
    const last =
      former
        .map(({ id }) => id)
        .sort()
        .at(-1) ?? null;
    const now = await server.now();
    const unsigned = { ...asked, id: ulidAfter(last, now), at: new Date(now).toISOString() };
    const signed: FleetCommand = { ...unsigned, signature: key.signCommand(unsigned) };
    const fields = Object.entries(signed).flatMap(([field, value]) => [field, String(value)]);
    const added = await server.redis
      .multi()
      .xadd(name, 'MAXLEN', '~', MOST, '*', ...fields)
      .expire(name, KEPT_SECONDS)
      .exec();
    if (added !== null) return signed;
  }
}

export interface NewCommands {
  /** Signed commands of this generation, in the order of their ids, each after `last`. */
  readonly commands: readonly FleetCommand[];
  /** Entries of the stream that nobody of the fleet has signed. */
  readonly refused: number;
}

/** Reads the commands of a loop. What is not signed for it is counted and otherwise ignored. */
export async function readCommands(
  server: FleetServer,
  key: FleetKey,
  { loopId, generation }: { readonly loopId: string; readonly generation: number },
  last: string | null,
): Promise<NewCommands> {
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
  return { signed, refused: entries.length - signed.length };
}

export function recordOf(fields: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index + 1 < fields.length; index += 2) record[fields[index] ?? ''] = fields[index + 1] ?? '';
  return record;
}
