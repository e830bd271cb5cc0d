import type { ChecklistCount } from '../../core/checklist.ts';
import { digest } from '../../core/digest.ts';
import type { Effect } from '../../core/effects.ts';
import type { EngineEvent } from '../../core/events.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { transition } from '../../core/transition.ts';
import { lostItems } from '../../core/transitions/checklist.ts';
import { checklistOf } from '../checklist-now.ts';
import { type Measured, ofIteration } from '../task/measure-iteration.ts';
import type { TaskTurn } from '../task/task-turn.ts';
import { tddFacts } from '../tdd/tdd-facts.ts';
import { HOOK_TEXTS } from '../texts.ts';
import type { DriverContext } from './context.ts';
import { gatherIteration, type TurnFacts } from './gather-iteration.ts';
import { readTask, type TaskText } from './read-task.ts';
import type { Loaded } from './turn.ts';

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
