import { listOf } from '../../drive/tdd/scenario-list.ts';
import { listThere } from '../../drive/tdd/tdd-terms.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { hashTddList } from '../../state/hash-contract.ts';
import { peekTdd, withTdd } from '../../state/tdd-store.ts';
import { decidingEnvironment } from '../../task/tdd/make-list.ts';
import { painter } from '../../term/paint.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { forReading } from './tdd-status.ts';

/**
 * Shows somebody at a terminal the list that an agent made, and asks: the hash of what was shown, or `no`. null where
 * nobody is asked: the list has the user's agreement, nobody is there, or the command line says yes.
 */
export async function shownList({ files, forPeople, values, now, err, env }: CommandContext): Promise<string | null> {
  if (!forPeople || process.stdin.isTTY !== true || values['yes'] === true) return null;
  const list = listThere(files, now());
  if (list.consented) return null;
  err(forReading(list, [], painter(forPeople, env)));
  return (await agrees('An agent made this list. May these commands run?')) ? hashTddList(list) : 'no';
}

/** What a `no` is answered with. */
export const NOT_AGREED =
  'ralph: nothing was agreed to, and nothing runs. Another list: main.cjs tdd init --fresh --input FILE.';

/** Throws RalphError `refused` where the list is not the one whose hash was shown. */
export function proveShown(list: TddRecord, shown: string | null): void {
  if (shown === null || hashTddList(list) === shown) return;
  throw new RalphError('refused', 'the list is another one than you were shown. Give the command again.');
}

/**
 * Before a start of the user's: whether they agree to the list that it works on, where an agent made that and they can be
 * asked. A yes is noted at once, so that no other list can take it.
 */
export async function agreesToList(context: CommandContext): Promise<boolean> {
  const { files, values, env, now } = context;
  const isMeant = values['tdd'] === true || (values['resume'] === true && peekTdd(files)?.loopId != null);
  const shown = isMeant ? await shownList(context) : null;
  if (shown === null) return true;
  if (shown === 'no') {
    context.err(NOT_AGREED);
    return false;
  }
  withTdd(files, now(), (found) => {
    const { record } = listOf(found, files.name);
    proveShown(record, shown);
    return { next: { ...record, consented: true, environment: decidingEnvironment(env) }, result: undefined };
  });
  return true;
}
