import { planKey } from '../../engine/plan/task-order.ts';
import { hostSession } from '../../hosts/claude/host-session.ts';
import { type LoopFiles, readContract, readState } from '../../state/loop-files.ts';
import { withState } from '../../state/with-state.ts';
import { about, RalphError } from '../../text/message.ts';
import { clientAlive } from '../control/ownership.ts';
import { giveConsent, pendingTerms } from '../start/live/consent.ts';
import type { Approved, StartedLoop, StartRequest } from '../start/stages.ts';
import { startLoop } from '../start/start-loop.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { holdOf } from './router.ts';
import { needsConsent } from './router-driver.ts';

/** Starts a router loop. Returns null, changing nothing, if the loop is already driven or has to be taken over. */
export function startRouter(approved: Approved): StartedLoop | null {
  const { request, files } = approved.prepared;
  if (isDriven(files, request)) return null;
  const started = startLoop(approved);
  const { contract } = started.stored;
  if (!request.consented && request.existing !== 'resume' && !needsConsent(files, contract))
    giveConsent(files, request.env, approved.at, pendingTerms(files), { by: null, baseline: null });
  return started;
}

/** Returns whether the loop is already driven or has to be taken over. Throws like `startRouter`. */
export function isDriven(files: LoopFiles, request: StartRequest): boolean {
  const { env, existing, task, consented } = request;
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') return false;
  const { state } = current;
  const hold = state.mode === 'router' ? holdOf(state, hostSession(env)) : null;
  // The user prepared the loop for the first session that asks, and may still change it.
  const ready = hold === 'free' && state.sessionId === null && existing === 'refuse' && !consented;
  if (hold === 'free' && state.sessionId !== null && existing === 'refuse')
    throw new RalphError('refused', about(ROUTER_TEXTS.interrupted(state.taskPath, state.iteration), state));
  // Only a person can tell whether a holder's client that is not visible from here has exited.
  if (hold === 'unseen' && !consented) return true;
  if (hold !== 'mine' && !ready) return clientAlive(state);
  // An agent's request that never began may be changed.
  if (existing === 'fresh' && state.status === 'awaiting-consent' && state.iteration === 0) {
    release(files, state.loopId);
    return false;
  }
  if (task !== null && task !== state.taskPath)
    throw new RalphError('refused', about(ROUTER_TEXTS.anotherTask(state.taskPath, task), state));
  // A repeated start finds the loop that it began, with no work done.
  const begun = existing === 'fresh' && state.iteration > 0 ? ['--fresh'] : [];
  const dropped = [...begun, ...droppedSettings(files, request)];
  if (dropped.length === 0) return true;
  throw new RalphError('refused', about(ROUTER_TEXTS.liveAlready(state.taskPath, dropped), state));
}

function droppedSettings(files: LoopFiles, { flags, args, tdd, plan = null }: StartRequest): string[] {
  const contract = readContract(files)?.contract;
  if (contract === undefined) return []; // the next call reports it
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

function release(files: LoopFiles, loopId: string): void {
  withState(files, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep', result: undefined };
    const next = { ...current.state, sessionId: null, clientPid: null, clientStartedAt: null };
    return { next, result: undefined };
  });
}
