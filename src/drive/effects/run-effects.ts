import type { CheckResult, Effect, EventOf } from '../../engine/events.ts';
import { planOf } from '../../engine/plan/attempt.ts';
import { timeReading, untilTimeUp } from '../../engine/policy/loop-time.ts';
import { lossIn, proveEvidence } from '../../state/evidence/evidence.ts';
import { readLoop } from '../../state/loop-files.ts';
import { redactRecord } from '../../text/redact/redact.ts';
import { examineAll } from '../control/examine-protected.ts';
import { changeList, PROTECTION_TEXTS } from '../control/messages.ts';
import { gatherEvidence, idleFingerprint } from '../prompt/gather-evidence.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { showIteration } from '../records/iteration-record.ts';
import { recordEvent } from '../records/journal.ts';
import { verificationStarted } from '../records/live-events.ts';
import { abortIfSuperseded } from '../turn/abort-if-superseded.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import type { TaskKind } from '../turn/task-kind.ts';
import type { Dispatched, Driver, Next, Step, Turn } from '../turn/turn.ts';
import { dispatch, handleAbort, isStep, pauseForLoss } from '../turn/turn.ts';
import { makePrompt, taskKindOf } from './make-prompt.ts';
import { protectionNotices } from './observe-turn.ts';

/** Runs effects, and those that follow, until the driver has an answer. The only switch over steps. */
export async function runEffects<Answer>(
  begun: Turn,
  driver: Driver<Answer>,
  decided: readonly Effect[],
): Promise<Answer> {
  let next: Next<Answer> = { turn: begun, effects: decided };
  while (!('answer' in next)) {
    const { turn, step } = applyAndNote(next.turn, next.effects);
    for (const effect of next.effects) if (effect.type === 'notify') driver.notify(turn, effect.message);
    if (driver.leave && turn.signal().aborted) return driver.leave(turn);
    try {
      next = await runStep(turn, driver, step);
    } catch (error) {
      next = pauseForLoss(turn, lossIn(error));
    }
  }
  return next.answer;
}

async function runStep<Answer>(turn: Turn, driver: Driver<Answer>, step: Step | undefined): Promise<Next<Answer>> {
  switch (step?.type) {
    case 'prompt': {
      const made = await makePrompt(turn, step, driver);
      return 'effects' in made ? made : driver.deliver(made.turn, made.prompt);
    }
    case 'wait': {
      const { state, policy } = turn.loaded;
      const why = (state.status === 'waiting' && state.waiting.why) || 'idle';
      const until = untilTimeUp(state, policy.budget, turn.context.now(), step.until);
      driver.tell(turn, { type: 'wait.started', why, until });
      return driver.wait({ ...turn, task: turn.task && { ...turn.task, waited: true } }, until);
    }
    case 'look':
      return look(turn);
    case 'verify':
      driver.tell(turn, verificationStarted(turn.loaded.state));
      return verify(turn);
    case 'allow':
    case 'ignore':
    case undefined:
      return driver.release(turn, step);
    default:
      return step satisfies never;
  }
}

function applyAndNote(
  turn: Turn,
  effects: readonly Effect[],
): { readonly turn: Turn; readonly step: Step | undefined } {
  const { files, now } = turn.context;
  applyEffects(files, now(), effects, turn.loaded.stored?.contract);
  const step = effects.find(isStep);
  if (turn.task === null) return { turn, step };
  const found = effects.find((effect) => effect.type === 'record-iteration');
  // Keep the record until verification has finished.
  const noted = found === undefined ? turn.task : { ...turn.task, record: found.record };
  // A claim belongs to its iteration, which is shown once the gate has decided.
  const task = step?.type === 'verify' ? noted : showIteration(files, noted, turn.loaded.state, now());
  return { turn: { ...turn, task }, step };
}

const CANCELLED: CheckResult = { name: 'checks', outcome: 'unavailable', detail: HOOK_TEXTS.checksGivenUp };

/** Verifies a claim outside the lock. An abort ends the checks and their whole process groups. */
async function verify(turn: Turn): Promise<Dispatched> {
  const { context, loaded, task } = turn;
  if (loaded.stored !== null && isClaimed(loaded)) proveEvidence(context.files, loaded.stored.contract);
  const kind = await taskKindOf(turn);
  const before = await restoreNow(turn, 'verification');
  const verified = await abortIfSuperseded(turn, async (ended) => {
    const { result: found, changed } = await verifyApart(turn, kind, ended);
    return { ...found, ...factsOfStart(turn, found.results, changed) };
  });
  // The checks ran code written by the agent.
  const after = await restoreNow(turn, 'checks');
  const said = [...before.effects, ...after.effects];
  if (verified === 'aborted') return following(said, handleAbort(turn));
  const at = context.now();
  // A sleep during the checks is noted on disk.
  const now = verified === 'superseded' ? (readLoop(context.files, loaded.state.loopId) ?? loaded.state) : null;
  const budget = now === null ? null : timeReading(now, loaded.policy.budget, at);
  if (budget !== null) return following(said, dispatch(turn, { type: 'budget-reached', at, budget, cut: 'checks' }));
  // Cancelled checks prove nothing if the loop returns to its claim.
  const proved = verified === 'superseded' ? { results: [CANCELLED] } : redactRecord(verified);
  // The verdict on a plan's task has already taken effect.
  const held = proved.plan === undefined ? [...before.held, ...after.held].slice(0, 1) : [];
  const facts = { ...proved, results: [...proved.results, ...held] };
  if (verified !== 'superseded') recordChecks(turn, facts.results);
  const noted: Turn = { ...turn, task: task && { ...task, gate: facts.results } };
  return following(said, dispatch(noted, { type: 'verified', at, ...facts }));
}

