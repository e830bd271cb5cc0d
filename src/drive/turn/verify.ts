import type { CheckResult } from '../../engine/events.ts';
import { gatherEvidence, idleFingerprint } from '../prompt/gather-evidence.ts';
import { abortIfSuperseded } from './abort-if-superseded.ts';
import { dispatch, handleAbort } from './dispatch.ts';
import { taskKindOf } from './make-prompt.ts';
import { HOOK_TEXTS } from './messages.ts';
import type { Dispatched, Turn } from './turn.ts';

const CANCELLED: CheckResult = { name: 'checks', outcome: 'unavailable', detail: HOOK_TEXTS.checksGivenUp };

/** Verifies a claim outside the lock. An abort ends the checks and their whole process groups. */
export async function verify(turn: Turn): Promise<Dispatched> {
  const { context, loaded, signal, task } = turn;
  const kind = await taskKindOf(turn);
  const verified = await abortIfSuperseded(context.files, loaded.state, signal, (ended) =>
    kind.verify({ ...turn, signal: ended }),
  );
  if (verified === 'aborted') return handleAbort(turn);
  // Cancelled checks prove nothing, should the loop be at its claim again.
  const facts = verified === 'superseded' ? { results: [CANCELLED] } : verified;
  const noted: Turn = { ...turn, task: task && { ...task, gate: facts.results } };
  return dispatch(noted, { type: 'verified', at: context.now(), ...facts });
}

/** Compares the watched files and the output of the task's commands with those at the time of the idle report. */
export async function look(turn: Turn): Promise<Dispatched> {
  const { context, loaded, signal } = turn;
  const { files, env } = context;
  const { state, policy } = loaded;
  const contract = loaded.stored?.contract;
  const before = state.status === 'waiting' ? state.waiting.seen : null;
  const evidence = await abortIfSuperseded(files, state, signal, async (ended) =>
    contract ? gatherEvidence(contract, files.projectDir, { signal: ended, env, iteration: state.iteration + 1 }) : [],
  );
  if (evidence === 'aborted') return handleAbort(turn);
  if (evidence === 'superseded') {
    return dispatch(turn, { type: 'time-passed', at: context.now(), cause: 'elapsed', seen: null });
  }
  const { watchFingerprint } = await import('../../task/progress/fingerprint.ts');
  const watched = watchFingerprint(files.projectDir, policy.idle?.watch ?? [], state.taskPath);
  const seen = idleFingerprint(watched, contract, evidence);
  const cause = before !== null && before !== seen ? 'changed' : 'quiet';
  return dispatch(turn, { type: 'time-passed', at: context.now(), cause, seen });
}
