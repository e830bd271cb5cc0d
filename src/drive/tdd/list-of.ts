import { RalphError } from '../../core/ralph-error.ts';
import { NO_LIST } from '../../core/tdd/texts.ts';
import type { FoundTdd } from '../../state/tdd-store.ts';

/** The list that was found. Throws RalphError `no-loop` where there is none, with what lies in its place and how to make one. */
export function listOf(found: FoundTdd): Extract<FoundTdd, { kind: 'list' }> {
  if (found.kind === 'list') return found;
  const { left } = found;
  throw new RalphError('no-loop', left.kind === 'unusable' ? NO_LIST.unusable(left.problem) : NO_LIST[left.kind]);
}
