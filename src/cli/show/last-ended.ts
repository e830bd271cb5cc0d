import { basename } from 'node:path';
import type { LoopState } from '../../engine/schema/state.ts';
import { listArchive } from '../../state/archive.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { forLoop } from '../../term/for-loop.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';

export interface EndedLoop {
  readonly loopId: string;
  /** Relative to the project. */
  readonly taskPath: string;
  readonly status: string;
  readonly endedAt: string;
  readonly iteration: number;
  readonly maxIterations: number;
  readonly verified: boolean;
  readonly mode: LoopState['mode'];
  readonly startedAt: string;
  /** US dollars; null where nobody told. */
  readonly costUsd: number | null;
  /** How far its checklist came; left out for every other task. */
  readonly checklist?: ChecklistCount;
  readonly message: string;
  /** Name of its file in the archive. */
  readonly file: string;
}

/** The loop of these files that ended last, or null. */
export function lastEnded(files: LoopFiles): EndedLoop | null {
  for (const { file, content } of listArchive(files).reverse()) {
    if (content.kind === 'loop') return endedLoopOf(content.state, file);
  }
  return null;
}

/** What an archived state says of its end. One that was put away before it ended says what it was. */
export function endedLoopOf(state: LoopState, path: string): EndedLoop {
  const { loopId, taskPath, iteration, maxIterations, lastRunAt, mode, startedAt, usage } = state;
  const end =
    state.status === 'ended'
      ? {
          status: state.ended.as,
          endedAt: state.ended.at,
          verified: state.ended.verified,
          message: forLoop(state.ended.message, state),
        }
      : { status: 'interrupted', endedAt: lastRunAt, verified: false, message: `put away while ${state.status}.` };
  const { costUsd } = usage;
  return {
    loopId,
    taskPath,
    iteration,
    maxIterations,
    mode,
    startedAt,
    costUsd,
    file: basename(path),
    ...listed(state),
    ...end,
  };
}

/** How far a loop's checklist has come, as an answer shows it. */
export function listed({ checklist }: LoopState): { readonly checklist?: ChecklistCount } {
  return checklist === undefined ? {} : { checklist: { done: checklist.done, total: checklist.total } };
}
