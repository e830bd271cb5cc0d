import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { allComplete } from '../../engine/tdd/phases.ts';
import { hashTddList } from '../../state/hash-contract.ts';
import { findContract, findEndedContract, type LoopFiles } from '../../state/loop-files.ts';
import { provedTdd, withTdd } from '../../state/tdd-store.ts';
import { decidingEnvironment } from '../../task/commands/deciding-environment.ts';
import { RalphError } from '../../text/message.ts';
import { listOf } from './scenario-list.ts';

/** The contract's reference to the list; undefined without TDD. Throws if the list is missing or complete. */
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

function workedByTests(files: LoopFiles, loopId: string): boolean {
  const live = findContract(files);
  const stored = typeof live !== 'string' && live.contract.loopId === loopId ? live : findEndedContract(files, loopId);
  return stored?.contract.tdd !== undefined;
}

/** Throws RalphError if there is no list. */
export function listThere(files: LoopFiles, at: string): TddRecord {
  return withTdd(files, at, (found) => ({ next: 'keep', result: listOf(found, files.name).record }));
}

export function termsOf(record: TddRecord): NonNullable<Contract['tdd']> {
  return { listId: record.listId, hash: hashTddList(record) };
}

/** Binds the list to a loop. Throws `contract-changed`, with nothing changed, if `tdd` names another list. */
export function bindList(
  files: LoopFiles,
  tdd: NonNullable<Contract['tdd']>,
  request: {
    readonly loopId: string;
    readonly at: string;
    readonly consented: boolean;
    readonly env: NodeJS.ProcessEnv;
    /** Keeps an earlier consent as it is. */
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
