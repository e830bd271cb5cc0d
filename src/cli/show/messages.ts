import type { EndReport } from '../../engine/end-report.ts';
import { isFinishing, isUnjoined } from '../../engine/initial-state.ts';
import type { LoopState, StateOf, TerminalStatus } from '../../engine/schema/state.ts';
import { advise, type Message, offer } from '../../text/message.ts';
import { localTime } from '../../text/time.ts';

export interface Explained {
  readonly why: string;
  readonly next: Message | string;
}

export const EXPLAIN_TEXTS = {
  none: {
    why: 'No loop has run here.',
    next: offer('Describe a task in plain words, or write .claude/ralph/PROMPT.md.', {
      'Run the words': 'run "TASK"',
      'Start the file': 'start --launch',
    }),
  },
  lost: (path: string, iteration: number): Explained => ({
    why: `The state file ${path} is missing; its journal has ${iteration === 1 ? '1 iteration' : `${iteration} iterations`}.`,
    next: offer('Continue it or replace it.', { Resume: 'resume', 'Start over': 'restart' }),
  }),
  putAway: {
    why: 'This loop was archived before it ended, because a new one was started in its place.',
    next: advise('It can be resumed while no other loop is live here.', 'Resume', 'resume'),
  },
  suspended: { why: 'Its process is suspended, as by Ctrl+Z.', next: 'Type fg in its terminal.' },
  dialog: { why: 'Its agent is waiting for your answer.', next: 'Answer the question in its session.' },
  message: { why: 'It is waiting for a message in its session.', next: 'Send any message in the session.' },
  undone: advise('Nothing: its changes are undone.', 'Take that back', 'undo', { back: true }),
  fourKeys: {
    why: 'Another program wrote the state file; the loop continues when a session with RALPH_ACTIVE=1 ends its next turn.',
    next: offer('Nothing, while such a session runs.', { 'Otherwise resume': 'resume', 'Or archive it': 'reset' }),
  },
  retry: (at: string): Explained => ({
    why: `The last agent could not work; the next one starts at ${localTime(at)} at the earliest.`,
    next: 'Nothing; the next one starts by itself.',
  }),
  background: (until: string): Explained => ({
    why: `It waits for background work of its agent, until ${localTime(until)} at the latest.`,
    next: 'Nothing; it goes on by itself.',
  }),
  newer: (path: string): Explained => ({
    why: `The state file ${path} was written by a newer ralph-loop.`,
    next: 'Update this one.',
  }),
  corrupt: (path: string, problem: string, isKept: boolean): Explained => ({
    why: `The state file ${path} is corrupt: ${problem}.`,
    next: isKept
      ? offer('Its counters are in the journal.', { Resume: 'resume', 'Or archive the file': 'reset' })
      : advise('Archive the file, then start again.', 'Archive it', 'reset'),
  }),
} as const;

function resume(text: string): Message {
  return advise(text, 'Resume', 'resume');
}

const AFTER: Readonly<Record<Exclude<TerminalStatus, 'complete'>, Message | string>> = {
  stopped: resume('Continue when you like; the counters are kept.'),
  interrupted: resume('Continue when you like; the counters are kept.'),
  cancelled: resume('Review its unfinished work.'),
  'max-iterations': offer('See in the journals whether it made progress.', { 'Show them': 'logs', Resume: 'resume' }),
  'no-progress-exhaustion': resume('No iteration is known to have made progress. Make the task smaller or clearer.'),
  'circuit-open': resume('The iterations repeated themselves. Tell the agent what it missed, in the task file.'),
  'idle-limit': resume('There was nothing to do for as long as you allowed. Wait for work, or raise idle.max.'),
  'budget-exhausted': resume('It used what its budget allows.'),
  'rate-limited': resume('Wait until the limit has reset.'),
  blocked: resume('Remove what blocks the task, and "(blocked)" from the plan.'),
  'needs-verification': resume('Only manual work is left. Do it, and tick it off in the plan.'),
  'paused-for-review': resume('Review its work.'),
  timeout: resume('The iteration exceeded its timeout. Raise the timeout or make the task smaller.'),
  error: resume('Fix what the message names.'),
};

/** What a loop's own command does if it grants nothing more. */
const VERBS: Readonly<Record<string, string>> = { start: 'Continue', restart: 'Start over' };

