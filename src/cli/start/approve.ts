import { preparedTerms } from '../../drive/start/consent.ts';
import { type ConsentTerms, consentTerms, diffTerms, showTerms } from '../../drive/start/consent-terms.ts';
import { checkExistingLoop } from '../../drive/start/existing-loop.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import type { StartRequest } from '../../drive/start/read-settings.ts';
import { termsOf } from '../../drive/tdd/tdd-terms.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { readContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { about, advise } from '../../text/message.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';

export const REQUEST_HEADING = 'An agent has asked for this loop:';

type Asking = Pick<CommandContext, 'err' | 'values'>;

/** Returns whether the user is asked: at a terminal, unless --yes has answered. Elsewhere the command is the answer. */
function isAsked({ values }: Asking): boolean {
  return values['yes'] !== true && process.stdin.isTTY === true;
}

export async function approves(context: Asking, heading: string, lines: readonly string[], question: string) {
  context.err([heading, ...lines].join('\n'));
  return !isAsked(context) || (await agrees(question));
}

/** Shows what a start takes over from an agent. undefined: nothing to approve. null: the user said no. */
export async function approveStart(
  context: Asking,
  files: LoopFiles,
  request: StartRequest,
): Promise<ConsentTerms | undefined | null> {
  if (!request.consented) return undefined;
  checkExistingLoop(readState(files.state), request);
  const requested = request.existing === 'fresh' ? null : requestedContract(files);
  const found = peekTdd(files);
  const continues = request.existing === 'resume' || requested !== null;
  const list = request.tdd === true || (continues && found?.loopId != null) ? found : null;
  if (requested === null && (list === null || list.consented || !isAsked(context))) return undefined;
  if (!isAsked(context) && context.values['yes'] !== true && context.values['consent'] !== true) {
    throw new RalphError(
      'refused',
      about(START_TEXTS.needsConsent, { name: files.name, mode: request.mode ?? 'hook' }),
    );
  }
  const terms = preparedTerms(prepareContract(request), list);
  const changes = requested === null ? [] : changesSince(requested, terms, list);
  const complete = `  ${list?.completed.length} of ${list?.scenarios.length} scenarios complete: ralph-loop tdd status`;
  const lines = [
    ...showTerms(terms),
    ...(list === null ? [] : [complete]),
    ...(changes.length === 0 ? [] : ['Changed since it was asked for:', ...changes]),
  ];
  const heading = requested === null ? 'An agent made the scenarios of this loop:' : REQUEST_HEADING;
  if (await approves(context, heading, lines, 'Start it?')) return terms;
  const refused = requested === null ? LIST_REFUSED : START_TEXTS.notAgreed;
  context.err(withPrefix(refused, { name: files.name, mode: request.mode ?? 'hook' }));
  return null;
}

const LIST_REFUSED = advise('Nothing was started.', 'Make another list', 'tdd init', { fresh: true, input: 'FILE' });

/** Returns the contract of the loop that awaits the user's consent, or null. */
function requestedContract(files: LoopFiles): Contract | null {
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status !== 'awaiting-consent') return null;
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  return stored.contract;
}

function changesSince(requested: Contract, terms: ConsentTerms, list: TddRecord | null): string[] {
  const changes = diffTerms(consentTerms(requested, requested.tdd === undefined ? null : list), terms);
  if (requested.tdd !== undefined && (list === null || termsOf(list).hash !== requested.tdd.hash)) {
    changes.push('the list of scenarios');
  }
  return changes.map((line) => `  ${line}`);
}
