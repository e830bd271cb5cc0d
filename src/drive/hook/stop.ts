import { setTimeout as sleep } from 'node:timers/promises';
import { begunBy, lastAssistantText, transcriptSize } from '../../claude/transcript/transcript.ts';
import type { Effect } from '../../engine/effects.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { findContract, type StoredContract } from '../../state/contract-store.ts';
import { readState } from '../../state/read-state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { clearTombstone, underTombstone } from '../control/cancellation.ts';
import { type Measured, measureIteration } from '../prompt/gather-evidence.ts';
import type { TaskTurn } from '../records/iteration-record.ts';
import { type CountedTurn, countTurn, takeFingerprints } from '../turn/count-turn.ts';
import { type DriverContext, ownership } from '../turn/driver-context.ts';
import type { TurnFacts } from '../turn/gather-iteration.ts';
import { loadLoop } from '../turn/load-loop.ts';
import { HOOK_TEXTS, said } from '../turn/messages.ts';
import type { Loaded, TurnOptions } from '../turn/turn.ts';
import { heedFlags } from './abort-stop.ts';
import type { StopAnswer } from './answer-block.ts';
import { carryOn } from './carry-on.ts';
import { waitForBackground } from './wait-for-background.ts';

/** Answer this long before the client's own timeout would kill the hook. */
const ANSWER_MARGIN_MS = 20_000;

/** Decides one Stop. Throws what went wrong with the disk; the caller lets the stop happen then. */
export async function stop(context: DriverContext, options: TurnOptions): Promise<StopAnswer | null> {
  const deadline = Date.now() + Math.max(1_000, options.timeoutMs - ANSWER_MARGIN_MS);
  const { files } = context;
  if (underTombstone(context)) {
    clearTombstone(files);
    return { systemMessage: said(HOOK_TEXTS.cancelledStop) };
  }
  const notes: string[] = [];
  const waited = await waitForBackground(context, options, deadline, notes);
  if (waited !== 'decide') return waited;
  // Whose loop it is shows under the lock; until then an unreadable contract is nobody's trouble.
  const found = findContract(files);
  const stored = typeof found === 'string' ? null : found;
  const cancelled = heedFlags(context, stored);
  if (cancelled !== null) return cancelled;
  const measured = await measureOwn(context, stored, options.signal);
  const fingerprints = takeFingerprints(context, options, stored, measured);
  const origin = await originOf(context, options.signal);
  const first = withState(files, LOCK_WAIT, (current): { next: LoopState | 'keep'; result: Decided } => {
    const loaded = loadLoop(current, context);
    if (loaded.kind === 'none') {
      const vanished =
        current.kind === 'absent' && stored !== null && stored.contract.loopId === context.env['RALPH_LOOP_ID'];
      const message = loaded.message ?? (vanished ? HOOK_TEXTS.vanished : null);
      return { next: 'keep', result: { loaded: null, message, effects: [] } };
    }
    const decided = decideFirst(context, loaded, { ...fingerprints, origin }, measured);
    const { state, effects, task } = decided;
    return { next: state, result: { loaded: { ...loaded, state }, message: null, effects, task } };
  });
  if (first.loaded === null) return first.message === null ? null : { systemMessage: said(first.message) };
  const { loaded, effects, task } = first;
  return carryOn({ context, options, deadline, notes, loaded, ...(task && { task }) }, effects);
}

interface Decided {
  readonly loaded: Loaded | null;
  readonly message: string | null;
  readonly effects: readonly Effect[];
  readonly task?: TaskTurn | null | undefined;
}

/** Only for this session's own loop: what it takes is not to be paid by others. */
async function measureOwn(
  context: DriverContext,
  stored: StoredContract | null,
  signal: AbortSignal,
): Promise<Measured | null> {
  if (!stored?.contract.task) return null;
  const current = readState(context.files.state);
  if (current.kind !== 'loop' || ownership(current.state, context) === 'foreign') return null;
  return measureIteration(context.files, stored.contract, { env: context.env, signal });
}

/** The first decision of a Stop, under the lock. */
function decideFirst(
  context: DriverContext,
  loaded: Loaded,
  facts: Pick<TurnFacts, 'seen' | 'projectMark' | 'origin'>,
  measured: Measured | null,
): Omit<CountedTurn, 'task'> & Partial<CountedTurn> {
  if (loaded.orphaned) {
    const message = HOOK_TEXTS.orphaned;
    const event = { type: 'suspended', at: context.now(), reason: 'contract-changed', message } as const;
    return transition(loaded.state, event, loaded.policy);
  }
  const { lastMessage, transcriptPath } = context.input;
  return countTurn(context, loaded, { ...facts, text: lastMessage ?? lastAssistantText(transcriptPath) }, measured);
}

/** The client writes what began a turn some time after it has called the Stop hook: now and then 0.2 s on a busy machine. */
const PATIENCE_MS = 500;
const LOOK_MS = 25;

/**
 * Whose words the turn that ended answers. A prompt that the loop does not know was announced to no hook: only the
 * transcript says whether it was a person's own command. Waits for the transcript to say it, and takes the prompt for
 * the loop's where it never does.
 */
export async function originOf({ input, files }: DriverContext, signal: AbortSignal): Promise<'user' | 'loop'> {
  const { promptId, transcriptPath } = input;
  const current = readState(files.state);
  const known = current.kind === 'loop' ? current.state.promptId : null;
  if (promptId === null || known === null || known === promptId) return 'loop';
  if (transcriptSize(transcriptPath) === null) return 'loop';
  for (let waited = 0; ; waited += LOOK_MS) {
    const by = begunBy(transcriptPath, promptId);
    if (by !== null) return by;
    if (waited >= PATIENCE_MS || signal.aborted) return 'loop';
    await sleep(LOOK_MS);
  }
}
