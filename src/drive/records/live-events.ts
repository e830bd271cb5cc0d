import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isUnjoined } from '../../engine/initial-state.ts';
import { billedTokens } from '../../engine/policy/budget.ts';
import { timeStopped } from '../../engine/policy/loop-time.ts';
import type { RunnerEvent, Tell } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { appendEvent, type Entry, readStream } from '../../state/event-stream.ts';
import { readRecord, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { type LoopFiles, log, readLoop } from '../../state/loop-files.ts';
import { redact, redactRecord } from '../../text/redact/redact.ts';

/** Events that are recorded as they are emitted; others are recorded elsewhere or only shown. */
const RECORDED: ReadonlySet<unknown> = new Set<RunnerEvent['type']>([
  ...(['iteration.started', 'command.started', 'command.ran', 'tool.started', 'tool.ended'] as const),
  ...(['agent.text', 'agent.usage', 'agent.checklist', 'agent.notice', 'agent.interrupting'] as const),
  ...(['agent.after-iteration', 'steering.pending', 'steering.sent'] as const),
  ...(['wait.started', 'verification.started', 'run.ended'] as const),
]);

/** Returns a listener that passes events on with secrets masked, and records them in the stream of this loop. */
export function recordLive(files: LoopFiles, { loopId, iteration }: LoopState, tell: Tell): Tell {
  let current = iteration;
  let failed = false;
  const hear = openText(files, loopId);
  return (told) => {
    // A piece of the agent's text is masked together with its line.
    const event = told.type === 'agent.text-delta' ? told : redactRecord(told);
    tell(event);
    if (event.type === 'iteration.started') current = event.begins - 1;
    if (failed) return;
    const at = new Date().toISOString();
    try {
      if (RECORDED.has(event.type)) appendEvent(files, { ...event, at, loopId, iteration: current });
      hear(event);
    } catch (error) {
      failed = true;
      log(files, at, 'journal', (error as Error).message);
    }
  };
}

export function loopStarted(state: LoopState) {
  const { loopId, name, taskPath, iteration, maxIterations, startedAt, usage } = state;
  const stoppedMs = timeStopped(state, new Date().toISOString());
  const { costUsd, costBaseUsd: _, ...tokens } = usage;
  const stands = { taskPath, iteration, maxIterations, startedAt, costUsd, usage: tokens };
  const stopped = stoppedMs > 0 && { stoppedMs };
  return { type: 'run.started', loopId, name, ...stands, ...stopped } as const satisfies RunnerEvent;
}

export function iterationStarted({ iteration, maxIterations, plan, usage }: LoopState) {
  const task = plan?.current && { task: `${plan.current.id}, ${plan.current.title}` };
  const isCostPartial = Boolean(usage.unpricedRuns);
  const spent = { tokens: billedTokens(usage), costUsd: usage.costUsd, isCostPartial };
  const begins = iteration + 1;
  return { type: 'iteration.started', begins, maxIterations, ...task, spent } as const satisfies RunnerEvent;
}

/** Returns a function that reads the loop's events since its last call, whichever process drives the loop. */
export function followLoop(files: LoopFiles, first: LoopState): () => readonly RunnerEvent[] {
  const { loopId, mode } = first;
  const news =
    mode === 'runner' ? withOpenText(files, loopId, runnerEvents(files, loopId)) : sessionEvents(files, loopId);
  let begun = false;
  return () => {
    const state = begun ? readLoop(files, loopId) : first;
    const start = begun ? [] : [loopStarted(first)];
    begun = true;
    return [...start, ...news(state)];
  };
}

type News = (state: LoopState | null) => readonly RunnerEvent[];

/** Size of the stream's end in which the current iteration began. */
const NEWEST_BYTES = 8 * 1024 * 1024;

function runnerEvents(files: LoopFiles, loopId: string): News {
  let next = Math.max(0, sizeOf(files) - NEWEST_BYTES);
  let begun = false;
  return () => {
    let events: RunnerEvent[] = [];
    next = readStream(files, loopId, next, (entry) => {
      const event = toldAs(entry);
      const isStart = event?.type === 'iteration.started' || entry['type'] === 'loop.resumed';
      if (isStart && !begun) events = [];
      if (event !== null) events.push(event);
    });
    begun = true;
    return events;
  };
}

/** Returns a runner's event; null for everything else. */
function toldAs({ v: _, at: __, loopId: ___, ...told }: Entry): RunnerEvent | null {
  const { type } = told;
  // A runner itself waits for a rate limit, and reports that wait.
  const isTold =
    RECORDED.has(type) || (type === 'loop.paused' && told['reason'] !== 'rate-limited') || type === 'agent.ended';
  return isTold ? (told as unknown as RunnerEvent) : null;
}

function sessionEvents(files: LoopFiles, loopId: string): News {
  let next = sizeOf(files);
  const calls = new Map<string, OpenCall>();
  let before = '';
  return (state) => {
    const done: RunnerEvent[] = [];
    next = readStream(files, loopId, next, (entry) => done.push(...eventOf(entry, calls)));
    const isWaiting = state !== null && isUnjoined(state);
    const key = JSON.stringify([state?.status, state?.iteration, isWaiting, state?.steering.map(({ id }) => id)]);
    if (state === null || key === before) return done;
    before = key;
    return [...done, ...standing(state)];
  };
}

function sizeOf({ events }: LoopFiles): number {
  return statSync(events, { throwIfNoEntry: false })?.size ?? 0;
}

/** Facts from the start of a call. */
interface OpenCall {
  readonly about: string;
  readonly time: number;
}

function eventOf(entry: Entry, calls: Map<string, OpenCall>): RunnerEvent[] {
  const { type, message } = entry;
  if (typeof entry['callId'] === 'string') return [callEvent(entry, entry['callId'], calls)];
  if (type === 'iteration.ended') return [iterationEnded(entry)];
  if (type === 'agent.text') return [{ type: 'agent.text', text: String(entry['text']) }];
  return type === 'loop.ended' || typeof message !== 'string' ? [] : [{ type: 'agent.notice', message }];
}

function callEvent(entry: Entry, id: string, calls: Map<string, OpenCall>): RunnerEvent {
  const time = Date.parse(String(entry['at']));
  const known = calls.get(id) ?? { about: String(entry['about'] ?? ''), time };
  const call = { id, tool: String(entry['tool']), about: known.about, nested: entry['agentId'] !== undefined };
  if (entry['type'] === 'tool.asked') {
    calls.set(id, known);
    return { type: 'tool.started', ...call };
  }
  if (entry['type'] !== 'tool.denied') calls.delete(id);
  const durationMs = Math.max(0, time - known.time);
  if (entry['type'] !== 'tool.denied')
    return { type: 'tool.ended', ...call, outcome: entry['type'] === 'tool.done' ? 'ok' : 'failed', durationMs };
  return { type: 'tool.ended', ...call, outcome: 'denied', durationMs, reason: String(entry['reason'] ?? '') };
}

function iterationEnded(entry: Entry): RunnerEvent {
  const unknown = { turns: null, toolCalls: null, model: null, costUsd: null, usage: null };
  const { iteration, durationMs } = entry;
  const ended = { iteration: Number(iteration), durationMs: Number(durationMs), outcome: 'ok', message: '' };
  return { type: 'agent.ended', ...ended, ...unknown };
}

/** Says that checks are running, and whether the agent has claimed completion. */
export function verificationStarted(state: LoopState): RunnerEvent {
  const isUnclaimed = state.status === 'verifying' && state.verifying.unclaimed === true;
  return { type: 'verification.started', ...(isUnclaimed && { unclaimed: true }) };
}

const UNJOINED =
  'No session has joined this loop yet. It begins once you start the client for it, or, for a router, enter /ralph-loop in a session.';

function standing(state: LoopState): RunnerEvent[] {
  const { steering } = state;
  const pending: RunnerEvent = { type: 'steering.pending', texts: steering };
  switch (state.status) {
    case 'running':
      if (isUnjoined(state)) return [pending, { type: 'agent.notice', message: UNJOINED }];
      return [iterationStarted(state), pending];
    case 'verifying':
      return [verificationStarted(state)];
    case 'waiting':
      return [pending, { type: 'wait.started', why: state.waiting.why ?? 'idle', until: state.waiting.until }];
    case 'paused':
      return [pending, { type: 'loop.paused', reason: state.paused.reason }];
    case 'awaiting-consent':
    case 'ended':
      return [];
    default:
      return state satisfies never;
  }
}

/** Milliseconds between two writes; a view reads as often. */
const WRITE_MS = 300;

interface Written {
  readonly loopId: string;
  readonly text: string;
}

/**
 * Keeps the text that the agent is writing for views in other processes, up to its last whole word and with secrets masked.
 * The event stream has only complete texts, each once. The returned function takes an event of the agent after it has been
 * recorded, and throws the system's error.
 */
export function openText(files: LoopFiles, loopId: string): (event: RunnerEvent) => void {
  let text = '';
  let writtenAt = 0;
  const add = (more: string): void => {
    text += more;
    if (Date.now() - writtenAt < WRITE_MS) return;
    writtenAt = Date.now();
    const whole = /^[\s\S]*\s/.exec(text)?.[0] ?? '';
    const written: Written = { loopId, text: redact(whole) };
    mkdirSync(dirname(files.openText), { recursive: true, mode: 0o700 });
    writeAtomically(files.openText, JSON.stringify(written), 0o600, 'nothing');
  };
  return (event) => {
    if (event.type === 'agent.text-delta') add(event.text);
    if ((event.type !== 'agent.text' && event.type !== 'agent.ended') || text === '') return;
    text = '';
    writtenAt = 0;
    removeIfThere(files.openText);
  };
}

/** Adds the agent's text, as it is being written, to a runner's events in another process; each piece comes once. */
export function withOpenText(files: LoopFiles, loopId: string, news: News): News {
  let shown = '';
  return (state) => {
    // Read before the stream, which then contains everything that preceded this text.
    const { text = '', loopId: of } = readRecord<Written>(files.openText) ?? {};
    let isOver = of !== loopId;
    const events = news(state).flatMap((event): RunnerEvent[] => {
      if (event.type !== 'agent.text' && event.type !== 'agent.ended') return [event];
      isOver = true;
      const rest = event.type === 'agent.text' ? restOf(event.text, shown) : '';
      shown = '';
      return event.type === 'agent.text'
        ? [
            { type: 'agent.text-delta', text: rest },
            { ...event, streamed: true },
          ]
        : [event];
    });
    if (isOver || !text.startsWith(shown) || text === shown) return events;
    const more: RunnerEvent = { type: 'agent.text-delta', text: text.slice(shown.length) };
    shown = text;
    return [...events, more];
  };
}

/** Returns the part of a text that was not shown yet: `shown` may begin with a message that was broken off. */
function restOf(text: string, shown: string): string {
  for (let at = 0; at < shown.length; at += 1) {
    if (text.startsWith(shown.slice(at))) return text.slice(shown.length - at);
  }
  return shown === '' ? text : `\n${text}`;
}
