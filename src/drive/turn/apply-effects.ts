import type { Effect } from '../../engine/effects.ts';
import { archiveState } from '../../state/archive.ts';
import { dropContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { dropSnapshot } from '../../state/snapshot/drop-snapshot.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { recordJournal } from '../records/journal.ts';
import { notifyUser } from '../records/notification.ts';
import { dropPromptedTurn } from '../records/prompted-turn.ts';
import { recordLesson } from '../records/record-lessons.ts';
import { projectionOf, type StatusProjection } from '../records/status-projection.ts';

/** Applies the effects that are the same for every driver: journals, signs, memory, archive, status projection. */
export function applyEffects(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  if (effects.length === 0) return;
  recordJournal(files, at, effects);
  notifyUser(files, at, effects);
  const projection = projectionOf(files, at);
  projection.events(effects);
  for (const effect of effects) {
    if (effect.type === 'add-sign' || effect.type === 'archive') recordLesson(files, at, effect);
    if (effect.type === 'archive') archiveEnded(files, projection);
  }
  projection.status(at);
}

/** Archives an ended loop, then removes contract and state: after a crash the next process archives it again. */
function archiveEnded(files: LoopFiles, projection: StatusProjection): void {
  withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.status !== 'ended') return { next: 'keep', result: undefined };
    const { ended } = current.state;
    projection.status(ended.at, current.state);
    archiveState(files, current.state, ended.at, ended.as);
    dropPromptedTurn(files);
    dropContract(files);
    dropSnapshot(files);
    return { next: 'remove', result: undefined };
  });
}
