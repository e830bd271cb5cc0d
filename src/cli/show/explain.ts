import { unheard } from '../../drive/status/ended-loop.ts';
import { loopNames } from '../../drive/status/project-loops.ts';
import { driverLives } from '../../drive/turn/driver-context.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { listArchive } from '../../state/archive.ts';
import { readLines } from '../../state/files/journal-lines.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { instantText } from '../../term/figures.ts';
import { type AdvisedLoop, forLoop } from '../../term/for-loop.ts';
import { painter, printable } from '../../term/paint.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { chosenLoop, isTaskAt, liveLoopsOn, pathOrLoop } from '../live-loops.ts';
import { advisedEntry, journalLine } from './journal-line.ts';
import { lastEnded } from './last-ended.ts';
import { EXPLAIN_TEXTS, type Explained, explainEnd, explainLive } from './messages.ts';

export const EXPLAIN_COMMAND: Command = {
  name: 'explain',
  summary: 'Why the loop stopped, or what it waits for.',
  usage: '[PATH] [--loop NAME]',
  help: 'Says in plain words why the loop stopped or what it waits for, what led to it, and what to do next: from its state, its archive and its journal. PATH is the task folder or task file of the loop, live or over; without it and without --loop it is the only loop that is live, or else the one that ended last.',
  options: {},
  control: false,
  run(context) {
    const explanation = explain(explainedLoop(context));
    context.out(context.forPeople ? forReading(explanation, context) : JSON.stringify(explanation, null, 2));
    return 0;
  },
};

export interface Explanation {
  readonly active: boolean;
  /** null for the default loop. */
  readonly name: string | null;
  readonly status: string | null;
  readonly loopId: string | null;
  readonly iteration: number | null;
  /** When that happened, or since when it is so. */
  readonly at: string | null;
  readonly why: string;
  readonly next: string;
  /** What led to it, oldest first. */
  readonly events: readonly Readonly<Record<string, unknown>>[];
}

/** Events that say nothing about the why. */
const ROUTINE = new Set([
  'loop.started',
  'iteration.completed',
  'steering.delivered',
  'turn.released',
  'loop.archived-late',
]);
const MAX_EVENTS = 8;

function explain(files: LoopFiles): Explanation {
  const found = readState(files.state);
  switch (found.kind) {
    case 'loop':
      return explained(found.state, files);
    case 'four-keys': {
      const { iteration, lastRunAt } = found.file;
      const common = { active: true, name: files.name, status: 'running', loopId: null, iteration, at: lastRunAt };
      return { ...common, events: [], ...advised(EXPLAIN_TEXTS.fourKeys, { name: files.name, mode: 'hook' }) };
    }
    case 'newer':
      return unusable(EXPLAIN_TEXTS.newer(files.state), files);
    case 'corrupt':
      return unusable(EXPLAIN_TEXTS.corrupt(files.state, found.problem), files);
    case 'absent': {
      const last = listArchive(files)
        .reverse()
        .find(({ content }) => content.kind === 'loop');
      return last?.content.kind === 'loop'
        ? explained(last.content.state, files, true)
        : unusable(EXPLAIN_TEXTS.none, files);
    }
    default:
      return found satisfies never;
  }
}

function unusable(texts: Explained, files: LoopFiles): Explanation {
  const nothing = { status: null, loopId: null, iteration: null, at: null, events: [] };
  return { active: false, name: files.name, ...nothing, ...advised(texts, { name: files.name, mode: 'hook' }) };
}

function advised({ why, next }: Explained, loop: AdvisedLoop): Explained {
  return { why: forLoop(why, loop), next: forLoop(next, loop) };
}

function explained(state: LoopState, files: LoopFiles, archived = false): Explanation {
  const { loopId, iteration } = state;
  const { name } = files;
  const events = eventsOf(files, loopId).map((event) => advisedEntry(event, state));
  const common = { name, loopId, iteration, events };
  if (state.status === 'ended') {
    const { as, at, message } = state.ended;
    const before = events.filter((event) => event['type'] !== 'loop.ended' || event['at'] !== at);
    const { why, next } = explainEnd(as, message, state.ended.verified);
    const left = unheard(state);
    return {
      active: false,
      status: as,
      at,
      ...common,
      events: before,
      ...advised({ why: left === null ? why : `${why} Besides, ${left}`, next }, state),
    };
  }
  if (archived) {
    const texts = advised(EXPLAIN_TEXTS.putAway, state);
    return { active: false, status: state.status, at: state.lastRunAt, ...common, ...texts };
  }
  const texts = explainLive(state, driverLives(files, state));
  return { active: true, status: state.status, at: texts.at, ...common, ...advised(texts, state) };
}

/** The last telling events of this loop. */
function eventsOf(files: LoopFiles, loopId: string): Explanation['events'] {
  return readLines(files.events, 0, undefined, loopId)
    .entries.filter((entry) => entry['loopId'] === loopId && !ROUTINE.has(String(entry['type'])))
    .slice(-MAX_EVENTS);
}

function forReading(explanation: Explanation, { env, forPeople, now }: CommandContext): string {
  const paint = painter(forPeople, env);
  const { name, status, at, why, next, events, iteration } = explanation;
  const head =
    status === null
      ? printable(why)
      : `${name === null ? '' : `Loop ${name}: `}${paint('bold', status)}${iteration === null ? '' : ` after iteration ${iteration}`}${at === null ? '' : ` (${instantText(at, now())})`}: ${printable(why)}`;
  return [
    head,
    ...(events.length === 0 ? [] : ['', 'What led to it:', ...events.map((event) => `  ${journalLine(event, env)}`)]),
    '',
    `Next: ${next}`,
  ].join('\n');
}

/**
 * The loop that is to be explained: the live one that other commands would take, or else one that is over; the default
 * one where there has been none. Throws `usage` where several could be meant, `no-loop` where none worked on the path.
 */
export function explainedLoop(context: CommandContext): LoopFiles {
  const path = pathOrLoop(context, 'explain');
  if (path !== null && liveLoopsOn(context, path).length === 0) {
    const ended = endedLast(context, path);
    if (ended !== null) return ended;
    throw new RalphError('no-loop', `no loop has worked on ${path}. main.cjs list shows the loops of this project.`);
  }
  const files = chosenLoop(context, 'explain', path);
  if (path !== null || files.name !== null || readState(files.state).kind !== 'absent') return files;
  return endedLast(context, null) ?? files;
}

/** The loop of this project that ended last, on a path where one is given. */
function endedLast(context: CommandContext, path: string | null): LoopFiles | null {
  const { projectDir, env } = context;
  const [latest] = loopNames(projectDir, env)
    .map((name) => loopFiles(projectDir, name, env))
    .flatMap((files) => {
      const ended = lastEnded(files);
      return ended !== null && (path === null || isTaskAt(projectDir, ended.taskPath, path)) ? [{ files, ended }] : [];
    })
    .sort((a, b) => b.ended.endedAt.localeCompare(a.ended.endedAt));
  return latest?.files ?? null;
}
