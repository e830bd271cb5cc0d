import { randomUUID } from 'node:crypto';
import { compareItems } from '../../../engine/identity/items.ts';
import { named } from '../../../engine/identity/messages.ts';
import type { Contract } from '../../../engine/schema/contract.ts';
import { hostOf } from '../../../hosts/hosts.ts';
import { recordNotice } from '../../../state/event-stream.ts';
import { type LoopFiles, readContract, readState } from '../../../state/loop-files.ts';
import { changedPrograms } from '../../../task/pinned-scripts/pinned-programs.ts';
import { buildContract } from '../../../task/settings/build-contract.ts';
import { countChecklist } from '../../../text/markdown/lists.ts';
import { RalphError } from '../../../text/message.ts';
import { shorten } from '../../../text/quote.ts';
import { operate, type Person } from '../../control/operate.ts';
import { protectedChanges, storeProtected } from '../../control/restore-protected.ts';
import { beginSeen, goneEntries, readSeen } from '../../prompt/seen-record.ts';
import { listUnder } from '../../tdd/scenario-list.ts';
import { AGENT_TEXTS, START_TEXTS } from '../../turn/messages.ts';
import { formerBaseline } from '../baseline.ts';
import { prepareContract } from '../prepare-contract.ts';
import type { PreparedContract } from '../stages.ts';
import { fixContract, withConsentDigest } from '../store-loop.ts';
import { type ConsentTerms, consentDigest, consentTerms, diffTerms, requireApproved } from '../terms/consent-terms.ts';

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
  const list = listUnder(files, tdd);
  // Keeps the client's launch settings.
  const { unsandboxed = terms.unsandboxed } = before;
  const kept = { ...(tdd && { tdd }), ...(unsandboxed && { unsandboxed }), ...formerBaseline(before, loopId) };
  const { contract } = buildContract({ ...terms, loopId, ...kept });
  const approved = consentTerms(contract, list);
  const changes = diffTerms(consentTerms(before, list), approved);
  changes.push(...changedPrograms(before, Object.keys(before.programs ?? {}), contract.environment ?? {}));
  if (changes.length === 0 && before.head !== contract.head) changes.push("the frontmatter's text");
  // A checklist that lost items can be complete again once the user accepts the loss.
  const { missing = [] } = checklist === null ? {} : compareItems(readSeen(files, before).items, checklist);
  if (missing.length > 0) changes.push(`the checklist: without ${named(missing)}`);
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
    // Under one lock with the state: a Stop in between would report tampering.
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
