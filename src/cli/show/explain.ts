import { isSuspended } from '../../drive/control/ownership.ts';
import { awaitedOfUser } from '../../drive/control/present-state.ts';
import { storedEnd } from '../../drive/status/end-report.ts';
import { undeliveredText } from '../../drive/status/ended-loop.ts';
import { describeLoop, type LoopReport, liveStatus, waitOf } from '../../drive/status/loop-report.ts';
import { noticeLines, type ShownNotice } from '../../engine/end-report.ts';
import { currentIteration } from '../../engine/messages.ts';
import type { Proof } from '../../engine/schema/proof.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Entry, isActivity, lastSeen, readStream } from '../../state/event-stream.ts';
import { type LoopFiles, noticesOf, type ReadState } from '../../state/loop-files.ts';
import { callHere, show } from '../../state/process/program.ts';
import { printable } from '../../term/format.ts';
import { statusWords } from '../../text/status-words.ts';
import { isBefore, localTime } from '../../text/time.ts';
import { chosenLoop, chosenRun, endedLast, liveLoopsOn, lostOn, noLoopOn, pathOrLoop } from '../choose-loop.ts';
import type { Command, CommandContext } from '../command.ts';
import { journalLine } from './journal-line.ts';
import { afterEnd, EXPLAIN_TEXTS, type Explained, explainLive } from './messages.ts';
import { explainRun } from './run-text.ts';

export const EXPLAIN_COMMAND: Command = {
  name: 'explain',
  usage: '[NAME | PATH] [--loop NAME]',
  help: 'Explains from the state, archive and journal of a loop why it stopped or what it is waiting for, and what to do next. PATH is the task folder or file of the loop, or a plan. Without NAME, PATH and --loop it explains the only live loop or run, or the one that ended last.',
  example: 'ralph-loop explain tasks/docs',
  run(context) {
    const chosen = chosenRun(context, pathOrLoop(context, 'explain'));
    if (chosen !== null) {
      const { run } = chosen;
      const { live: active, status, why, next } = run;
      const answer = { active, name: null, status, why, next, runs: [run] };
      context.answer(answer, () => explainRun(run, context.now(), context.paint));
      return 0;
    }
    const report = explainedLoop(context);
    const explanation = explain(report);
    context.answer(explanation, () => forReading(explanation, report.found, context));
    return 0;
  },
};

interface Explanation {
  readonly active: boolean;
  /** Null for the default loop. */
  readonly name: string | null;
  readonly status: string | null;
  readonly loopId: string | null;
  readonly iteration: number | null;
  /** Time of that event, or the start of the status; null if unknown. */
  readonly at: string | null;
  readonly why: string;
  readonly next: string;
  /** What a completion rests on; absent for any other status. */
  readonly proof?: Proof;
  /** Events that led to it, oldest first. */
  readonly events: readonly Readonly<Record<string, unknown>>[];
  /** Accepted changes, restored files and the like, oldest first. */
  readonly notices: readonly ShownNotice[];
}

/** Event types that explain nothing. */
const ROUTINE = new Set([
  'loop.started',
  'iteration.completed',
  'steering.delivered',
  'turn.released',
  'loop.archived-late',
]);
const MAX_EVENTS = 8;

export function explain(report: LoopReport): Explanation {
  const { files, found, lastState } = report;
  switch (found.kind) {
    case 'loop':
      return explained(found.state, report);
    case 'four-keys': {
      const { iteration, lastRunAt: at } = found.file;
      return { ...unusable(EXPLAIN_TEXTS.fourKeys, report), active: true, status: 'running', iteration, at };
    }
    case 'newer':
      return unusable(EXPLAIN_TEXTS.newer(files.state), report);
    case 'corrupt':
      return unusable(EXPLAIN_TEXTS.corrupt(files.state, found.problem, report.lost !== null), report);
    case 'absent':
      if (report.lost !== null) return unusable(EXPLAIN_TEXTS.lost(files.state, report.lost.iteration), report);
      return lastState === null ? unusable(EXPLAIN_TEXTS.none, report) : explained(lastState, report);
    default:
      return found satisfies never;
  }
}

function unusable(texts: Explained, { files: { name }, lost }: LoopReport): Explanation {
  const nothing = { status: null, loopId: null, iteration: null, at: null, events: [], notices: [] };
  const next = show(texts.next, { name, mode: lost?.mode ?? 'hook' });
  return { active: false, name, ...nothing, why: texts.why, next };
}

function explained(state: LoopState, { files, live }: Pick<LoopReport, 'files' | 'live'>): Explanation {
  const { loopId, iteration } = state;
  const { next, ...standing } = standingOf(files, state, live === null ? 'archived' : live.clientAlive);
  const events = explainingEvents(files, loopId)
    .slice(-MAX_EVENTS)
    .filter(({ type, at }) => state.status !== 'ended' || type !== 'loop.ended' || at !== standing.at);
  const active = live !== null && state.status !== 'ended';
  const notices = noticesOf(files, loopId);
  const last = notices.at(-1);
  const isUndone = last?.kind === 'undo' && state.status === 'ended' && !isBefore(last.at, state.ended.at);
  return {
    active,
    name: files.name,
    loopId,
    iteration,
    events,
    notices,
    next: show(isUndone ? EXPLAIN_TEXTS.undone : next, state),
    ...standing,
  };
}

