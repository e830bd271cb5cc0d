import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect } from '../../engine/effects.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { completionText } from '../../engine/signals/signals.ts';
import type { Transition } from '../../engine/transitions/build.ts';
import type { Seldom } from '../../engine/transitions/iteration-ended.ts';
import { iterationEnded } from '../../engine/transitions/iteration-ended.ts';
import { findContract, type StoredContract } from '../../state/contract-store.ts';
import { regularFile } from '../../state/files/read-regular-file.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { underTombstone } from '../control/cancellation.ts';
import { recordJournal } from '../records/journal.ts';
import type { DriverContext } from '../turn/driver-context.ts';
import { ownership } from '../turn/driver-context.ts';
import { gatherIteration } from '../turn/gather-iteration.ts';
import { setBack } from '../turn/tampering.ts';
import { blockAnswer, type StopAnswer } from './answer-block.ts';

/** With everything around it still short enough for a reason. */
const SURELY_SHORT = 1_000;

type Quick = { readonly answer: StopAnswer | null };

/**
 * The Stop that comes again and again: an ordinary iteration is over, the task goes back. Everything else (a claim, an
 * idle wait, background work, a mended state, an end) answers `slow`, with nothing changed, and is decided by stop();
 * both are made of the same functions. It is apart because it is small: the file it comes in is loaded at every turn,
 * and has a few milliseconds.
 */
export function stopQuickly(context: DriverContext): Quick | 'slow' {
  const { files, input } = context;
  const text = input.lastMessage;
  if (text === null || text.includes('ralph:state') || input.backgroundTasks.some(({ running }) => running))
    return 'slow';
  const stored = findContract(files);
  if (typeof stored === 'string' || !stored.contract.consented || underTombstone(context)) return 'slow';
  const { task, tdd, policy } = stored.contract;
  if (task || tdd || policy.plan || policy.breaker.noProgress > 0) return 'slow';
  // The real number of open findings is shown beside the claimed one: reading the log is the slow way's.
  if (existsSync(join(files.projectDir, stored.contract.findingsLog))) return 'slow';
  const wanted = completionText(stored.contract.policy.completion);
  if (wanted !== null && text.includes(wanted)) return 'slow';
  const body = readBody(join(files.projectDir, stored.contract.taskPath), stored.contract.head);
  // An unknown client takes a long prompt only after a look into its transcript.
  const { clientVersion } = stored.contract;
  if (body === null || (clientVersion === null && body.length > SURELY_SHORT)) return 'slow';
  const decided = withState(
    files,
    { ...LOCK_WAIT, fromEngine: true },
    (current): { next: LoopState | 'keep'; result: Decided | 'slow' } => {
      if (current.kind !== 'loop' || !ordinary(current.state, context) || setBack(current.state, stored, files)) {
        return { next: 'keep', result: 'slow' };
      }
      return decide(context, current.state, stored);
    },
  );
  if (decided === 'slow') return 'slow';
  const { effects, state } = decided;
  recordJournal(files, context.now(), effects);
  const step = effects.find((effect): effect is Extract<Effect, { type: 'prompt' }> => effect.type === 'prompt');
  if (step === undefined) return { answer: null };
  const notes = effects.flatMap((effect) => (effect.type === 'notify' ? [effect.message] : []));
  return { answer: blockAnswer(context, { state, policy: stored.contract.policy }, step, body, notes, clientVersion) };
}

interface Decided {
  readonly state: LoopState;
  readonly effects: readonly Effect[];
}

const QUICK: readonly Effect['type'][] = ['prompt', 'ignore', 'notify', 'record-iteration', 'record-event'];

/** Stands for what is no part of this file: answers that are none of the quick ones, and so are never used. */
const slowly = (state: LoopState): Transition => ({ state, effects: [{ type: 'look' }] });
const SLOWLY: Seldom = {
  ...{ idle: slowly, pace: slowly, verify: slowly, interrupted: slowly, endBy: slowly },
  account: () => ({ warnings: [], failure: { as: 'error', message: '' }, progress: {} }),
};

function decide(
  context: DriverContext,
  state: Exclude<LoopState, { status: 'ended' }>,
  stored: StoredContract,
): { next: LoopState | 'keep'; result: Decided | 'slow' } {
  const { event, marks } = gatherIteration(context, state, stored, {
    text: context.input.lastMessage ?? '',
    origin: 'loop',
    seen: null,
    projectMark: null,
  });
  const decided = iterationEnded(state, event, stored.contract.policy, SLOWLY);
  if (!decided.effects.every(({ type }) => QUICK.includes(type))) return { next: 'keep', result: 'slow' };
  const ignored = decided.effects.some(({ type }) => type === 'ignore');
  if (ignored) return { next: 'keep', result: { state, effects: [] } };
  const next = { ...decided.state, marks };
  return { next, result: { state: next, effects: decided.effects } };
}

/** This session's own loop, running, with nothing asked of it. */
function ordinary(state: LoopState, context: DriverContext): state is Extract<LoopState, { status: 'running' }> {
  const { sessionId, promptId } = context.input;
  // Who began the turn of a prompt that the loop does not know is found out in the slow way.
  const known = promptId === null || state.promptId === null || promptId === state.promptId;
  return known && state.status === 'running' && state.sessionId === sessionId && ownership(state, context) === 'ours';
}

/** The task's body where the file still begins as it did at the start; null for whatever else it may be now. */
function readBody(path: string, head: string): string | null {
  try {
    const text = readFileSync(regularFile(path), 'utf8');
    if (!text.startsWith(head) || (head === '' && /^\ufeff?\s*(---|<!--)/.test(text))) return null;
    const body = text.slice(head.length);
    return body.trim() === '' ? null : body;
  } catch {
    return null; // missing or unreadable: the slow way says so
  }
}
