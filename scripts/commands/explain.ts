import type { LoopState } from '../../src/core/schema/state.ts';
import { driverLives } from '../../src/drive/driver-lives.ts';
import { unheard } from '../../src/drive/unheard.ts';
import { listArchive } from '../../src/state/archive.ts';
import type { LoopFiles } from '../../src/state/loop-files.ts';
import { readLines } from '../../src/state/read-lines.ts';
import { readState } from '../../src/state/read-state.ts';
import { type AdvisedLoop, forLoop } from '../../src/term/for-loop.ts';
import { instantText } from '../../src/term/instant-text.ts';
import { painter } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import type { Command, CommandContext } from './command.ts';
import { EXPLAIN_TEXTS, type Explained, explainEnd, explainLive } from './explain-texts.ts';
import { explainedLoop } from './explained-loop.ts';
import { advisedEntry, journalLine } from './journal-line.ts';

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
