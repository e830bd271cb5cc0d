import { randomUUID } from 'node:crypto';
import type { LoopState } from '../../engine/schema/state.ts';
import { removePlaceholders } from '../../sandbox/placeholders.ts';
import { sweepLeftovers } from '../../state/lock/sweep-leftovers.ts';
import { makeRuntimeDir, nameProject, orLogged } from '../../state/loop-files.ts';
import { withState } from '../../state/with-state.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { clearCancellation } from '../control/ownership.ts';
import { recordJournal } from '../records/journal.ts';
import { countedBy, projectionOf } from '../records/status-projection.ts';
import { listUnder, tddTerms } from '../tdd/scenario-list.ts';
import { formerBaseline } from './baseline.ts';
import { beginningState, type Continued, continueExistingLoop, startedEvent } from './beginning-state.ts';
import { recordApproval } from './live/consent.ts';
import { prepareContract } from './prepare-contract.ts';
import { adoptedChanges, formerEvidence, lossAtResume, noteAdopted, takeNewStart } from './resume/former-evidence.ts';
import type { Approved, Prepared, StartedLoop } from './stages.ts';
import { storeLoop, withConsentDigest } from './store-loop.ts';
import { rememberAgreed, requireAgreed } from './terms/agreed-settings.ts';

/** Returns an approved start for which no person had to be asked, and nothing was gathered before. */
export function unasked(prepared: Prepared): Approved {
  const { at } = prepared.request;
  return { prepared, approval: null, baseline: null, startPoint: null, gitPins: null, at };
}

/**
 * Starts or resumes a loop and fixes its contract. Throws RalphError with every problem and without changing anything; `refused`
 * if the files no longer say what a person approved.
 */
export function startLoop(approved: Approved): StartedLoop {
  const { approval, at } = approved;
  const { request, files } = approved.prepared;
  // If the files of dead processes cannot be removed, the loop starts anyway.
  orLogged(files, at, 'sweep', () => {
    sweepLeftovers(files);
    removePlaceholders(files);
  });
  const read = approval === null ? approved.prepared : { ...approved.prepared, ...prepareContract(request) };
  const prepared: Prepared = { ...read, terms: { ...read.terms, createdAt: at } };
  requireAgreed(prepared);
  makeRuntimeDir(files);
  const { started, event } = withState(
    files,
    (current) => {
      const continued = continueExistingLoop(current, { ...request, at }, files);
      const { before } = continued;
      const left = before && current.kind === 'loop' && current.state.status !== 'ended' ? current.state : before;
      const result = createLoop({ ...approved, prepared }, continued, left);
      return { next: result.started.state, result };
    },
    { goesOn: true },
  );
  const agreed = (request.agreed ?? []).map((digest) => ({ digest }));
  orLogged(files, at, 'agreed', () => rememberAgreed(request.env, agreed));
  projectionOf(files, at, started.stored.contract).begin(event, countedBy(started.state));
  return started;
}

/** Stores evidence, contract and journal entry, under the lock. `left`: a resumed loop as its last process left it. */
function createLoop(approved: Approved, { before, wentBack }: Continued, left: LoopState | null) {
  const { prepared, at, baseline, startPoint, gitPins } = approved;
  const { request, files, resolved, terms } = prepared;
  const { env } = request;
  const loopId = before?.loopId ?? startPoint?.loopId ?? `loop-${randomUUID()}`;
  const tdd = tddTerms(files, { ...request, at }, before?.loopId ?? null);
  const list = listUnder(files, tdd);
  recordApproval(approved, { loopId, iteration: before?.iteration ?? 0 }, list);
  const { live, lost, former: found } = left === null ? NEW_LOOP : formerEvidence(files, left);
  const former = found?.contract ?? null;
  const results = baseline === null ? formerBaseline(former, loopId) : { baseline: baseline.baseline };
  const built = buildContract({ ...terms, loopId, ...(tdd && { tdd }), ...results }).contract;
  const adopted = adoptedChanges(former && { contract: former, isLive: live !== null }, built, list);
  const begun = beginningState(approved, before, loopId);
  const contract = withConsentDigest(built, list);
  // An ended loop has no snapshot.
  const loss = lost ?? (left && live && lossAtResume(files, left, contract, live, { env, at }));
  const [digest, isConsent] = [contract.consentDigest, left?.status === 'awaiting-consent'];
  const notes = [
    ...(wentBack === undefined ? [] : [wentBack]),
    ...(loss === null ? [] : [takeNewStart(approved, loss, begun)]),
    ...(adopted.length === 0 ? [] : [noteAdopted(files, begun, at, adopted, { digest, isConsent })]),
  ];
  const { stored, warnings: protects } = storeLoop(files, contract, {
    env,
    at,
    state: begun,
    items: prepared.checklist ?? [],
    former,
    isNew: before === null,
    isLost: loss !== null,
    baseline,
    startPoint,
    gitPins,
  });
  const state: LoopState = { ...begun, contractHash: stored.hash };
  orLogged(files, at, 'start', () => nameProject(files));
  clearCancellation(files);
  const event = startedEvent(state, stored, at, before !== null);
  recordJournal(files, at, [event]);
  const warnings = [
    ...prepared.warnings,
    ...notes.map((text) => startWarning('resume', text)),
    ...protects.map((text) => startWarning('guardrails.protected_files', text)),
  ];
  return { started: { loopId, files, state, stored, settings: resolved.settings, warnings }, event };
}

const NEW_LOOP = { former: null, live: null, lost: null };

function startWarning(path: string, message: string): Problem {
  return { path, line: null, column: null, value: undefined, rule: 'start', message, severity: 'warning' };
}
