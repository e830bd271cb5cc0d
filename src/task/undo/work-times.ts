import { readStream } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Precision of file times and of the events around a call. */
const MARGIN_MS = 2_000;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Types that end the work of an iteration, and with it every call in the background. */
const ENDS = /^(?:iteration\.|loop\.)/;

export interface WorkTimes {
  /** Returns whether the loop may have changed a file at a time (epoch milliseconds). */
  readonly isLoops: (at: number) => boolean;
  /** The latest such time, for a file without one; null if there was none. */
  readonly lastWork: number | null;
}

/**
 * Returns when a loop worked: during its agent's calls, its task's commands, and its checks and what follows them. An agent that
 * reports no calls may have changed a file at any time during an iteration.
 */
export function workTimes(files: LoopFiles, loopId: string, reportsCalls: boolean): WorkTimes {
  const spans: Span[] = [];
  const open = new Map<string, number>();
  const close = (key: string, to: number): void => {
    const from = open.get(key);
    open.delete(key);
    if (from !== undefined) spans.push({ from, to });
  };
  readStream(files, loopId, 0, (event) => {
    const at = Date.parse(String(event['at']));
    const type = String(event['type']);
    const call = `call ${event['callId']}`;
    if (ENDS.test(type))
      for (const key of [...open.keys()]) if (!key.startsWith('agent') || type !== 'iteration.started') close(key, at);
    if (type === 'tool.asked') open.set(call, at);
    else if (type === 'tool.failed' || (type === 'tool.done' && event['background'] !== true)) close(call, at);
    else if (type === 'tool.ended' || type === 'command.ran')
      spans.push({ from: at - Number(event['durationMs']), to: at });
    else if (type === 'verification.started' || type === 'check.started') open.set('checks', open.get('checks') ?? at);
    else if (type === 'iteration.started' && !reportsCalls) open.set('agent', at);
    else if (type === 'agent.ended') close('agent', at);
  });
  for (const key of [...open.keys()]) close(key, Date.now());
  const isLoops = (at: number): boolean => spans.some(({ from, to }) => at >= from - MARGIN_MS && at <= to + MARGIN_MS);
  return { isLoops, lastWork: spans.at(-1)?.to ?? null };
}
