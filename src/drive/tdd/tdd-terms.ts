import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { allComplete } from '../../engine/tdd/phases.ts';
import { findContract, findEndedContract } from '../../state/contract-store.ts';
import { hashTddList } from '../../state/hash-contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { provedTdd, withTdd } from '../../state/tdd-store.ts';
import { decidingEnvironment } from '../../task/tdd/make-list.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { listOf } from './scenario-list.ts';

/**
 * What the contract of a loop says of the list that lies there; undefined for a loop that is none of tests first: it
 * was not asked for, and `resumed`, the loop that goes on, worked through none. Throws RalphError where the list is
 * missing, cannot be read (whose it is nobody knows then), has nothing left to do, or took the place of the one that the
 * loop worked through.
 */
export function tddTerms(
  files: LoopFiles,
  { tdd, at }: { readonly tdd?: boolean; readonly at: string },
  resumed: string | null,
): Contract['tdd'] {
  if (tdd !== true) {
    if (resumed === null) return undefined;
    if (provedTdd(files)?.loopId !== resumed) {
      if (workedByTests(files, resumed)) throw new RalphError('usage', TDD_TEXTS.listReplaced);
      return undefined;
    }
  }
  const record = listThere(files, at);
  if (allComplete(record) && resumed === null) throw new RalphError('usage', TDD_TEXTS.nothingToStart);
  return termsOf(record);
}

/** By its contract, where that can be read. */
function workedByTests(files: LoopFiles, loopId: string): boolean {
  const live = findContract(files);
  const stored = typeof live !== 'string' && live.contract.loopId === loopId ? live : findEndedContract(files, loopId);
  return stored?.contract.tdd !== undefined;
}

/** The list as it was proved. Throws RalphError where there is none. */
export function listThere(files: LoopFiles, at: string): TddRecord {
  return withTdd(files, at, (found) => ({ next: 'keep', result: listOf(found, files.name).record }));
}

/** What a contract says of a list: nothing of it can be another without its hash being another. */
export function termsOf(record: TddRecord): NonNullable<Contract['tdd']> {
  return { listId: record.listId, hash: hashTddList(record) };
}

/**
 * Notes whose list it is now. A loop that the user starts, or agrees to, is their agreement to the list's commands:
 * throws RalphError `contract-changed`, with nothing changed, where another list lies there than `tdd` says.
 */
export function bindList(
  files: LoopFiles,
  tdd: NonNullable<Contract['tdd']>,
  request: {
    readonly loopId: string;
    readonly at: string;
    readonly consented: boolean;
    /** Of whoever starts, or agrees. */
    readonly env: NodeJS.ProcessEnv;
    /** What was agreed to before stays as it was then. */
    readonly keep?: boolean;
  },
): void {
  const { loopId, at, consented, env, keep } = request;
  withTdd(files, at, (found) => {
    const { record } = listOf(found, files.name);
    if (hashTddList(record) !== tdd.hash) throw new RalphError('contract-changed', TDD_TEXTS.listChanged);
    const agreed = consented && !(keep && record.consented) ? { consented, environment: decidingEnvironment(env) } : {};
    return { next: { ...record, loopId, ...agreed }, result: undefined };
  });
}
