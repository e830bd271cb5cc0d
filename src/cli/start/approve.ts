import {
  type RiskySetting,
  rememberAgreed,
  settingsRefusal,
  unagreedSettings,
} from '../../drive/start/agreed-settings.ts';
import { preparedTerms } from '../../drive/start/consent.ts';
import { consentTerms, diffTerms, showTerms } from '../../drive/start/consent-terms.ts';
import { checkExistingLoop } from '../../drive/start/existing-loop.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import type { Approval, StartRequest } from '../../drive/start/read-settings.ts';
import { termsOf } from '../../drive/tdd/tdd-terms.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { readContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { readState } from '../../state/read-state.ts';
import { peekTdd } from '../../state/tdd-store.ts';
import { about, advise, RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import type { CommandContext } from '../command.ts';

export const REQUEST_HEADING = 'An agent has requested this loop:';

type Asking = Pick<CommandContext, 'err'>;

/** Shows what a start takes over from an agent. undefined: nothing to approve. null: the user said no. */
export function approveStart(context: Asking, files: LoopFiles, request: StartRequest): Approval | undefined | null {
  if (!request.consented) return undefined;
  checkExistingLoop(readState(files.state), request);
  const requested = request.existing === 'fresh' ? null : requestedContract(files);
  const found = peekTdd(files);
  const continues = request.existing === 'resume' || requested !== null;
  const list = request.tdd === true || (continues && found?.loopId != null) ? found : null;
  const { resolved } = prepareContract(request);
  if (requested === null && (list === null || list.consented)) {
    return approveSettings(files, request, unagreedSettings(request, resolved)) ? undefined : null;
  }
  const terms = preparedTerms(prepareContract(request), list);
  const changes = requested === null ? [] : changesSince(requested, terms, list);
  const count = `  ${list?.completed.length} of ${list?.scenarios.length} scenarios are complete.`;
  const complete = show(advise(count, 'Show them', 'tdd status'), { name: null, mode: 'hook' });
  const lines = [
    ...showTerms(terms),
    ...(list === null ? [] : [complete]),
    ...(changes.length === 0 ? [] : ['Changed since the request:', ...changes]),
  ];
  const heading = requested === null ? 'An agent created the scenarios of this loop:' : REQUEST_HEADING;
  const refusal = about(START_TEXTS.needsConsent, { name: files.name, mode: request.mode ?? 'hook' });
  const by = askInPerson(files, { command: 'start', heading, lines, question: 'Start it?', refusal });
  if (by !== null) {
    rememberAgreed(request.env, unagreedSettings(request, resolved));
    return { terms, by };
  }
  const refused = requested === null ? LIST_REFUSED : START_TEXTS.notAgreed;
  context.err(withPrefix(refused, { name: files.name, mode: request.mode ?? 'hook' }));
  return null;
}

/** Shows settings that start a program or widen permissions, and remembers them. Returns whether the user agrees. */
export function approveSettings(files: LoopFiles, request: StartRequest, open: readonly RiskySetting[]): boolean {
  if (open.length === 0) return true;
  const agreed = askInPerson(files, {
    command: 'start',
    refusal: settingsRefusal(request, open),
    heading: 'These settings start programs or widen permissions:',
    lines: open.map(({ line }) => `  ${line}`),
    question: 'Use these settings from now on?',
  });
  if (agreed !== null) rememberAgreed(request.env, open);
  return agreed !== null;
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

function changesSince(requested: Contract, terms: Approval['terms'], list: TddRecord | null): string[] {
  const changes = diffTerms(consentTerms(requested, requested.tdd === undefined ? null : list), terms);
  if (requested.tdd !== undefined && (list === null || termsOf(list).hash !== requested.tdd.hash)) {
    changes.push('the list of scenarios');
  }
  return changes.map((line) => `  ${line}`);
}
