import { iterations } from '../../engine/messages.ts';

export const LIVE_TEXTS = {
  started: (name: string | null, taskPath: string, most: number): string =>
    `ralph-loop: ${name === null ? 'The loop' : `Loop ${name}`} is working on ${taskPath}, up to ${iterations(most)}.`,
  iteration: (iteration: number, most: number, task?: string): string =>
    `─── Iteration ${iteration} of ${most}${task === undefined ? '' : ` │ ${task}`} ───`,
  border: (text: string): string => `─── ${text} ───`,
  verifying: (isClaimed: boolean): string =>
    `ralph-loop: ${isClaimed ? 'The agent claims completion' : 'The agent stopped without a claim'}; running the checks.`,
  youSaid: (text: string): string => `you: ${text}`,
  notSent: (text: string): string => `not sent: ${text}`,
  noWordYet: 'waiting for the agent',
  pending: { now: 'next tool call', next: 'next iteration' },
  tokens: (count: string): string => `${count} tokens`,
  context: (used: string): string => `context ${used}`,
  checklist: (done: number, total: number): string => `${done} of ${total}`,
  status: {
    interrupting: 'interrupting',
    stop: 'stops after this iteration',
    pause: 'pauses after this iteration',
    waiting: 'waiting',
  },
  /** A rule without parentheses applies to every call of a tool. */
  allow: (rule: string): string =>
    `  a, Enter: allow ${rule.includes('(') ? rule : `every call of ${rule}`} in this loop`,
  more: (count: number): string => `and ${count} more`,
  waiting: {
    idle: (left: string): string => `idle: wakes ${left}`,
    pace: (left: string): string => `next iteration ${left}`,
    'rate-limit': (left: string): string => `rate limit: continues ${left}`,
    retry: (left: string): string => `retrying ${left}`,
  },
  inTime: (left: string): string => `in ${left}`,
  due: 'now',
  hints: {
    work: 'Enter: tell the agent · Alt+Enter: next time · Esc: interrupt · Ctrl+C: stop',
    stopping: 'Enter: tell the agent · Esc: interrupt · Ctrl+C: cancel now',
    wait: 'Enter: continue now, or tell the agent · Ctrl+C: stop',
    paused: 'Enter: resume, with any message you typed · Ctrl+C: leave it paused',
    several: 'Tab: next loop · Enter: tell its agent · Esc: pause it · Ctrl+C: stop all',
    attached: 'Enter: tell the agent · Esc: pause · Ctrl+X: stop · Ctrl+C: leave',
    attachedPaused: 'Enter: resume · Ctrl+X: stop · Ctrl+C: leave',
  },
} as const;
