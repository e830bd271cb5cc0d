import { hostSession } from '../../claude/host-session.ts';
import { RalphError } from '../../core/ralph-error.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { withState } from '../../state/with-state.ts';
import { giveConsent } from '../give-consent.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { type StartedLoop, type StartRequest, startLoop } from '../start-loop.ts';
import { clientAlive } from '../turn/ownership.ts';
import { isAgreed } from './agreed.ts';
import { holdOf } from './hold.ts';
import { ROUTER_TEXTS } from './texts.ts';

export interface RouterStart extends Omit<StartRequest, 'mode' | 'consented' | 'headless' | 'launched'> {
  /** A person at a terminal of their own; what an agent starts, they may have to agree to. */
  readonly byUser: boolean;
}

/**
 * Starts a router loop, unless this host drives one on the task already, or somebody else drives the loop that lies
 * here: then nothing changes, and the answer is null: whoever asks what to do next is told. A loop that an agent starts runs at once where `isAgreed` says so, and else awaits consent, as does whatever an agent
 * resumes. Throws RalphError with every problem at once.
 */
export function startRouter(files: LoopFiles, request: RouterStart): StartedLoop | null {
  if (isDriven(files, request)) return null;
  const { byUser, ...rest } = request;
  const started = startLoop({ ...rest, mode: 'router', consented: byUser, headless: false, launched: false });
  const { contract } = started.stored;
  if (!byUser && request.existing !== 'resume' && isAgreed(files, contract, hostSession(request.env), request.env)) {
    giveConsent(files, request.env, request.at);
  }
  return started;
}

function isDriven(files: LoopFiles, { env, existing, task }: RouterStart): boolean {
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') return false;
  const { state } = current;
  const mine = state.mode === 'router' && holdOf(state, hostSession(env)) === 'mine';
  if (!mine) return clientAlive(state);
  // Asked for by an agent and never begun: it may be asked for otherwise.
  if (existing === 'fresh' && state.status === 'awaiting-consent' && state.iteration === 0) {
    release(files, state.loopId);
    return false;
  }
  if (task === null || task === state.taskPath) return true;
  throw new RalphError('refused', ROUTER_TEXTS.anotherTask(state.taskPath, task));
}

/** Nobody's loop any more, so that it can be put into the archive. */
function release(files: LoopFiles, loopId: string): void {
  withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep', result: undefined };
    const next = { ...current.state, sessionId: null, clientPid: null, clientStartedAt: null };
    return { next, result: undefined };
  });
}