/** Advises what to do after a loop has ended; `report` is null if none was stored. */
export function afterEnd(
  { ended: { as, verified, next }, plan }: StateOf<'ended'>,
  report: EndReport | null,
): Message | string {
  if (as !== 'complete') {
    const message = AFTER[as];
    if (next === undefined || typeof message === 'string') return message;
    const verb = VERBS[next.command] ?? (next.options && 'Grant more');
    if (verb === undefined) return message;
    const shown = (message.advice ?? []).filter(({ command }) => command === 'logs');
    return { text: message.text, advice: [...shown, { verb, ...next }] };
  }
  if (plan !== undefined) return 'Review the commits.';
  if (!verified)
    return 'Review the result: no check proves it. Next time, add one under "validation:" that fails until the task is done.';
  if (report?.committed === true) return 'Review the commits.';
  return report !== null && report.committed === undefined ? 'Review the result.' : 'Review the result and commit it.';
}

/** Explains what a live loop waits for. `clientAlive` is null while no client is bound. */
export function explainLive(
  state: Exclude<LoopState, { status: 'ended' }>,
  clientAlive: boolean | null,
): Explained & { readonly at: string } {
  if (clientAlive === false) {
    return {
      at: state.lastRunAt,
      why:
        state.mode === 'runner'
          ? 'Its runner has exited; no process is working on the loop.'
          : `Its client (process ${state.clientPid}) has exited; no process is working on the loop.`,
      next: offer('Continue it or replace it.', { Resume: 'resume', 'Archive it and start over': 'restart' }),
    };
  }
  switch (state.status) {
    case 'running':
      return { at: state.lastRunAt, ...running(state) };
    case 'verifying':
      return {
        at: state.verifying.since,
        why: 'The agent claims completion, and the checks are running.',
        next: 'Nothing; the loop ends if they pass, and otherwise the agent gets the reasons.',
      };
    case 'waiting': {
      if (state.waiting.why === 'pace') {
        return {
          at: state.waiting.since,
          why: `The task sets a delay between iterations; the next one begins at ${localTime(state.waiting.until)}.`,
          next: advise('Nothing.', 'Begin it now', 'wake'),
        };
      }
      const { consecutive } = state.idle;
      const idle = consecutive > 1 ? `has had nothing to do ${consecutive} times in a row` : 'has nothing to do';
      return {
        at: state.waiting.since,
        why: `The agent ${idle}; the loop wakes at ${localTime(state.waiting.until)}.`,
        next: offer('Nothing.', { 'Continue now': 'wake', 'Give it something to do': 'steer' }),
      };
    }
    case 'paused':
      return { at: state.paused.since, why: state.paused.text ?? state.paused.message, next: afterPause(state) };
    case 'awaiting-consent':
      return {
        at: state.startedAt,
        why: 'An agent requested this loop, and the user has not agreed yet.',
        next: offer('Decide in a terminal.', { Agree: 'consent', Refuse: 'cancel' }),
      };
    default:
      return state satisfies never;
  }
}

function running(state: LoopState): Explained {
  if (state.stopRequested) {
    return {
      why: 'The user stopped it; it finishes its iteration first.',
      next: advise('Nothing.', 'End it now', 'cancel'),
    };
  }
  if (isUnjoined(state)) {
    return {
      why: 'It was started, but no client has joined it yet.',
      next:
        state.mode === 'router'
          ? `In a Claude Code session of this project: /ralph-loop${state.name === null ? '' : ` ${state.name}`}`
          : advise('Start the client.', 'Launch it', 'start', { resume: true, launch: true }),
    };
  }
  return {
    why: `The agent is working on iteration ${state.iteration + 1} of ${state.maxIterations}.`,
    next: advise('Nothing.', 'Follow it', 'logs', { follow: true }),
  };
}

function afterPause(state: StateOf<'paused'>): Message {
  const { reason } = state.paused;
  const needsNoMessage = state.mode === 'runner' || isUnjoined(state) || isFinishing(state);
  const verb = needsNoMessage ? 'Resume' : 'Resume, then send any message in the session';
  switch (reason) {
    case 'operator':
    case 'interrupted':
      return advise('Continue when you like.', verb, 'resume');
    case 'rate-limited':
      return state.mode === 'runner'
        ? advise('Nothing; the run continues by itself.', 'Continue now', 'resume')
        : advise('Wait until the limit has reset.', verb, 'resume');
    case 'api-error':
      return advise('Fix what the message names.', verb, 'resume');
    case 'contract-changed':
      return offer('Decide about the change.', { 'Adopt it': 'accept', 'End the loop': 'cancel' });
    case 'evidence-lost':
      return offer('Check what the agent has changed.', {
        'Take the present state as a new start': 'resume',
        'End the loop': 'cancel',
      });
    default:
      return reason satisfies never;
  }
}