/** Returns whether something may be accepted: a plan's task that continues is only recorded, and no check runs. */
function isClaimed({ state, stored }: Turn['loaded']): boolean {
  return !stored?.contract.policy.plan || planOf(state).report?.said !== 'partial';
}

/** Verifies a claim, and says whether the agent had changed the project before; undefined if nothing depends on it. */
async function verifyApart(turn: Turn, kind: TaskKind, signal: AbortSignal) {
  const { files, env } = turn.context;
  const contract = turn.loaded.stored?.contract;
  const run = () => kind.verify({ ...turn, signal: () => signal });
  if (contract?.baseline === undefined) return { result: await run(), changed: undefined };
  const { apartFromWork } = await import('../prompt/project-change.ts');
  return apartFromWork(files, contract, { env, signal }, run, ({ results }) => allPassed(results));
}

function allPassed(results: readonly CheckResult[]): boolean {
  return results.every(({ outcome }) => outcome === 'ok');
}

/** Gathers what accepted results are compared with; an empty object for a loop whose baseline is unknown. */
function factsOfStart(
  { loaded }: Turn,
  results: readonly CheckResult[],
  changed: 'yes' | 'no' | undefined,
): Pick<EventOf<'verified'>, 'baseline' | 'changed'> {
  const baseline = loaded.stored?.contract.baseline;
  if (baseline === undefined || !allPassed(results)) return {};
  return { baseline, ...(changed && { changed }) };
}

/** Restores changed protected files and informs the user and the next prompt. What could not be restored holds the claim. */
async function restoreNow(
  turn: Turn,
  when: 'verification' | 'checks',
): Promise<{ readonly effects: readonly Effect[]; readonly held: readonly CheckResult[] }> {
  if (turn.loaded.stored === null || !isClaimed(turn.loaded)) return { effects: [], held: [] };
  const found = await examineAll(turn, when);
  const { unrestored = [] } = found ?? {};
  const detail = PROTECTION_TEXTS.fixed(changeList(unrestored, turn.context.files.projectDir));
  const held: CheckResult = { name: 'protected files', outcome: 'failed', detail };
  const effects = protectionNotices(found).flatMap((event) => dispatch(turn, event).effects);
  return { effects, held: unrestored.length === 0 ? [] : [held] };
}

function following(effects: readonly Effect[], next: Dispatched): Dispatched {
  return effects.length === 0 ? next : { ...next, effects: [...effects, ...next.effects] };
}

/** Number of bytes of a check's result in the event stream. */
const MOST_TAIL = 4 * 1024;

function recordChecks(
  { context: { files, now }, loaded: { state, stored } }: Turn,
  results: readonly CheckResult[],
): void {
  const { validation = [], task = null } = stored?.contract ?? {};
  const commands = [...(task?.commands ?? []), ...validation];
  const { loopId, iteration } = state;
  for (const { name, outcome, detail, tests } of results) {
    const run = commands.find((command) => command.name === name)?.run ?? null;
    const tail = endOf(detail);
    const event = {
      type: 'check.ran',
      at: now(),
      loopId,
      iteration,
      name,
      run,
      outcome,
      tail,
      ...(tests && { tests }),
    };
    recordEvent(files, now(), event);
  }
}

/** Returns the first line, which names what failed, and as much as fits of the end, which shows it. */
function endOf(detail: string): string {
  const whole = Buffer.from(detail);
  if (whole.length <= MOST_TAIL) return detail;
  const head = Buffer.from(`${detail.split('\n', 1)[0]}\n[…]\n`).subarray(0, MOST_TAIL / 2);
  return `${head}${whole.subarray(head.length - MOST_TAIL)}`.replaceAll('\uFFFD', '');
}

/** Compares the watched files and the output of the task's commands with those at the time of the idle report. */
async function look(turn: Turn): Promise<Dispatched> {
  const { context, loaded } = turn;
  const { files, env } = context;
  const { state, policy } = loaded;
  const contract = loaded.stored?.contract;
  const before = state.status === 'waiting' ? state.waiting.seen : null;
  const evidence = await abortIfSuperseded(turn, async (ended) =>
    contract ? gatherEvidence(files, contract, { signal: ended, env, iteration: state.iteration + 1 }) : [],
  );
  if (evidence === 'aborted') return handleAbort(turn);
  if (evidence === 'superseded')
    return dispatch(turn, { type: 'time-passed', at: context.now(), cause: 'elapsed', seen: null });
  const { watchFingerprint } = await import('../../task/progress/fingerprint.ts');
  const watched = watchFingerprint(files.projectDir, policy.idle?.watch ?? [], state.taskPath);
  const seen = idleFingerprint(watched, contract, evidence);
  const cause = before !== null && before !== seen ? 'changed' : 'quiet';
  return dispatch(turn, { type: 'time-passed', at: context.now(), cause, seen });
}
