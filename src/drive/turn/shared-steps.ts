import type { Effect } from '../../engine/effects.ts';
import type { CheckResult } from '../../engine/events.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { BEAT_MS } from '../../state/task-folder/heartbeat.ts';
import { planContract } from '../plan/on-plan.ts';
import { gatherEvidence, seenBy } from '../prompt/gather-evidence.ts';
import { noteRecord, showIteration } from '../records/iteration-record.ts';
import { mirrorOf } from '../records/status-projection.ts';
import { unlessOvertaken } from './abort-if-superseded.ts';
import { carryOut } from './apply-effects.ts';
import { HOOK_TEXTS } from './messages.ts';
import { feed, isStep, type Step, type Turn, toldToGo } from './turn.ts';
import { waitOut } from './wait.ts';

/** Carries out what every driver does alike, and gives what is left for this one to do. */
export function carryOutAlike({ context, task, loaded }: Turn, effects: readonly Effect[]): Step | undefined {
  const { files, now } = context;
  carryOut(files, now(), effects);
  const step = effects.find(isStep);
  if (task) {
    noteRecord(task, effects);
    // A claim belongs to its iteration: that is shown once the gate has spoken.
    if (step?.type !== 'verify') showIteration(files, task, loaded.state, now());
  }
  return step;
}

export async function waitStep(turn: Turn, until: string): Promise<readonly Effect[]> {
  const { context, options, deadline, loaded } = turn;
  // Between two iterations a task that is edited is read when the delay is over, as ever.
  const pace = loaded.state.status === 'waiting' && loaded.state.waiting.why === 'pace';
  const shown = showAlive(turn);
  const end = await waitOut(context, {
    until: Date.parse(until),
    // What the next prompt tells has to be gathered within the same timeout.
    deadline: deadline - evidenceMs(loaded.stored?.contract),
    signal: options.signal,
    state: loaded.state,
    taskPath: pace ? null : loaded.state.taskPath,
  });
  clearInterval(shown);
  const at = context.now();
  if (end === 'aborted') return toldToGo(turn);
  const cause = end === 'state-changed' ? 'elapsed' : end;
  return feed(turn, { type: 'time-passed', at, cause, seen: null });
}

/** The most that a task folder's commands can take before a prompt. */
function evidenceMs(contract: Contract | undefined): number {
  return (contract?.task?.commands ?? []).reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds * 1000, 0);
}

/** A loop that sleeps is no dead one: its task folder says so every minute. */
function showAlive({ task, context }: Turn): NodeJS.Timeout | undefined {
  if (!task) return undefined;
  const { files, now } = context;
  return setInterval(() => mirrorOf(files, now(), task.contract).status(now()), BEAT_MS).unref();
}

/** Wake on change: compares what is watched, and what the commands show, with what it was when the agent said idle. */
export async function look(turn: Turn): Promise<readonly Effect[]> {
  const { context, options, loaded } = turn;
  const { idle } = loaded.policy;
  const { projectDir } = context.files;
  const contract = loaded.stored?.contract;
  const before = loaded.state.status === 'waiting' ? loaded.state.waiting.seen : null;
  const iteration = loaded.state.iteration + 1;
  const evidence = await unlessOvertaken(context.files, loaded.state, options.signal, async (signal) =>
    contract ? gatherEvidence(contract, projectDir, { signal, env: context.env, iteration }) : [],
  );
  if (evidence === 'aborted') return toldToGo(turn);
  if (evidence === 'overtaken') {
    return feed(turn, { type: 'time-passed', at: context.now(), cause: 'elapsed', seen: null });
  }
  const now = seenBy(
    options.work.watchFingerprint(projectDir, idle?.watch ?? [], loaded.state.taskPath),
    contract,
    evidence,
  );
  const cause = before !== null && before !== now ? 'changed' : 'quiet';
  return feed(turn, { type: 'time-passed', at: context.now(), cause, seen: now });
}

const GIVEN_UP: CheckResult = { name: 'checks', outcome: 'unavailable', detail: HOOK_TEXTS.checksGivenUp };

/** Runs the checks outside the lock; the client's signal ends them and their whole process groups. */
export async function verifyStep(turn: Turn): Promise<readonly Effect[]> {
  const plan = planContract(turn);
  if (plan !== null) return (await import('../plan/plan-steps.ts')).verifyPlanStep(turn, plan);
  const { context, options, loaded } = turn;
  const { files, env } = context;
  const { contractHash, iteration } = loaded.state;
  const checked = await unlessOvertaken(files, loaded.state, options.signal, (signal) =>
    options.work.runChecks(loaded.stored, files.projectDir, { signal, env, contractHash, iteration }),
  );
  if (checked === 'aborted') return toldToGo(turn);
  // What was given up proves nothing, should the loop be at its claim again.
  const results = checked === 'overtaken' ? [GIVEN_UP] : checked;
  if (turn.task) turn.task.gate = results;
  return feed(turn, { type: 'verified', at: context.now(), results });
}
