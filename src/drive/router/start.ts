import { hostSession } from '../../claude/host-session.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import { readContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { giveConsent, pendingTerms } from '../start/consent.ts';
import type { StartRequest } from '../start/prepare-contract.ts';
import { type StartedLoop, startLoop } from '../start/start-loop.ts';
import { clientAlive } from '../turn/ownership.ts';
import { holdOf } from './holder.ts';
import { inRouter, ROUTER_TEXTS } from './messages.ts';
import { needsConsent } from './status-answers.ts';

export interface RouterStart extends Omit<StartRequest, 'mode' | 'consented' | 'headless' | 'launched'> {
  /** A person at a terminal of their own; what an agent starts, they may have to agree to. */
  readonly byUser: boolean;
}

/**
 * Starts a router loop, unless this host drives one on the task already or is to take up the one that lies ready, or
 * somebody else drives the loop that lies here: then nothing changes, and the answer is null: whoever asks what to do
 * next is told. A loop that an agent starts awaits consent if there is anything to agree to, as does
 * whatever an agent resumes. Throws RalphError with every problem at once, and where this host's own loop would have to
 * be another than it is.
 */
export function startRouter(files: LoopFiles, request: RouterStart): StartedLoop | null {
  if (isDriven(files, request)) return null;
  const { byUser, ...rest } = request;
  const started = startLoop({ ...rest, mode: 'router', consented: byUser, headless: false, launched: false });
  const { contract } = started.stored;
  if (!byUser && request.existing !== 'resume' && !needsConsent(files, contract)) {
    giveConsent(files, request.env, request.at, pendingTerms(files));
  }
  return started;
}

/**
 * Whether a start begins nothing, because the loop that lies here is driven already or is to be taken up; what stands
 * against beginning one does not matter then. Throws as `startRouter` does.
 */
export function isDriven(files: LoopFiles, request: RouterStart): boolean {
  const { env, existing, task, byUser } = request;
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') return false;
  const { state } = current;
  const hold = state.mode === 'router' ? holdOf(state, hostSession(env)) : null;
  // What a user has made ready for the first session that asks; they themselves may ask for it otherwise.
  const ready = hold === 'free' && state.sessionId === null && existing === 'refuse' && !byUser;
  if (hold === 'free' && state.sessionId !== null && existing === 'refuse') {
    throw new RalphError('refused', inRouter(ROUTER_TEXTS.lies(state.taskPath, state.iteration), files.name));
  }
  if (hold !== 'mine' && !ready) return clientAlive(state);
  // Asked for by an agent and never begun: it may be asked for otherwise.
  if (existing === 'fresh' && state.status === 'awaiting-consent' && state.iteration === 0) {
    release(files, state.loopId);
    return false;
  }
  if (task !== null && task !== state.taskPath) {
    throw new RalphError('refused', ROUTER_TEXTS.anotherTask(state.taskPath, task));
  }
  // A start that is made again finds the loop that it began, and no work done.
  const begun = existing === 'fresh' && state.iteration > 0 ? ['--fresh'] : [];
  const dropped = [...begun, ...unheard(files, request)];
  if (dropped.length === 0) return true;
  throw new RalphError('refused', ROUTER_TEXTS.liveAlready(state.taskPath, dropped));
}

/** What a start asks for that the live loop was not begun with, so that nobody believes it was heard. */
function unheard(files: LoopFiles, { flags, args, tdd, plan = null }: RouterStart): string[] {
  const contract = readContract(files)?.contract;
  if (contract === undefined) return []; // whoever asks what to do next is told
  const differ = (given: Readonly<Record<string, unknown>>, stands: Readonly<Record<string, unknown>>): string[] =>
    Object.keys(given).filter((key) => String(given[key]) !== String(stands[key]));
  const asTdd = tdd === true && contract.tdd === undefined ? ['--tdd'] : [];
  const stands = contract.policy.plan ?? null;
  const asPlan = plan !== null && stands === null ? ['--plan'] : [];
  const isOther = stands !== null && plan?.from != null && planKey(plan.from) !== planKey(stands.from ?? '');
  const from = isOther ? ['--from'] : [];
  return [
    ...asPlan,
    ...from,
    ...differ(flags, contract.flags),
    ...differ(args ?? {}, contract.task?.args ?? {}),
    ...asTdd,
  ];
}

/** Nobody's loop any more, so that it can be put into the archive. */
function release(files: LoopFiles, loopId: string): void {
  withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep', result: undefined };
    const next = { ...current.state, sessionId: null, clientPid: null, clientStartedAt: null };
    return { next, result: undefined };
  });
}
