import type { LoopState } from '../../core/schema/state.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import { log } from '../../state/log.ts';
import { readState } from '../../state/read-state.ts';
import { runFiles } from '../../state/run-files.ts';
import { type TakenFlags, takeFlags } from '../../state/run-flags.ts';
import { taskFolder } from '../../task/task-folder.ts';
import type { StopAnswer } from '../hook/answer-block.ts';
import type { HookContext } from '../hook/context.ts';
import { ownership } from '../hook/ownership.ts';
import { clearTombstone } from '../hook/tombstone.ts';
import { operate } from '../operate.ts';
import { HOOK_TEXTS, said } from '../texts.ts';
import { countedBy, mirrorOf } from './mirror.ts';

/**
 * Does at a Stop what a flag file in the task folder asks for: a stop goes to the engine, which ends the loop after this
 * iteration; a cancel ends it now, and the answer lets the turn end. null where the Stop is to be decided as ever.
 */
export function heedFlags(context: HookContext, stored: StoredContract | null): StopAnswer | null {
  // A session's Stops come one after the other: what none of them has shown by now, none will.
  const lost = (state: LoopState): void => mirrorOf(context.files, context.now()).lost(countedBy(state));
  if (obey(context, stored, lost) !== 'cancelled') return null;
  clearTombstone(context.files);
  return { systemMessage: said(HOOK_TEXTS.cancelledStop) };
}

/** The same in the middle of a turn, where a cancel flag was seen: whether the loop is cancelled now. */
export function heedCancelFlag(context: HookContext, stored: StoredContract): boolean {
  return obey(context, stored, () => undefined) === 'cancelled';
}

function obey(
  context: HookContext,
  stored: StoredContract | null,
  beforeCancel: (state: LoopState) => void,
): 'cancelled' | 'goes-on' {
  if (!stored?.contract.task) return 'goes-on';
  const { files, env } = context;
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') return 'goes-on';
  if (ownership(current.state, context) === 'foreign') return 'goes-on';
  const { stop, cancel } = flags(context, stored);
  if (cancel) beforeCancel(current.state);
  if (cancel) operate(files, env, context.now(), () => ({ kind: 'cancel', flag: true }));
  else if (stop) operate(files, env, context.now(), () => ({ kind: 'stop', clientAlive: true, flag: true }));
  return cancel ? 'cancelled' : 'goes-on';
}

function flags({ files, now }: HookContext, { contract }: StoredContract): TakenFlags {
  try {
    return takeFlags(runFiles(taskFolder(files.projectDir, contract.taskPath)));
  } catch (error) {
    log(files, now(), 'flags', (error as Error).message);
    return { stop: false, cancel: false };
  }
}
