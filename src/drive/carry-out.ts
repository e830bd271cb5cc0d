import type { Effect } from '../core/effects.ts';
import { archiveState } from '../state/archive.ts';
import { dropContract } from '../state/contract-store.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { withState } from '../state/with-state.ts';
import { LOCK_WAIT } from './lock-wait.ts';
import { recordJournal } from './record-journal.ts';
import { remember } from './remember.ts';
import { type Mirror, mirrorOf } from './task/mirror.ts';
import { dropPromptedTurn } from './task/prompted-turn.ts';

/**
 * Carries out what every driver does alike: journals, signs, memory, the archive, and what a task folder shows of all
 * this. What is left (prompt, wait, verify, look, allow) is the driver's own way of doing it.
 */
export function carryOut(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  if (effects.length === 0) return;
  recordJournal(files, at, effects);
  const mirror = mirrorOf(files, at);
  mirror.events(effects);
  for (const effect of effects) {
    if (effect.type === 'add-sign' || effect.type === 'archive') remember(files, at, effect);
    if (effect.type === 'archive') archiveEnded(files, mirror);
  }
  mirror.status(at);
}

/**
 * Archives an ended loop and takes its state file and contract away, in this order: a crash at any point leaves an
 * ended state that the next comer archives under the same name.
 */
function archiveEnded(files: LoopFiles, mirror: Mirror): void {
  withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.status !== 'ended') return { next: 'keep', result: undefined };
    const { ended } = current.state;
    mirror.status(ended.at, current.state);
    archiveState(files, current.state, ended.at, ended.as);
    dropPromptedTurn(files);
    dropContract(files);
    return { next: 'remove', result: undefined };
  });
}
