import { adoptFourKeys, resumeState } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type LoopFiles, type ReadState, readContract } from '../../state/loop-files.ts';
import { archiveState, lastArchived, quarantine } from '../../state/with-state.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { about, RalphError } from '../../text/message.ts';
import { HOOK_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { clientAlive } from '../turn/ownership.ts';
import { restoreState } from '../turn/tampering.ts';
import type { StartRequest } from './read-settings.ts';

/** Throws RalphError `refused` if a start must not touch the existing loop. Changes nothing. */
export function checkExistingLoop(
  current: ReadState,
  { existing, consented }: Pick<StartRequest, 'existing' | 'consented'>,
): void {
  if (current.kind !== 'loop' || current.state.status === 'ended') return;
  const { state } = current;
  if (clientAlive(state))
    throw new RalphError('refused', about(START_TEXTS.alive(state.iteration, state.clientPid ?? 0), state));
  // A user who starts a loop that no session has worked on thereby agrees to it.
  const isUntouched = state.sessionId === null && state.iteration === 0 && state.status !== 'paused';
  if (existing === 'refuse' && !(isUntouched && consented)) {
    throw new RalphError('refused', about(HOOK_TEXTS.interruptedLoop(state.iteration), state));
  }
}

/** Archives or resumes the existing state. Returns the loop to continue, or null for a new one. */
export function continueExistingLoop(current: ReadState, request: StartRequest, files: LoopFiles): LoopState | null {
  const { at, existing, consented } = request;
  checkExistingLoop(current, request);
  switch (current.kind) {
    case 'absent':
      return existing === 'resume' ? resumeState(lostOrArchived(files, at), at, consented) : null;
    case 'corrupt':
      quarantine(files, at, 'corrupt');
      return existing === 'resume' ? resumeState(lostOrArchived(files, at), at, consented) : null;
    case 'newer':
      throw new RalphError('state-newer', START_TEXTS.newer(files.state));
    case 'four-keys': {
      if (existing === 'refuse') throw new RalphError('refused', HOOK_TEXTS.interruptedLoop(current.file.iteration));
      const adopted = adoptFourKeys(current.file, { name: files.name, taskPath: DEFAULT_TASK, maxIterations: 100 });
      if (existing === 'resume') return resumeState(adopted, at, consented);
      archiveState(files, adopted, at, 'interrupted');
      return null;
    }
    case 'loop':
      return settleLoop(current.state, request, files);
    default:
      return current satisfies never;
  }
}

function settleLoop(state: LoopState, { at, existing, consented }: StartRequest, files: LoopFiles): LoopState | null {
  if (state.status === 'ended') {
    archiveState(files, state, state.ended.at, state.ended.as);
    return existing === 'resume' ? resumeState(state, at, consented) : null;
  }
  if (existing !== 'fresh') return resumeState(state, at, consented);
  archiveState(files, state, at, 'interrupted');
  return null;
}

/** Returns a loop whose state file was lost, from its contract and journal, or else the last archived one. */
function lostOrArchived(files: LoopFiles, at: string): LoopState {
  const stored = readContract(files);
  if (stored !== null) {
    return restoreState(files, stored, { sessionId: '', clientPid: null, clientStartedAt: null }, at, 0);
  }
  const last = lastArchived(files);
  if (last === null) throw new RalphError('no-loop', START_TEXTS.nothingToResume);
  const { state } = last;
  if (state.status === 'ended' && state.ended.as === 'complete') throw new RalphError('refused', START_TEXTS.finished);
  return state;
}
