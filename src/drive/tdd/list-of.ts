import { RalphError } from '../../core/ralph-error.ts';
import { NO_LIST } from '../../core/tdd/texts.ts';
import type { FoundTdd } from '../../state/tdd-store.ts';
import { forLoop } from '../../term/for-loop.ts';

/** The list that was found. Throws RalphError `no-loop` where there is none, with what lies in its place and how to make one. */
export function listOf(found: FoundTdd, name: string | null): Extract<FoundTdd, { kind: 'list' }> {
  if (found.kind === 'list') return found;
  const { left } = found;
  const message = left.kind === 'unusable' ? NO_LIST.unusable(left.problem) : NO_LIST[left.kind];
  throw new RalphError('no-loop', forLoop(message, { name, mode: 'hook' }));
}
