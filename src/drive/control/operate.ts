import type { Effect, OperatorCommand } from '../../engine/events.ts';
import { adoptFourKeys } from '../../engine/initial-state.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { FourKeyState, LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { writeRecord } from '../../state/files/regular-file.ts';
import { type LoopFiles, orLogged, type ReadState, readContract, readState } from '../../state/loop-files.ts';
import { takeFlags } from '../../state/task-folder/run-files.ts';
import { withState } from '../../state/with-state.ts';
import { policyFromEnvironment } from '../../task/settings/from-environment.ts';
import { DEFAULT_TASK, runFilesOf } from '../../task/task-file.ts';
import { about, advise, offer, RalphError } from '../../text/message.ts';
import { applyRecorded, recordEffects } from '../records/apply-effects.ts';
import { usageNow } from '../records/client-figures.ts';
import { countedBy, projectionOf } from '../records/status-projection.ts';
import { FOUR_KEYS, NEWER_STATE } from './messages.ts';
import { clientAlive, isDriverAlive } from './ownership.ts';
import { withLostTurn } from './present-state.ts';
import type { restoreMidTurn } from './restore-protected.ts';

/** Person behind a command: the controlling terminal (null if there is none) and the ancestry of this process. */
export interface Person {
  readonly terminal: string | null;
  readonly processes: readonly string[];
}

export interface Operated {
  readonly before: LoopState;
  readonly after: LoopState;
}

/** Ends the loop after its iteration, or at once while it waits. */
export function stopCommand(state: LoopState): OperatorCommand {
  return { kind: 'stop', clientAlive: clientAlive(state) };
}

/** Ends a wait, also one for a rate limit, so that the loop continues now. */
export function continueNow({ status }: LoopState): OperatorCommand {
  return status === 'paused' ? { kind: 'resume', by: 'launcher' } : { kind: 'wake' };
}

interface OperateOptions {
  /** Recorded with the command. */
  readonly from?: Person | undefined;
  /** Restores protected files if the command ends a loop at work; a hook, which looks after each call, does not load it. */
  readonly restore?: typeof restoreMidTurn | undefined;
}

/** Dispatches the user's command to a live loop. Throws RalphError `no-loop` if there is none. */
export function operate(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  commandFor: (state: LoopState) => OperatorCommand,
  { from, restore }: OperateOptions = {},
): Operated {
  const done = withState<Operated & { readonly effects: readonly Effect[] }>(files, (current) => {
    if (current.kind !== 'loop') throw noLiveLoop(files, current.kind);
    const { state: before, effects: earlier } = withLostTurn(current.state);
    const command = commandFor(before);
    // A cancel works without a contract: it is the way out if the contract is unreadable.
    const stored = command.kind === 'cancel' ? null : readContract(files);
    const policy = stored?.contract.policy ?? policyFromEnvironment(env, files.projectDir).policy;
    const { loopId, sessionId, clientPid } = before;
    // The session may still be working: its next tool call is denied, which ends its turn.
    const mayWork = sessionId !== null && (clientPid === null || clientAlive(before));
    if (command.kind === 'cancel' && mayWork) writeRecord(files.cancellation, { loopId, sessionId });
    const { state, effects } = transition(before, { type: 'operator', at, command }, policy);
    const next = state.status === 'ended' ? { ...state, usage: usageNow(files, state) } : state;
    const sign = (effect: Effect): Effect =>
      effect.type === 'record-event' ? { ...effect, event: { ...effect.event, from } } : effect;
    const signed = from === undefined ? effects : effects.map(sign);
    // Under the lock, so that a hook that delivers a message records the delivery after the message.
    const written = (): void => recordEffects(files, at, [...earlier, ...signed]);
    return { next, result: { before, after: next, effects: signed }, written };
  });
  if (done.after.status === 'ended') {
    const isAlive = isDriverAlive(files, done.before);
    // Since its driver died, a user may have edited these files, as work of their own.
    if (isAlive === true) restore?.(files, done.before, { env, at });
    // The process that counted the last iteration is dead, so this one has to show it.
    if (isAlive === false) projectionOf(files, at).lost(countedBy(done.before));
  }
  applyRecorded(files, at, done.effects);
  return done;
}

/** Returns the loop of a four-key file, created by another program, with the settings of the environment. */
export function loopOfFourKeys(file: FourKeyState, { name, projectDir }: LoopFiles, env: NodeJS.ProcessEnv): LoopState {
  const { maxIterations } = policyFromEnvironment(env, projectDir).policy;
  return adoptFourKeys(file, { name, taskPath: DEFAULT_TASK, maxIterations });
}

/** Returns the error for a command that needs a live loop, if there is none or its state file is of another kind. */
export function noLiveLoop(files: LoopFiles, kind: ReadState['kind']): RalphError {
  if (kind === 'four-keys') return new RalphError('no-loop', FOUR_KEYS);
  const which = files.name === null ? '' : ` named ${files.name}`;
  if (kind === 'absent')
    return new RalphError('no-loop', advise(`there is no live loop${which} here.`, 'List the loops', 'list'));
  if (kind === 'newer') return new RalphError('state-newer', NEWER_STATE(files.state));
  const ways = { 'See why': 'status', 'Archive it': 'reset' };
  const unusable = offer(`the state file ${files.state} cannot be used (${kind}).`, ways);
  return new RalphError('no-loop', about(unusable, { name: files.name, mode: 'hook' }));
}

interface FlagsOf extends Pick<OperateOptions, 'restore'> {
  readonly isOurs: (state: LoopState) => boolean;
  /** No iteration is being decided, so one without a record is lost and shown as lost. */
  readonly isBetweenTurns?: boolean;
}

/** Applies the stop and cancel flags in the task folder of a live loop. Returns whether it was cancelled. */
export function applyFlagFiles(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  contract: Contract,
  { isOurs, isBetweenTurns = false, restore }: FlagsOf,
): boolean {
  const run = runFilesOf(files.projectDir, contract);
  if (run === null) return false;
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended' || !isOurs(current.state)) return false;
  const { stop = false, cancel = false } = orLogged(files, at, 'flags', () => takeFlags(run)) ?? {};
  if (cancel) {
    if (isBetweenTurns) projectionOf(files, at, contract).lost(countedBy(current.state));
    operate(files, env, at, () => ({ kind: 'cancel', flag: true }), { restore });
  } else if (stop) operate(files, env, at, () => ({ kind: 'stop', clientAlive: true, flag: true }));
  return cancel;
}
