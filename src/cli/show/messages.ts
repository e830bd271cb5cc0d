import type { LoopState, StateOf, TerminalStatus } from '../../engine/schema/state.ts';

/** What `explain` says, in plain words: why it is so, and what to do next. */
export interface Explained {
  readonly why: string;
  readonly next: string;
}

export const EXPLAIN_TEXTS = {
  none: {
    why: 'There has been no loop here.',
    next: 'write the task into .claude/ralph/PROMPT.md and run .claude/ralph/ralph-audit.sh, or main.cjs start.',
  },
  putAway: {
    why: 'this loop was put into the archive before it ended, because a new one was started in its place.',
    next: 'main.cjs start --resume goes on with it, as long as no other loop is live here.',
  },
  fourKeys: {
    why: 'a state file with the four basic keys lies here; it goes on at the next Stop of a session with RALPH_ACTIVE=1.',
    next: 'nothing, while such a session runs. Otherwise main.cjs start --resume, or main.cjs reset to put it away.',
  },
  newer: (path: string): Explained => ({
    why: `the state file ${path} was written by a newer ralph-loop.`,
    next: 'update this one.',
  }),
  corrupt: (path: string, problem: string): Explained => ({
    why: `the state file ${path} cannot be used: ${problem}.`,
    next: 'main.cjs reset moves it into the archive, whole; then start again.',
  }),
} as const;

const RESUME = 'main.cjs start --resume goes on, with the counters kept.';

/** Why a loop is over. `message` is the engine's own word. */
export function explainEnd(as: TerminalStatus, message: string, verified: boolean): Explained {
  return { why: message, next: afterEnd(as, verified) };
}

function afterEnd(as: TerminalStatus, verified: boolean): string {
  switch (as) {
    case 'complete':
      return verified
        ? 'nothing; look at what it did, and commit it.'
        : 'look at the result yourself: nothing was checked. Name commands under "validation:" in the task file for the next time.';
    case 'stopped':
    case 'interrupted':
      return RESUME;
    case 'cancelled':
      return `look at what it left unfinished. ${RESUME}`;
    case 'max-iterations':
      return 'look at main.cjs logs whether it was getting anywhere. To grant more: main.cjs start --resume --max-iterations N.';
    case 'no-progress-exhaustion':
      return 'the iterations changed nothing. Make the task smaller or clearer, then main.cjs start --fresh.';
    case 'circuit-open':
      return `it was going round in circles. Read the evidence above, tell the agent what it missed (in the task file or guardrails.md), then: ${RESUME}`;
    case 'idle-limit':
      return 'there was nothing to do for as long as you allowed (idle.max). Start it again when there is, or raise idle.max.';
    case 'budget-exhausted':
      return `raise the budget in the task file's frontmatter. ${RESUME}`;
    case 'rate-limited':
      return `wait until the limit has reset. ${RESUME}`;
    case 'blocked':
      return 'a task that others depend on is blocked. Unblock it in the plan, then start again.';
    case 'needs-verification':
      return 'only manual work is left. Do it, tick it off in the plan, then start again.';
    case 'paused-for-review':
      return `review what it did. ${RESUME}`;
    case 'timeout':
      return `the iteration took longer than its timeout. Raise it or make the task smaller. ${RESUME}`;
    case 'error':
      return `mend what the message names. ${RESUME}`;
    default:
      return as satisfies never;
  }
}

/** What a live loop waits for. `clientAlive` is null while no client is bound. */
export function explainLive(
  state: Exclude<LoopState, { status: 'ended' }>,
  clientAlive: boolean | null,
): Explained & { readonly at: string } {
  if (clientAlive === false) {
    return {
      at: state.lastRunAt,
      why:
        state.mode === 'runner'
          ? 'its runner is gone, so nobody works on it.'
          : `its client (process ${state.clientPid}) is gone, so nobody works on it.`,
      next: `${RESUME} main.cjs start --fresh puts it away and begins anew.`,
    };
  }
  switch (state.status) {
    case 'running':
      return { at: state.lastRunAt, ...running(state, clientAlive) };
    case 'verifying':
      return {
        at: state.verifying.since,
        why: 'the agent says that it is done, and the checks are running.',
        next: 'nothing; the loop ends when they pass, and goes on with their reasons when not.',
      };
    case 'waiting':
      if (state.waiting.why === 'pace') {
        return {
          at: state.waiting.since,
          why: `the task asks for a delay between two iterations; the next one begins at ${state.waiting.until}.`,
          next: 'nothing, or main.cjs wake to begin it now.',
        };
      }
      return {
        at: state.waiting.since,
        why: `the agent has nothing to do (${state.idle.consecutive} times in a row); the next look is at ${state.waiting.until}.`,
        next: 'nothing, or main.cjs wake to go on now, main.cjs steer "TEXT" to give it something to do.',
      };
    case 'paused':
      return { at: state.paused.since, why: state.paused.message, next: afterPause(state) };
    case 'awaiting-consent':
      return {
        at: state.startedAt,
        why: 'an agent asked for this loop, and the user has not agreed yet.',
        next: `main.cjs ${state.mode === 'runner' ? 'run' : 'start'} --consent in a terminal agrees; main.cjs cancel refuses.`,
      };
    default:
      return state satisfies never;
  }
}

function running(state: LoopState, clientAlive: boolean | null): Explained {
  if (state.stopRequested) {
    return {
      why: 'it was told to stop, and finishes its iteration first.',
      next: 'nothing; main.cjs cancel ends it now.',
    };
  }
  if (clientAlive === null && state.mode === 'hook') {
    return {
      why: 'it was started, and no client has taken it up yet.',
      next: 'start the client: .claude/ralph/ralph-audit.sh --resume, or main.cjs start --resume --launch.',
    };
  }
  return {
    why: `the agent works on iteration ${state.iteration + 1} of ${state.maxIterations}.`,
    next: 'nothing; main.cjs logs --follow shows what happens.',
  };
}

function afterPause({ paused: { reason }, mode }: StateOf<'paused'>): string {
  const resume =
    mode === 'runner'
      ? 'main.cjs resume, and its runner goes on.'
      : 'main.cjs resume, then send any message in the session.';
  switch (reason) {
    case 'operator':
    case 'interrupted':
      return resume;
    case 'rate-limited':
      return `wait until the limit has reset; then ${resume}`;
    case 'api-error':
      return `mend what the message names; then ${resume}`;
    case 'contract-changed':
      return 'main.cjs accept adopts what has changed; main.cjs cancel ends the loop.';
    default:
      return reason satisfies never;
  }
}
