import { resolve } from 'node:path';
import type { FleetMember } from '../../fleet/control.ts';
import { type FleetPlace, placeAt } from '../../fleet/git/place.ts';
import { DEFAULT_ACCOUNT, WORD } from '../../fleet/job.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { FleetServer, type LostServer, loadPackages } from '../../fleet/queue/connect.ts';
import { bundleDir } from '../../install/project-files.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { RalphError } from '../../text/message.ts';
import { type CommandContext, valuesOf } from '../command.ts';

export interface FleetContext extends CommandContext, FleetMember {}

/** Connects to the server that RALPH_FLEET_URL names. */
export function connectFleet({ projectDir }: CommandContext, lostServer: LostServer): Promise<FleetServer> {
  const url = fleetVariables()['RALPH_FLEET_URL'];
  if (url === undefined) throw new RalphError('usage', FLEET_TEXTS.noUrl);
  return FleetServer.connect(loadPackages(bundleDir(), projectDir), url, lostServer);
}

export function placeOfFleet({ values, env }: CommandContext): FleetPlace {
  const given = values['dir'];
  return placeAt(typeof given === 'string' ? resolve(given) : null, env);
}

export function accountOf({ values }: CommandContext): string {
  return word('account', String(values['account'] ?? DEFAULT_ACCOUNT));
}

/** Returns the words of an option that accepts several, also separated by commas. Throws `usage` for invalid ones. */
export function wordsOfOption(context: CommandContext, option: string): string[] {
  const given = valuesOf(context, option).length > 0 ? valuesOf(context, option) : [context.values[option] ?? ''];
  const words = given.flatMap((value) => String(value).split(',')).filter((each) => each !== '');
  return [...new Set(words.map((each) => word(option, each)))];
}

function word(option: string, value: string): string {
  if (WORD.test(value)) return value;
  throw new RalphError('usage', FLEET_TEXTS.word(option, value));
}

/** Returns the id, exactly one, that the command is about. Throws `usage`. */
export function idOf({ positionals }: CommandContext): string {
  const [id, ...more] = positionals;
  if (id === undefined) throw new RalphError('usage', FLEET_TEXTS.needsId);
  if (more.length > 0) throw new RalphError('usage', FLEET_TEXTS.oneId);
  return id;
}
