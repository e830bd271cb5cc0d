import type { CheckResult } from '../../engine/events.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { NO_LIST, TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { allComplete, remaining } from '../../engine/tdd/phases.ts';
import { type EvidenceOf, readEvidence } from '../../state/evidence/evidence.ts';
import { hashTddList } from '../../state/hash-contract.ts';
import { contractOfLoop, type LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { type FoundTdd, peekTdd, unprovedTdd, withTdd } from '../../state/tdd-store.ts';
import { decidingEnvironment } from '../../task/commands/deciding-environment.ts';
import { type Message, RalphError } from '../../text/message.ts';

/** Returns the list. Throws RalphError `no-loop` with the reason and how to create one if there is none. */
export function listOf(found: FoundTdd, name: string | null): Extract<FoundTdd, { kind: 'list' }> {
  if (found.kind === 'list') return found;
  throw new RalphError('no-loop', show(whyNoList(found), { name, mode: 'hook' }));
}

export function whyNoList({ left }: Extract<FoundTdd, { kind: 'none' }>): Message | string {
  return left.kind === 'unusable' ? NO_LIST.unusable(left.problem) : NO_LIST[left.kind];
}

type TermsOfList = EvidenceOf & Pick<Contract, 'tdd'>;

/**
 * Returns the list of a TDD loop; null for other loops, `changed` if it differs from that at the start. Throws
 * `evidence-lost`.
 */
function loopsList(files: LoopFiles, contract: TermsOfList): TddRecord | 'changed' | null {
  const { tdd } = contract;
  if (tdd === undefined) return null;
  readEvidence(files, contract, 'scenarios');
  const record = peekTdd(files);
  return record !== null && hashTddList(record) === tdd.hash ? record : 'changed';
}

export const SCENARIOS = 'scenarios';

/** Checks that every scenario is proved; empty for other loops. */
export function tddChecks(files: LoopFiles, contract: TermsOfList): CheckResult[] {
  const list = loopsList(files, contract);
  if (list === null) return [];
  const tell = (message: Message | string) => show(message, { name: files.name, mode: 'hook' });
  if (list === 'changed') return [{ name: SCENARIOS, outcome: 'changed', detail: tell(TDD_TEXTS.listChanged) }];
  if (list.broken !== null)
    return [{ name: SCENARIOS, outcome: 'failed', detail: tell(TDD_TEXTS.brokenSince(list.broken.scenarioId)) }];
  const left = remaining(list).map(({ id }) => id);
  const detail = tell(TDD_TEXTS.progress(list.completed.length, list.scenarios.length, left));
  return [{ name: SCENARIOS, outcome: left.length === 0 ? 'ok' : 'failed', detail }];
}

/** Returns the facts about the list for the end of a turn. Throws `evidence-lost`. */
export function tddFacts(
  files: LoopFiles,
  contract: TermsOfList | undefined,
): { readonly scenario?: string | null; readonly taskDone?: true } {
  const list = contract === undefined ? null : loopsList(files, contract);
  if (list === null) return {};
  // The scenario is unknown: the breaker gets no data, and a claim is rejected.
  if (list === 'changed') return { scenario: null };
  return { scenario: list.current, ...(allComplete(list) && { taskDone: true }) };
}

/**
 * Returns the contract's reference to the list; undefined without TDD. A resume takes the list as it is. Throws if the list is
 * missing or complete.
 */
export function tddTerms(
  files: LoopFiles,
  { tdd, at }: { readonly tdd?: boolean; readonly at: string },
  resumed: string | null,
): Contract['tdd'] {
  if (tdd !== true) {
    if (resumed === null) return undefined;
    if (unprovedTdd(files)?.loopId !== resumed) {
      const contract = contractOfLoop(files, resumed)?.contract;
      if (contract?.tdd !== undefined) throw new RalphError('usage', TDD_TEXTS.listReplaced);
      return undefined;
    }
  }
  const record = requireList(files, at, resumed === null ? 'proved' : 'as it is');
  if (allComplete(record) && resumed === null) throw new RalphError('usage', TDD_TEXTS.nothingToStart);
  return termsOf(record);
}

/** Returns the list. Throws RalphError if there is none. */
export function requireList(files: LoopFiles, at: string, believe?: 'proved' | 'as it is'): TddRecord {
  return withTdd(files, at, (found) => ({ next: 'keep', result: listOf(found, files.name).record }), believe);
}

/** Returns the list to which a contract refers, unproved; null for other loops. */
export function listUnder(files: LoopFiles, tdd: Contract['tdd']): TddRecord | null {
  return tdd === undefined ? null : unprovedTdd(files);
}

export function termsOf(record: TddRecord): NonNullable<Contract['tdd']> {
  return { listId: record.listId, hash: hashTddList(record) };
}

/**
 * Binds the list to a loop as its evidence. A resume takes the list as it is, whatever its former contract says. Throws
 * `contract-changed`, without changing anything, if `tdd` names another list.
 */
export function bindList(
  files: LoopFiles,
  tdd: NonNullable<Contract['tdd']>,
  request: {
    readonly loopId: string;
    readonly at: string;
    readonly consented: boolean;
    readonly env: NodeJS.ProcessEnv;
    /** Keeps an earlier consent unchanged. */
    readonly keep?: boolean;
  },
): void {
  const { loopId, at, consented, env, keep } = request;
  const bind = (found: FoundTdd) => {
    const { record } = listOf(found, files.name);
    if (hashTddList(record) !== tdd.hash) throw new RalphError('contract-changed', TDD_TEXTS.listChanged);
    const agreed = consented && !(keep && record.consented) ? { consented, environment: decidingEnvironment(env) } : {};
    return { next: { ...record, loopId, ...agreed }, result: undefined };
  };
  withTdd(files, at, bind, 'as it is');
}
