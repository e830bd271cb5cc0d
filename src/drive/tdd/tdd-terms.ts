import { RalphError } from '../../core/ralph-error.ts';
import type { Contract } from '../../core/schema/contract.ts';
import { allComplete } from '../../core/tdd/standing.ts';
import { TDD_TEXTS } from '../../core/tdd/texts.ts';
import { hashTddList } from '../../state/hash-tdd-list.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { peekTdd, withTdd } from '../../state/tdd-store.ts';
import { decidingEnvironment } from '../../task/tdd/deciding-environment.ts';
import { listOf } from './list-of.ts';

/**
 * What the contract of a loop says of the list that lies there; undefined for a loop that is none of tests first: it
 * was not asked for, and `resumed`, the loop that goes on, was not started over this list. Throws RalphError where the
 * list is missing or has nothing left to do.
 */
export function tddTerms(
  files: LoopFiles,
  { tdd, at }: { readonly tdd?: boolean; readonly at: string },
  resumed: string | null,
): Contract['tdd'] {
  if (tdd !== true && (resumed === null || peekTdd(files)?.loopId !== resumed)) return undefined;
  const record = withTdd(files, at, (found) => ({ next: 'keep', result: listOf(found, files.name).record }));
  if (allComplete(record) && resumed === null) throw new RalphError('usage', TDD_TEXTS.nothingToStart);
  return { listId: record.listId, hash: hashTddList(record) };
}

/** Notes whose list it is now. A loop that the user starts, or agrees to, is their agreement to the list's commands. */
export function bindList(
  files: LoopFiles,
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
    const agreed = consented && !(keep && record.consented) ? { consented, environment: decidingEnvironment(env) } : {};
    return { next: { ...record, loopId, ...agreed }, result: undefined };
  });
}
