import type { Effect } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { clientEnvironment, type HostSession, hostSession, OUTSIDE } from '../../hosts/claude/host-session.ts';
import { lastRecord, recordNotice } from '../../state/event-stream.ts';
import { contractOrLoss } from '../../state/evidence/evidence.ts';
import { writeRecord } from '../../state/files/regular-file.ts';
import { findContract, type LoopFiles, type ReadState, type StoredContract } from '../../state/loop-files.ts';
import { hasUnverifiedCompletion, isRewritten, replaceRewritten } from '../../state/restore-state.ts';
import { type Change, quarantine, withState } from '../../state/with-state.ts';
import { decidingEnvironment, withDeciding } from '../../task/commands/deciding-environment.ts';
import { policyFromEnvironment } from '../../task/settings/from-environment.ts';
import type { Message } from '../../text/message.ts';
import { FOUR_KEYS } from '../control/messages.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { announceWentBack, loadedUnder, newTurn } from '../turn/turn.ts';
import { ROUTER_TEXTS } from './messages.ts';
import type { Router, RouterOptions, StopAnswer, WaitAnswer } from './router.ts';
import { assignedSpawn, holdOf, withHolder } from './router.ts';
import { busy, over, pausedAnswer, trouble } from './router-driver.ts';

type Found = Change<{
  readonly answer: StopAnswer | WaitAnswer | null;
  readonly effects: readonly Effect[];
  readonly loop?: { readonly state: LoopState; readonly stored: StoredContract };
}>;

/** Opens this host's loop, taking over one whose holder has exited, or returns the answer instead. */
export function openRouter(files: LoopFiles, options: RouterOptions): Router | StopAnswer | WaitAnswer {
  const host = hostSession(options.env);
  const { answer, effects, loop } = withState(files, (current) => look(current, files, options, host));
  applyEffects(files, options.now(), effects);
  if (loop === undefined) return answer ?? over(files, options);
  const { state, stored } = loop;
  return {
    files,
    options,
    notes: effects.flatMap((effect) => (effect.type === 'notify' ? [effect.message] : [])),
    turn: newTurn({ files, env: checksEnvironment(options.env, host), now: options.now }, loadedUnder(stored, state), {
      signal: () => options.signal,
      lease: { loopId: state.loopId, epoch: state.epoch },
      keepsLoopOnAbort: true,
    }),
  };
}

/** Returns the environment of checks. The host is an agent, so its shell must not decide variables such as PATH. */
function checksEnvironment(env: NodeJS.ProcessEnv, host: HostSession): NodeJS.ProcessEnv {
  const own = clientEnvironment(host);
  return Object.keys(own).length === 0 ? env : withDeciding(env, decidingEnvironment(own));
}

function kept(answer: StopAnswer | null, effects: readonly Effect[] = []): Found {
  return { next: 'keep', result: { answer, effects } };
}

function look(current: ReadState, files: LoopFiles, options: RouterOptions, host: HostSession): Found {
  switch (current.kind) {
    case 'absent':
      return kept(over(files, options));
    case 'newer':
      return kept(trouble(files, HOOK_TEXTS.newer(files.state, current.version)));
    case 'corrupt': {
      const moved = quarantine(files, options.now(), 'corrupt');
      return kept(trouble(files, HOOK_TEXTS.corrupt(moved, current.problem, typeof findContract(files) === 'object')));
    }
    case 'four-keys':
      return kept(trouble(files, FOUR_KEYS));
    case 'loop':
      return lookAtLoop(current, files, options, host);
    default:
      return current satisfies never;
  }
}

function lookAtLoop(
  current: Extract<ReadState, { kind: 'loop' }>,
  files: LoopFiles,
  options: RouterOptions,
  host: HostSession,
): Found {
  const { state } = current;
  const hold = state.mode === 'router' ? holdOf(state, host) : 'theirs';
  if (hold === 'theirs' || hold === 'unseen') return kept(busy(files, state, hold));
  const { stored, lost } = contractOrLoss(files, state);
  if (lost !== null) return paused(state, files, options, lost);
  if (state.status === 'ended' && (stored === null || !hasUnverifiedCompletion(state))) {
    // The process that ended the loop died before archiving it.
    const { as } = state.ended;
    return kept(null, [{ type: 'archive', as, message: `${as}.` }]);
  }
  if (stored === null) return kept(trouble(files, HOOK_TEXTS.orphaned));
  const held = hold === 'mine' && state.sessionId === host.sessionId ? state : withHolder(state, host, hold);
  const effects: Effect[] = [];
  if (hold === 'free' && state.sessionId !== null) {
    const sameKind = !host.client && state.sessionId.startsWith(OUTSIDE);
    // Written before the state: after a crash, the next process finds the spawn with either the old or the new holder.
    const inHand = sameKind ? assignedSpawn(files, state) : null;
    if (inHand !== null) writeRecord(files.spawn, { ...inHand, epoch: held.epoch });
    const message = sameKind ? ROUTER_TEXTS.wentOn : ROUTER_TEXTS.tookOver;
    effects.push(takenOver(state, options, host), { type: 'notify', message });
  }
  const next = isRewritten(state, stored, lastRecord(files, state.loopId))
    ? restore(held, stored, files, options, host)
    : announceWentBack({ ...current, state: held }, options.now(), stored.contract.policy);
  effects.push(...next.effects);
  return { next: next.state, result: { answer: null, effects, loop: { state: next.state, stored } } };
}

/** Pauses a loop whose contract cannot be trusted. */
function paused(state: LoopState, files: LoopFiles, options: RouterOptions, message: Message): Found {
  const { now, env } = options;
  recordNotice(files, state, { at: now(), kind: 'evidence', text: message.text, key: message.text });
  const event = { type: 'suspended', at: now(), reason: 'evidence-lost', message } as const;
  const next = transition(state, event, policyFromEnvironment(env, files.projectDir).policy);
  const place = { files, options, notes: [], turn: { loaded: next } };
  return { next: next.state, result: { answer: pausedAnswer(place, message), effects: next.effects } };
}

function takenOver(state: LoopState, { now }: RouterOptions, host: HostSession): Effect {
  const { loopId, iteration, sessionId, clientPid } = state;
  const at = now();
  const from = { sessionId, clientPid };
  return { type: 'record-event', event: { type: 'loop.taken-over', at, loopId, iteration, from, by: host.sessionId } };
}

/** Restores a rewritten state and adds a warning for the user and the next prompt. Called under the lock. */
function restore(
  held: LoopState,
  stored: StoredContract,
  files: LoopFiles,
  options: RouterOptions,
  { sessionId, clientPid, clientStartedAt }: HostSession,
): { state: LoopState; effects: readonly Effect[] } {
  const at = options.now();
  const client = { sessionId, clientPid, clientStartedAt };
  const { state, moved } = replaceRewritten(files, stored, client, at, held.epoch);
  const restored: LoopState = { ...state, mode: 'router' };
  const warning = HOOK_TEXTS.restored(moved, restored.iteration);
  return transition(restored, { type: 'noticed', at, key: `restored ${at}`, warning }, stored.contract.policy);
}
