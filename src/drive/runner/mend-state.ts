import { quarantine } from '../../state/archive.ts';
import { findContract } from '../../state/contract-store.ts';
import type { ReadState } from '../../state/read-state.ts';
import { withState } from '../../state/with-state.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { unagreed, unproved } from '../restore-state.ts';
import { setBack } from '../turn/set-back.ts';
import type { Runner } from './runner.ts';
import { RUNNER_TEXTS } from './texts.ts';

/**
 * Puts a state that the agent rewrote, while it worked, back as this runner knows it; what was found is moved aside.
 * Gives what the user and the next prompt have to hear, or null. Whoever ends a loop drops its contract: a state that is
 * gone with it was ended, and is left so.
 */
export function mendState(runner: Runner): string | null {
  const { files, loopId, turn } = runner;
  const { state } = turn.loaded;
  const found = findContract(files);
  if (found === 'absent' || found === 'unreadable' || found.contract.loopId !== loopId) return null;
  const sound = (current: ReadState): boolean => {
    if (current.kind !== 'loop') return false;
    // A newer epoch is somebody else's, who took the loop over: the lease tells.
    if (current.state.epoch > state.epoch) return true;
    return !(unproved(current.state) || unagreed(current.state, found) || setBack(current.state, found, files));
  };
  return withState<string | null>(files, LOCK_WAIT, (current) => {
    if (sound(current)) return { next: 'keep', result: null };
    const moved = current.kind === 'absent' ? files.archiveDir : quarantine(files, turn.context.now(), 'tampered');
    return { next: state, result: RUNNER_TEXTS.restored(moved) };
  });
}
