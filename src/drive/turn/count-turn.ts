import type { Effect } from '../../engine/effects.ts';
import type { EngineEvent } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { lostItems } from '../../engine/transitions/checklist.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import { digest } from '../../text/digest.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import { type Measured, ofIteration, seenBy } from '../prompt/gather-evidence.ts';
import { checklistOf, readTask, type TaskText } from '../prompt/read-task.ts';
import type { TaskTurn } from '../records/iteration-record.ts';
import { tddFacts } from '../tdd/scenario-list.ts';
import type { DriverContext } from './driver-context.ts';
import { gatherIteration, type TurnFacts } from './gather-iteration.ts';
import { HOOK_TEXTS } from './messages.ts';
import type { Loaded, TurnOptions } from './turn.ts';

export interface CountedTurn {
  readonly state: LoopState;
  readonly effects: readonly Effect[];
  /** What a task folder's loop goes on to learn of this iteration; null for every other, and for a turn that counts for nothing. */
  readonly task: TaskTurn | null;
}

/**
 * Tells the engine that a turn is over: what the user has to hear first, then the turn itself. Called under the lock;
 * `loaded` holds the state as it is there.
 */
export function countTurn(
  context: DriverContext,
  loaded: Loaded,
  facts: Omit<TurnFacts, 'progress' | 'scenario' | 'taskDone'>,
  measured: Measured | null,
): CountedTurn {
  const { policy, stored } = loaded;
  let { state } = loaded;
  const effects: Effect[] = [];
  const task = stored && readTask(context.files.projectDir, stored.contract.taskPath);
  const checklist = task && checklistOf(task.body, stored.contract.taskPath);
  for (const event of notices(context, loaded, task, checklist)) {
    const told = transition(state, event, policy);
    state = told.state;
    effects.push(...told.effects);
  }
  const own = measured === null ? null : ofIteration(measured, state.iteration + 1);
  const { event, marks } = gatherIteration(context, state, stored, {
    ...facts,
    ...tddFacts(context.files, stored?.contract),
    ...(own && { progress: own.progress }),
    ...(own?.turn?.reflected && { reflected: true }),
    ...(checklist && { checklist }),
  });
  const decided = transition(state, event, policy);
  effects.push(...decided.effects);
  if (decided.effects.some(({ type }) => type === 'ignore')) return { state, effects, task: null };
  const turn =
    own === null || stored === null
      ? null
      : { contract: stored.contract, measured: own, ended: event, record: null, gate: null, waited: false };
  return { state: { ...decided.state, marks }, effects, task: turn };
}

function notices(
  context: DriverContext,
  { state, stored, mended }: Loaded,
  task: TaskText | null,
  checklist: ChecklistCount | null,
): EngineEvent[] {
  const at = context.now();
  const events: EngineEvent[] = [];
  if (mended !== null) events.push({ type: 'noticed', at, key: `mended ${at}`, warning: mended });
  if (stored === null) return events;
  if (task !== null && task.frontmatter !== stored.contract.frontmatter) {
    const warning = HOOK_TEXTS.frontmatterChanged(state.taskPath);
    events.push({ type: 'noticed', at, key: `frontmatter ${digest(task.frontmatter)}`, warning });
  }
  const lost = checklist && lostItems(checklist, state.checklist, state.taskPath);
  if (lost) events.push({ type: 'noticed', at, key: `checklist ${digest(lost)}`, warning: lost });
  return events;
}

/**
 * What the files say at the end of a turn: the fingerprint of what is watched, for an agent that says idle, and that of
 * the project, where a breaker asks for progress. null for what nobody asks for.
 */
export function takeFingerprints(
  context: DriverContext,
  options: TurnOptions,
  stored: StoredContract | null,
  measured: Measured | null,
): Pick<TurnFacts, 'seen' | 'projectMark'> {
  const policy = stored?.contract.policy;
  const { projectDir } = context.files;
  const says = context.input.lastMessage ?? 'ralph:state';
  const watch = policy?.idle?.wake === 'change' && says.includes('ralph:state') ? policy.idle.watch : null;
  const marks = (policy?.breaker.noProgress ?? 0) > 0;
  const watched =
    watch === null ? null : options.work.watchFingerprint(projectDir, watch, stored?.contract.taskPath ?? '');
  return {
    seen: seenBy(watched, stored?.contract, measured?.turn?.evidence ?? []),
    projectMark: marks ? options.work.projectFingerprint(projectDir) : null,
  };
}
