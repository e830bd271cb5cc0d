import { preparedTerms } from '../../drive/start/consent.ts';
import { type ConsentTerms, showTerms } from '../../drive/start/consent-terms.ts';
import { prepareContract, type StartRequest } from '../../drive/start/prepare-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';

/** Heading of the terms of a loop that an agent requested. */
export const REQUEST_HEADING = 'An agent has asked for this loop:';

type Asking = Pick<CommandContext, 'err' | 'values'>;

/** Returns whether the user is asked: at a terminal, unless --yes has answered. Elsewhere the command is the answer. */
function isAsked({ values }: Asking): boolean {
  return values['yes'] !== true && process.stdin.isTTY === true;
}

/** Shows the user what they approve, and asks. */
export async function approves(context: Asking, heading: string, lines: readonly string[], question: string) {
  context.err([heading, ...lines].join('\n'));
  return !isAsked(context) || (await agrees(question));
}

/**
 * Asks the user, before a start of theirs, to approve a list of scenarios that an agent made, with the loop that runs it.
 * Returns the terms that they approved, undefined where there is nothing to ask, and null for a no.
 */
export async function approveList(
  context: Asking,
  files: LoopFiles,
  request: StartRequest,
): Promise<ConsentTerms | undefined | null> {
  const list = peekTdd(files);
  const isMeant = request.tdd === true || (request.existing === 'resume' && list?.loopId != null);
  if (list === null || list.consented || !isMeant || !isAsked(context)) return undefined;
  const terms = preparedTerms(prepareContract(request), list);
  if (await approves(context, 'An agent made the scenarios of this loop:', showTerms(terms), 'Start it?')) return terms;
  context.err('ralph-loop: nothing was started. Another list: ralph-loop tdd init --fresh --input FILE.');
  return null;
}
