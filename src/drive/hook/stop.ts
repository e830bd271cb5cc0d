import { begunByUser, lastAssistantText } from '../../claude/transcript.ts';
import { digest } from '../../core/digest.ts';
import type { Effect } from '../../core/effects.ts';
import type { EngineEvent } from '../../core/events.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { transition } from '../../core/transition.ts';
import { findContract, type StoredContract } from '../../state/contract-store.ts';
import { withState } from '../../state/with-state.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { HOOK_TEXTS, said } from '../texts.ts';
import type { StopAnswer } from './answer-block.ts';
import { carryOn, type Loaded, type StopOptions } from './carry-on.ts';
import type { HookContext } from './context.ts';
import { gatherIteration, type TurnFacts } from './gather-iteration.ts';
import { loadLoop } from './load-loop.ts';
import { readTask } from './read-task.ts';
import { clearTombstone, underTombstone } from './tombstone.ts';
import { waitForBackground } from './wait-for-background.ts';

/** Answer this long before the client's own timeout would kill the hook. */
const ANSWER_MARGIN_MS = 20_000;

/** Decides one Stop. Throws what went wrong with the disk; the caller lets the stop happen then. */
export async function stop(context: HookContext, options: StopOptions): Promise<StopAnswer | null> {
  const deadline = Date.now() + Math.max(1_000, options.timeoutMs - ANSWER_MARGIN_MS);
  const { files } = context;
  if (underTombstone(context)) {
    clearTombstone(files);
    return { systemMessage: said(HOOK_TEXTS.cancelledStop) };
  }
  const waited = await waitForBackground(context, options, deadline);
  if (waited !== 'decide') return waited;
  // Whose loop it is shows under the lock; until then an unreadable contract is nobody's trouble.
  const found = findContract(files);
  const stored = typeof found === 'string' ? null : found;
  const fingerprints = takeFingerprints(context, options, stored);
  const first = withState(files, LOCK_WAIT, (current): { next: LoopState | 'keep'; result: Decided } => {
    const loaded = loadLoop(current, context);
    if (loaded.kind === 'none') {
      const vanished =
        current.kind === 'absent' && stored !== null && stored.contract.loopId === context.env['RALPH_LOOP_ID'];
      const message = loaded.message ?? (vanished ? HOOK_TEXTS.vanished : null);
      return { next: 'keep', result: { loaded: null, message, effects: [] } };
    }
    const decided = decideFirst(context, loaded, fingerprints);
    return {
      next: decided.state,
      result: { loaded: { ...loaded, state: decided.state }, message: null, effects: decided.effects },
    };
  });
  if (first.loaded === null) return first.message === null ? null : { systemMessage: said(first.message) };
  return carryOn({ context, options, deadline, notes: [], loaded: first.loaded }, first.effects);
}

interface Decided {
  readonly loaded: Loaded | null;
  readonly message: string | null;
  readonly effects: readonly Effect[];
}

/** The first decision of a Stop, under the lock: notices that are due, then the iteration itself. */
function decideFirst(
  context: HookContext,
  loaded: Loaded,
  fingerprints: Pick<TurnFacts, 'seen' | 'projectMark'>,
): { state: LoopState; effects: readonly Effect[] } {
  const { policy, stored } = loaded;
  const at = context.now();
  if (loaded.orphaned) {
    const message = HOOK_TEXTS.orphaned;
    return transition(loaded.state, { type: 'suspended', at, reason: 'contract-changed', message }, policy);
  }
  let { state } = loaded;
  const effects: Effect[] = [];
  for (const event of notices(context, loaded)) {
    const told = transition(state, event, policy);
    state = told.state;
    effects.push(...told.effects);
  }
  const { lastMessage, promptId, transcriptPath } = context.input;
  const unknownPrompt = promptId !== null && state.promptId !== null && promptId !== state.promptId;
  const { event, marks } = gatherIteration(context, state, stored, {
    ...fingerprints,
    text: lastMessage ?? lastAssistantText(transcriptPath),
    origin: unknownPrompt && begunByUser(transcriptPath, promptId) ? 'user' : 'loop',
  });
  const decided = transition(state, event, policy);
  const ignored = decided.effects.some(({ type }) => type === 'ignore');
  return ignored
    ? { state, effects: [...effects, ...decided.effects] }
    : { state: { ...decided.state, marks }, effects: [...effects, ...decided.effects] };
}

function notices(context: HookContext, { state, stored, mended }: Loaded): EngineEvent[] {
  const at = context.now();
  const events: EngineEvent[] = [];
  if (mended !== null) events.push({ type: 'noticed', at, key: `mended ${at}`, warning: mended });
  if (stored === null) return events;
  const task = readTask(context.files.projectDir, state.taskPath);
  if (task !== null && task.frontmatter !== stored.contract.frontmatter) {
    const warning = HOOK_TEXTS.frontmatterChanged(state.taskPath);
    events.push({ type: 'noticed', at, key: `frontmatter ${digest(task.frontmatter)}`, warning });
  }
  return events;
}

function takeFingerprints(
  context: HookContext,
  options: StopOptions,
  stored: StoredContract | null,
): Pick<TurnFacts, 'seen' | 'projectMark'> {
  const policy = stored?.contract.policy;
  const { projectDir } = context.files;
  const says = context.input.lastMessage ?? 'ralph:state';
  const watch = policy?.idle?.wake === 'change' && says.includes('ralph:state') ? policy.idle.watch : null;
  const marks = (policy?.breaker.noProgress ?? 0) > 0;
  return {
    seen: watch === null ? null : options.work.watchFingerprint(projectDir, watch, stored?.contract.taskPath ?? ''),
    projectMark: marks ? options.work.projectFingerprint(projectDir) : null,
  };
}
