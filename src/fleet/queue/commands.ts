import * as z from 'zod';
import { FLEET_ID } from '../job.ts';
import type { FleetKey } from '../signing.ts';
import { type FleetServer, KEYS } from './connect.ts';
import { ULID, ulid } from './ulid.ts';

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

/** A signed command. Ids rise with the server's clock, so that the last one applied says which are new. */
export type FleetCommand = z.infer<typeof command>;

type Asked = Pick<FleetCommand, 'kind' | 'text' | 'loop' | 'generation' | 'by'>;

/** Signs a command and appends it to the stream of its loop. */
export async function sendCommand(server: FleetServer, key: FleetKey, asked: Asked): Promise<FleetCommand> {
  const now = await server.now();
  const unsigned = { ...asked, id: ulid(now), at: new Date(now).toISOString() };
  const signed: FleetCommand = { ...unsigned, signature: key.signCommand(unsigned) };
  const name = KEYS.commands(asked.loop);
  const fields = Object.entries(signed).flatMap(([field, value]) => [field, String(value)]);
  await server.redis
    .multi()
    .xadd(name, 'MAXLEN', '~', MOST, '*', ...fields)
    .expire(name, KEPT_SECONDS)
    .exec();
  return signed;
}

export interface NewCommands {
  /** Signed commands of this generation, in the order of their ids, each after `last`. */
  readonly commands: readonly FleetCommand[];
  /** Entries of the stream that nobody of the fleet has signed. */
  readonly refused: number;
}

/** Reads the commands of a loop. What is not signed for it is counted and otherwise ignored. */
export async function readCommands(
  { redis }: FleetServer,
  key: FleetKey,
  { loopId, generation }: { readonly loopId: string; readonly generation: number },
  last: string | null,
): Promise<NewCommands> {
  const entries = await redis.xrange(KEYS.commands(loopId), '-', '+');
  let refused = 0;
  const commands = entries.flatMap(([, fields]) => {
    const parsed = command.safeParse(recordOf(fields));
    if (!parsed.success || parsed.data.loop !== loopId || !key.hasSignedCommand(parsed.data, parsed.data.signature)) {
      refused += 1;
      return [];
    }
    const { data } = parsed;
    return data.generation === generation && (last === null || data.id > last) ? [data] : [];
  });
  const known = new Map(commands.map((each) => [each.id, each]));
  return { commands: [...known.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), refused };
}

export function recordOf(fields: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index + 1 < fields.length; index += 2) record[fields[index] ?? ''] = fields[index + 1] ?? '';
  return record;
}
