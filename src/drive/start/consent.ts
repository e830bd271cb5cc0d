import { randomUUID } from 'node:crypto';
import { compareItems } from '../../engine/identity/items.ts';
import { named } from '../../engine/identity/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { listEvidence } from '../../state/evidence/evidence.ts';
import { writeContract } from '../../state/evidence/live-contract.ts';
import { hashContract } from '../../state/hash-contract.ts';
import { type LoopFiles, readContract, readState, type StoredContract } from '../../state/loop-files.ts';
import { recordNotice } from '../../state/notices.ts';
import { unprovedTdd } from '../../state/tdd-store.ts';
import { changedPrograms } from '../../task/pinned-scripts/pinned-programs.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { shorten } from '../../text/excerpt.ts';
import { type ChecklistItem, countChecklist } from '../../text/markdown/checklist.ts';
import { RalphError } from '../../text/message.ts';
import { type Operated, operate, type Person } from '../control/operate.ts';
import { protectedChanges, storeProtected } from '../control/restore-protected.ts';
import { beginSeen, goneEntries, readSeen } from '../prompt/seen-record.ts';
import { bindList } from '../tdd/scenario-list.ts';
import { AGENT_TEXTS, HOOK_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { formerBaseline, type StartBaseline, storeBaseline } from './baseline.ts';
import { type ConsentTerms, consentDigest, consentTerms, diffTerms, requireApproved } from './consent-terms.ts';
import { lastLoopIn } from './find-task.ts';
import { type PreparedContract, prepareContract } from './prepare-contract.ts';

export function withConsentDigest(contract: Contract, list: TddRecord | null): Contract {
  return { ...contract, consentDigest: consentDigest(consentTerms(contract, list)) };
}

/** Stores a contract that lists the evidence of its loop, all of which is stored by now. */
export function fixContract(files: LoopFiles, contract: Contract): StoredContract {
  const listed = { ...contract, evidence: listEvidence(files, contract.loopId) };
  const stored = { hash: hashContract(listed), contract: listed };
  writeContract(files, stored);
  return stored;
}

/** Returns the terms of a loop that is about to start. `list` holds the scenarios of a test-first loop. */
export function preparedTerms({ terms }: Pick<PreparedContract, 'terms'>, list: TddRecord | null): ConsentTerms {
  return consentTerms(buildContract({ ...terms, loopId: 'any' }).contract, list);
}

/** Returns the contract that awaits consent. Throws RalphError `refused` if no loop is live, `contract-missing` or `contract-changed`. */
export function pendingContract(files: LoopFiles): Contract {
  const stored = readContract(files);
  const last = stored === null ? lastLoopIn(files) : null;
  if (last?.status === 'ended') throw new RalphError('refused', START_TEXTS.nothingPending(last.ended.as));
  if (stored === null && last === null) throw new RalphError('refused', START_TEXTS.nonePending);
  return proved(stored).contract;
}

/** Returns the terms that await consent. Throws as `pendingContract`. */
export function pendingTerms(files: LoopFiles): ConsentTerms {
  const contract = pendingContract(files);
  return consentTerms(contract, contract.tdd === undefined ? null : unprovedTdd(files));
}

export interface Consent {
  /** Null if no person had to agree. */
  readonly by: Person | null;
  /** Results of the checks, which needed consent first; null if they are not to run. */
  readonly baseline: StartBaseline | null;
}

/** Records consent, first in the contract. Throws, changing nothing, if other terms were approved. */
export function giveConsent(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  approved: ConsentTerms,
  { by, baseline }: Consent,
): Operated {
  return operate(files, env, at, (state) => {
    const { hash, contract } = proved(readContract(files));
    if (contract.consented) return { kind: 'consent', contractHash: hash };
    const { tdd, loopId } = contract;
    requireApproved(approved, pendingTerms(files));
    if (tdd !== undefined) bindList(files, tdd, { loopId, at, consented: true, env, keep: true });
    const results = baseline === null ? {} : { baseline: baseline.baseline };
    const agreed = { ...contract, consented: true, consentDigest: consentDigest(approved), ...results };
    recordConsent(files, state, at, approved, by);
    // Under the lock, just before the state that refers to it: a Stop in between would mistake it for a forgery.
    storeProtected(files, agreed, env);
    if (baseline !== null) storeBaseline(files, loopId, at, baseline);
    return { kind: 'consent', contractHash: fixContract(files, agreed).hash };
  });
}

/** Records that a person agreed to a loop that an agent asked for. */
export function recordConsent(
  files: LoopFiles,
  loop: Pick<LoopState, 'loopId' | 'iteration'>,
  at: string,
  terms: ConsentTerms,
  by: Person | null,
): void {
  if (by === null) return;
  const details = { ...by, digest: consentDigest(terms), terms };
  recordNotice(files, loop, {
    at,
    kind: 'consent',
    text: `to what an agent asked for, at ${by.terminal ?? 'an unknown terminal'}.`,
    details,
  });
}

function proved(stored: StoredContract | null): StoredContract {
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  if (hashContract(stored.contract) !== stored.hash)
    throw new RalphError('contract-changed', HOOK_TEXTS.contractChanged);
  return stored;
}

interface ChangedContract {
  readonly next: Contract;
  readonly terms: ConsentTerms;
  readonly changes: readonly string[];
  readonly checklist: PreparedContract['checklist'];
}

/** Returns the contract according to the current task file and scripts. Throws RalphError with every problem. */
export function changedContract(files: LoopFiles, env: NodeJS.ProcessEnv): ChangedContract {
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const before = stored.contract;
  if (before.accept === 'never') throw new RalphError('refused', START_TEXTS.locked);
  const current = readState(files.state);
  const { terms, checklist } = prepareContract({
    projectDir: files.projectDir,
    name: files.name,
    task: before.taskPath,
    formerArgs: before.task?.args ?? {},
    flags: before.flags,
    env,
    at: before.createdAt,
    consented: before.consented,
    headless: before.headless,
    launched: false,
    clientVersion: before.clientVersion,
    bundleDir: before.bundleDir,
    mode: current.kind === 'loop' ? current.state.mode : 'hook',
    plan: before.policy.plan ?? null,
  });
  if (terms.agent !== before.agent || terms.host !== before.host) {
    const named = [before, terms].map(({ agent, host }) => agent ?? hostOf(host).title);
    throw new RalphError('refused', AGENT_TEXTS.changed(named[0] ?? '', named[1] ?? ''));
  }
  const { loopId, tdd } = before;
  const list = tdd === undefined ? null : unprovedTdd(files);
  // Keeps the client's launch settings.
  const { unsandboxed = terms.unsandboxed } = before;
  const kept = { ...(tdd && { tdd }), ...(unsandboxed && { unsandboxed }), ...formerBaseline(before, loopId) };
  const { contract } = buildContract({ ...terms, loopId, ...kept });
  const approved = consentTerms(contract, list);
  const changes = diffTerms(consentTerms(before, list), approved);
  changes.push(...changedPrograms(before, Object.keys(before.programs ?? {}), contract.environment ?? {}));
  if (changes.length === 0 && before.head !== contract.head) changes.push("the frontmatter's text");
  if (checklist !== null) changes.push(...cutList(files, before, checklist));
  changes.push(...goneEntries(files, before).map(({ path, missing }) => `${path}: without ${named(missing)}`));
  const { evidence } = before;
  changes.push(...protectedChanges(files, { ...contract, evidence }, env));
  return { next: withConsentDigest(contract, list), terms: approved, changes, checklist };
}

/** Adopts the contract for the running loop if its changes are those shown. Throws RalphError `refused` otherwise. */
export function acceptContract(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  shown: Pick<ChangedContract, 'terms' | 'changes'>,
  by: Person,
): void {
  operate(files, env, at, (state) => {
    const { next, terms, changes, checklist } = changedContract(files, env);
    requireApproved(shown.terms, terms);
    // The same changes may belong to another contract by now.
    requireApproved(asTerms(shown.changes), asTerms(changes));
    const text = `${shorten(changes.join('; '), SHOWN)}.`;
    const details = { ...by, digest: consentDigest(terms), changes };
    recordNotice(files, state, { at, kind: 'accept', text, details });
    // Under the lock, just before the state that refers to it: a Stop in between would mistake it for a forgery.
    storeProtected(files, next, env);
    const { hash, contract } = fixContract(files, next);
    beginSeen(files, next, checklist ?? [], readSeen(files, contract).written);
    const { maxIterations } = next.policy;
    const id = randomUUID();
    return {
      kind: 'accept',
      id,
      contractHash: hash,
      maxIterations,
      changes: text,
      ...(checklist && { checklist: countChecklist(checklist) }),
    };
  });
}

const SHOWN = 600;

function asTerms(changes: readonly string[]): ConsentTerms {
  return changes.map((line) => ['change', line]);
}

/** Returns a line for a checklist that lost items; it can be complete again once the user accepts the loss. */
function cutList(files: LoopFiles, before: Contract, items: readonly ChecklistItem[]): string[] {
  const { missing } = compareItems(readSeen(files, before).items, items);
  return missing.length === 0 ? [] : [`the checklist: without ${named(missing)}`];
}
