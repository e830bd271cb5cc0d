import { rmSync } from 'node:fs';
import type { RunnerEvent, Tell } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { appendLine, readOn } from '../../state/files/journal-lines.ts';
import { log } from '../../state/log.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readLoop } from '../../state/read-state.ts';
import { redactRecord } from '../../text/redact/redact.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Returns a listener that also records the events for `attach`, without secrets; each run replaces the former one's. */
export function recordLive(files: LoopFiles, tell: Tell): Tell {
  rmSync(files.live, { force: true });
  let failed = false;
  return (event) => {
    tell(event);
    // The agent's words arrive again, whole.
    if (event.type === 'text-delta' || failed) return;
    try {
      appendLine(files.live, redactRecord(event));
    } catch (error) {
      failed = true;
      log(files, new Date().toISOString(), 'live', (error as Error).message);
    }
  };
}

export function loopStarted({ loopId, name, taskPath, iteration, maxIterations, startedAt, usage }: LoopState) {
  const { costUsd, costBaseUsd: _, ...tokens } = usage;
  const stands = { taskPath, iteration, maxIterations, startedAt, costUsd, usage: tokens };
  return { type: 'loop-started', loopId, name, ...stands } as const satisfies RunnerEvent;
}

/** Returns a function that reads what the loop has done since its last call, whichever process drives it. */
export function followLoop(files: LoopFiles, first: LoopState): () => readonly RunnerEvent[] {
  const news = first.mode === 'runner' ? runnerEvents(files) : sessionEvents(files, first.loopId);
  let begun = false;
  return () => {
    const state = begun ? readLoop(files, first.loopId) : first;
    const start = begun ? [] : [loopStarted(first)];
    begun = true;
    return [...start, ...news(state)];
  };
}

type News = (state: LoopState | null) => readonly RunnerEvent[];

function runnerEvents(files: LoopFiles): News {
  let next: number | null = null;
  return () => {
    const read = readOn(files.live, next ?? 0);
    const events = read.entries.filter((entry: Entry): entry is RunnerEvent => typeof entry['type'] === 'string');
    const current = next === null ? events.findLastIndex(({ type }) => type === 'iteration-started') : 0;
    next = read.next;
    return events.slice(Math.max(0, current)).filter(({ type }) => type !== 'loop-started');
  };
}

function sessionEvents(files: LoopFiles, loopId: string): News {
  const paths = [files.calls, files.events, files.iterations];
  const next = paths.map((path) => readOn(path, 0).next);
  const calls = new Map<string, number>();
  let before = '';
  return (state) => {
    const entries = paths.flatMap((path, index) => {
      const read = readOn(path, next[index] ?? 0);
      next[index] = read.next;
      return read.entries.filter((entry) => entry['loopId'] === loopId);
    });
    const at = (entry: Entry): string => String(entry['at'] ?? entry['endedAt']);
    const done = entries.sort((a, b) => at(a).localeCompare(at(b))).flatMap((entry) => eventOf(entry, calls));
    const key = JSON.stringify([state?.status, state?.iteration, state?.steering.map(({ id }) => id)]);
    if (state === null || key === before) return done;
    before = key;
    return [...done, ...standing(state)];
  };
}

function eventOf(entry: Entry, calls: Map<string, number>): RunnerEvent[] {
  if (typeof entry['callId'] === 'string') return [callEvent(entry, entry['callId'], calls)];
  if (typeof entry['decision'] === 'string') return [iterationEnded(entry)];
  const { type, message } = entry;
  return type === 'loop.ended' || typeof message !== 'string' ? [] : [{ type: 'notice', message }];
}

function callEvent(entry: Entry, id: string, calls: Map<string, number>): RunnerEvent {
  const call = { id, tool: String(entry['tool']), about: '', nested: entry['agentId'] !== undefined };
  const time = Date.parse(String(entry['at']));
  if (entry['phase'] === 'asked') {
    calls.set(id, time);
    return { type: 'tool-started', ...call };
  }
  const durationMs = Math.max(0, time - (calls.get(id) ?? time));
  calls.delete(id);
  return { type: 'tool-call', ...call, outcome: entry['phase'] === 'done' ? 'ok' : 'failed', durationMs };
}

function iterationEnded(entry: Entry): RunnerEvent {
  const unknown = { turns: null, toolCalls: null, model: null, costUsd: null, usage: null };
  const { iteration, durationMs } = entry;
  return {
    ...{
      type: 'agent-ended',
      iteration: Number(iteration),
      durationMs: Number(durationMs),
      outcome: 'ok',
      message: '',
    },
    ...unknown,
  };
}

function standing(state: LoopState): RunnerEvent[] {
  const { iteration, maxIterations, steering } = state;
  const pending: RunnerEvent = { type: 'pending', texts: steering };
  switch (state.status) {
    case 'running':
      return [{ type: 'iteration-started', iteration: iteration + 1, maxIterations }, pending];
    case 'verifying':
      return [{ type: 'verifying' }];
    case 'waiting':
      return [pending, { type: 'waiting', why: state.waiting.why ?? 'idle', until: state.waiting.until }];
    case 'paused':
      return [pending, { type: 'paused', reason: state.paused.reason }];
    case 'awaiting-consent':
    case 'ended':
      return [];
    default:
      return state satisfies never;
  }
}