function explainingEvents(files: LoopFiles, loopId: string): Entry[] {
  const events: Entry[] = [];
  const isWanted = (type: string): boolean => !isActivity(type) && !ROUTINE.has(type) && !type.startsWith('notice.');
  const take = (event: Entry): void => {
    if (event['type'] !== 'agent.ended' || event['outcome'] !== 'ok') events.push(event);
  };
  readStream(files, loopId, 0, take, isWanted);
  return events;
}

/** Returns a loop's status, its reason and the next step. `archived`: it was archived before its end. */
export function standingOf(
  files: LoopFiles,
  state: LoopState,
  driverAlive: boolean | null | 'archived',
): Explained & Pick<Explanation, 'proof'> & { readonly status: string; readonly at: string } {
  if (state.status === 'ended') {
    const { as, at, message, text: why = message, proof } = state.ended;
    const left = undeliveredText(state);
    const texts = {
      why: left === null ? why : `${why} ${left}`,
      next: afterEnd(state, storedEnd(files, state)?.report ?? null),
    };
    return { status: as, at, ...(proof && { proof }), ...texts };
  }
  const at = driverAlive === false ? lastSeen(files, state) : state.lastRunAt;
  if (driverAlive === 'archived') return { status: state.status, at, ...EXPLAIN_TEXTS.putAway };
  if (driverAlive === true && isSuspended(state)) return { status: state.status, at, ...EXPLAIN_TEXTS.suspended };
  const wait = driverAlive === false ? null : waitOf(files, state);
  if (wait !== null) return { status: state.status, at, ...EXPLAIN_TEXTS[wait.why](wait.until) };
  const awaited = driverAlive === false ? null : awaitedOfUser(state);
  if (awaited !== null) return { status: state.status, at, ...EXPLAIN_TEXTS[awaited] };
  const live = { status: liveStatus(state, driverAlive), ...explainLive(state, driverAlive) };
  return driverAlive === false ? { ...live, at } : live;
}

/** Names of events whose types alone are not plain enough. */
const EVENT_WORDS: Readonly<Record<string, string>> = {
  'operator.steer': 'you wrote',
  'operator.stop': 'you stopped it',
};

/** Returns an event named in words, such as "completion rejected", without fields for programs and the terms of a resumed loop. */
function inWords({ states: _, by: __, ...event }: Entry): Entry {
  const { type, at, why, status } = event;
  // An iteration has its own kind of line.
  if (typeof type !== 'string' || type === 'iteration.ended') return event;
  const all = typeof status === 'string' ? { ...event, status: statusWords(status) } : event;
  const told = type === 'loop.resumed' ? { at, why } : all;
  const words = type.replace(/^(?:loop|iteration|plan)\./, '').replaceAll(/[.-]/g, ' ');
  return { ...told, type: EVENT_WORDS[type] ?? words };
}

function forReading(explanation: Explanation, found: ReadState, { paint }: CommandContext): string {
  const { active, name, status, at, why, next, events, notices } = explanation;
  const loop = { name, mode: 'runner', ...callHere() } as const;
  // A later claim was accepted, so the findings of refused ones need no fix.
  const cut = status === 'complete' ? { loop, most: 0 } : { loop };
  const isLive = active && found.kind === 'loop' && found.state.status !== 'awaiting-consent';
  const when = isLive ? ` in iteration ${Math.max(1, currentIteration(found.state))}` : '';
  const head =
    status === null
      ? printable(why)
      : `${name === null ? 'The loop' : `Loop ${name}`}: ${paint('bold', statusWords(status))}${when}${at === null ? '' : ` (${localTime(at)})`}: ${printable(why)}`;
  return [
    head,
    ...(events.length === 0
      ? []
      : [
          '',
          'What led to it:',
          ...events.flatMap((event) => journalLine(inWords(event), paint, cut).split('\n')).map((line) => `  ${line}`),
        ]),
    ...(notices.length === 0 ? [] : ['', ...noticeLines(notices).map(printable)]),
    '',
    `Next: ${next}`,
  ].join('\n');
}

/** Describes the live loop that other commands would choose, or else an ended one. Throws `usage` or `no-loop`. */
function explainedLoop(context: CommandContext): LoopReport {
  const { env } = context;
  const path = pathOrLoop(context, 'explain');
  if (path !== null && liveLoopsOn(context, path).length === 0)
    return lostOn(context, path) ?? endedLast(context, path) ?? noLoopOn(context, path);
  const report = describeLoop(chosenLoop(context, 'explain', path), env);
  if (path !== null || report.files.name !== null || report.found.kind !== 'absent') return report;
  return endedLast(context, null) ?? report;
}
