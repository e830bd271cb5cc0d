import { redact } from '../../text/redact/redact.ts';
import { elapsed } from '../../text/time.ts';
import type { Effect, EventOf } from '../events.ts';
import { misplacedText, nearMissText } from '../messages.ts';
import { repeatsOf } from '../policy/breaker.ts';
import type { Policy } from '../schema/contract.ts';
import type { IterationRecord } from '../schema/records.ts';
import type { CommonState, Failure, LoopState, StateOf } from '../schema/state.ts';
import { completionText, type Signals } from '../signals/signals.ts';
import type { Transition } from './build.ts';

export type Ended = EventOf<'iteration-ended'>;
export type Running = StateOf<'running'>;

/** Facts about a turn besides its count. */
export interface Account {
  readonly warnings: readonly string[];
  /** Failure that ends the loop; null if the loop continues. */
  readonly failure: Failure | null;
  readonly progress: Pick<CommonState, 'progressed' | 'unknownProgress' | 'checklist' | 'lastReflection'>;
}

/** Returns a counted iteration with its results for the next one: notices, progress and marks. */
export function noted(
  counted: Running,
  ended: Ended,
  policy: Policy,
  { completion, nearMiss }: Signals,
  { warnings, progress }: Account,
): Running {
  const wanted = completionText(policy.completion);
  return {
    ...counted,
    ...progress,
    lastRunAt: ended.at,
    lastWords: lastWords(ended.text, wanted),
    projectMark: ended.projectMark ?? counted.projectMark,
    notices: {
      ...counted.notices,
      misplacedSignal: wanted === null ? null : noticeOf(wanted, completion, nearMiss),
      warnings: [...counted.notices.warnings, ...warnings],
    },
  };
}

function noticeOf(wanted: string, completion: Signals['completion'], nearMiss: string | undefined): string | null {
  if (completion === 'misplaced') return misplacedText(wanted);
  return nearMiss === undefined ? null : nearMissText(nearMiss, wanted);
}

const MESSAGE_TAIL = 10_000;
const MOST_LINES = 5;
const LINE_LIMIT = 300;

/** Returns the last lines of a message, without secrets and the completion signal; none of an earlier iteration. */
function lastWords(text: string, signal: string | null): string[] {
  const lines = text
    .slice(-MESSAGE_TAIL)
    .split('\n')
    .map((line) => line.trimEnd());
  const said = lines.filter((line) => line.trim() !== '' && line.trim() !== signal).slice(-MOST_LINES);
  return said.map((line) => redact(line).slice(0, LINE_LIMIT));
}

/** Returns the verdict on an iteration, preceded by its record and its event. */
export function conclude(
  before: LoopState,
  state: Running,
  ended: Ended,
  signals: Signals,
  kind: IterationRecord['kind'],
  named: Effect,
  verdict: Transition,
): Transition {
  const startedAt = before.lastDecision?.at ?? before.startedAt;
  const decided = verdict.state;
  const record: IterationRecord = {
    loopId: state.loopId,
    iteration: state.iteration,
    idleIterations: state.idleIterations,
    kind,
    startedAt,
    endedAt: ended.at,
    durationMs: elapsed(startedAt, ended.at),
    findings: signals.findings,
    states: [...signals.states],
    claimed: signals.completion === 'claimed',
    toolCalls: ended.toolCalls,
    deniedCalls: ended.deniedCalls,
    outputTokens: ended.usage?.outputTokens ?? null,
    decision: decisionOf(decided),
    breaker: repeatsOf(state.breaker),
  };
  return { state: decided, effects: [{ type: 'record-iteration', record }, named, ...verdict.effects] };
}

/** Returns the states that an agent named, for the event; nothing if there are none. */
export function statesOf({ states }: Signals): { readonly states?: readonly string[] } {
  return states.length > 0 ? { states } : {};
}

/** Returns the recorded decision. A claim is recorded before its checks run; the events journal has their verdict. */
function decisionOf(decided: LoopState): string {
  if (decided.status === 'verifying') return decided.verifying.unclaimed ? 'checked' : 'claimed';
  return decided.status === 'ended' ? decided.ended.as : decided.status;
}
