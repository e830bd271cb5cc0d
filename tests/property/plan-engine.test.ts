import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineEvent } from '../../src/engine/events.ts';
import { initialState } from '../../src/engine/initial-state.ts';
import { attemptVerdict, planOf, type ToldTask } from '../../src/engine/plan/attempt.ts';
import { commonPart, type LoopState, statusPart } from '../../src/engine/schema/state.ts';
import { transition } from '../../src/engine/transition.ts';
import { anyState } from '../support/arbitraries/any-state.ts';
import * as arb from '../support/arbitraries/arbitraries.ts';
import { DEFAULT_POLICY } from '../support/contract-terms.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = { numRuns: runs(500), includeErrorInReport: true };
const IDS = ['Task 1', 'Task 2', 'Task 3', 'Task 4', 'Task 5', 'Task 6'];
const COMMIT = 'c'.repeat(40);

const status = fc.constantFrom('open', 'open', 'open', 'done', 'blocked', 'manual-verify');
const anyTask: fc.Arbitrary<ToldTask> = fc.record({
  id: fc.constantFrom(...IDS),
  title: fc.constantFrom('', 'Do it'),
  status,
  dependsOn: fc.array(fc.constantFrom(...IDS), { maxLength: 2 }),
  scope: fc.constant([]),
  acceptance: fc.constant(['it works']),
  line: fc.constant(1),
});
const plan = fc.uniqueArray(anyTask, { selector: ({ id }) => id, maxLength: IDS.length });
/** What each attempt comes to: its checks, and the agent's own word. */
const attempts = fc.array(
  fc.record({ passes: fc.boolean(), says: fc.constantFrom('', '', '', 'partial', 'blocked') }),
  { maxLength: 30 },
);

/** What a driver does with a plan, without a disk: gives the ids in the order in which they were done, and the end. */
function play(
  begin: readonly ToldTask[],
  outcomes: readonly { passes: boolean; says: string }[],
  maxTasks: number,
): { done: string[]; tries: Map<string, number>; tasks: readonly ToldTask[]; as: string | null } {
  const policy = {
    ...DEFAULT_POLICY,
    maxIterations: 100,
    completion: { kind: 'none' },
    plan: { maxTasks, from: null },
  } as const;
  let second = 0;
  const at = (): string => new Date(Date.UTC(2026, 0, 1) + second++ * 1000).toISOString();
  let state = initialState({
    ...{ loopId: 'l', name: null, mode: 'runner', taskPath: 'PLAN.md', contractHash: null, maxIterations: 100 },
    ...{ at: at(), consented: true },
  }) as LoopState;
  const feed = (event: EngineEvent): void => {
    state = transition(state, event, policy).state;
  };
  // What is fed changes it behind the compiler's back.
  const now = (): LoopState => state;
  let tasks = begin;
  const done: string[] = [];
  const tries = new Map<string, number>();
  const mark = (id: string, as: ToldTask['status']): void => {
    tasks = tasks.map((task) => (task.id === id ? { ...task, status: as } : task));
  };
  for (const { passes, says } of outcomes) {
    feed({ type: 'plan-read', at: at(), tasks, commit: COMMIT });
    const { current } = planOf(now());
    if (now().status !== 'running' || current === null) break;
    const marker = says === '' ? '' : `\n<!-- ralph:state ${says} -->`;
    feed({
      ...{ type: 'iteration-ended', at: at(), text: `Turn ${second}.${marker}`, promptId: null, origin: 'loop' },
      ...{
        transcriptMark: String(second),
        toolCalls: 1,
        deniedCalls: 0,
        usage: null,
        costUsd: null,
        progress: 'unknown',
      },
      ...{ projectMark: null, error: null, timedOut: false, failedShellCalls: 0, scenario: null, seen: null },
    });
    assert.equal(now().status, 'verifying');
    const as = attemptVerdict(planOf(now()), passes);
    if (as === 'done') {
      mark(current.id, 'done');
      done.push(current.id);
    } else if (as === 'blocked') mark(current.id, 'blocked');
    if (as === 'failed' || as === 'blocked') tries.set(current.id, (tries.get(current.id) ?? 0) + 1);
    const results = passes ? [] : [{ name: 'checks', outcome: 'failed' as const, detail: 'no' }];
    feed({ type: 'verified', at: at(), results, plan: { task: current, as, tasks, notes: [] } });
    if (now().status === 'ended') break;
  }
  const last = now();
  return { done, tries, tasks, as: last.status === 'ended' ? last.ended.as : null };
}

test('a loop over a plan does each task once, after its dependencies, and ends as its tasks say', () => {
  fc.assert(
    fc.property(plan, attempts, fc.integer({ min: 1, max: 6 }), (tasks, outcomes, maxTasks) => {
      const { done, tries, tasks: left, as } = play(tasks, outcomes, maxTasks);
      assert.equal(new Set(done).size, done.length);
      assert.ok(done.length <= maxTasks);
      for (const [index, id] of done.entries()) {
        const task = tasks.find((each) => each.id === id);
        assert.equal(task?.status, 'open');
        for (const needed of task?.dependsOn ?? []) {
          const before = tasks.find((each) => each.id === needed)?.status === 'done';
          assert.ok(before || done.slice(0, index).includes(needed), `${id} before ${needed}`);
        }
      }
      for (const [id, failed] of tries) assert.ok(failed <= 2, `${id} failed ${failed} times`);
      if (as === 'complete') assert.ok(left.every((task) => task.status === 'done'));
      if (as === 'paused-for-review') assert.equal(done.length, maxTasks);
      if (as === 'needs-verification') assert.ok(left.some((task) => task.status === 'manual-verify'));
      if (as === 'blocked') assert.ok(left.some((task) => task.status !== 'done'));
    }),
    RUNS,
  );
});

test('if every attempt passes, everything possible is done', () => {
  const passing = Array.from({ length: 10 }, () => ({ passes: true, says: '' }));
  fc.assert(
    fc.property(plan, (tasks) => {
      const { as, tasks: left } = play(tasks, passing, 100);
      assert.notEqual(as, null);
      const finished = new Set(left.filter((task) => task.status === 'done').map(({ id }) => id));
      const ready = left.filter((task) => task.status === 'open' && task.dependsOn.every((id) => finished.has(id)));
      assert.deepEqual(ready, []);
    }),
    RUNS,
  );
});

test('any state and any event of a plan give a state of the published form', () => {
  const anyPolicy = fc
    .tuple(arb.policy, fc.integer({ min: 1, max: 3 }), fc.option(fc.constantFrom(...IDS)))
    .map(([policy, maxTasks, from]) => ({ ...policy, plan: { maxTasks, from } }));
  const anyPlan = fc.oneof(
    fc.constant(undefined),
    fc.record({
      current: fc.option(fc.record({ id: fc.constantFrom(...IDS), title: fc.string(), commit: fc.constant(COMMIT) })),
      attempts: fc.nat({ max: 3 }),
      done: fc.array(fc.constantFrom(...IDS), { maxLength: 3 }),
      blocked: fc.option(fc.array(fc.constantFrom(...IDS), { maxLength: 3 })),
      report: fc.option(fc.record({ text: fc.string(), said: fc.constantFrom('done', 'partial', 'blocked') })),
    }),
  );
  const event = fc.oneof(
    fc.record({ type: fc.constant('plan-read'), at: arb.anyInstant, tasks: plan, commit: fc.constant(COMMIT) }),
    fc.record({
      type: fc.constant('verified'),
      at: arb.anyInstant,
      results: arb.checkResults,
      plan: fc.record({
        task: fc.record({ id: fc.constantFrom(...IDS), title: fc.string() }),
        as: fc.constantFrom('done', 'partial', 'failed', 'blocked'),
        tasks: plan,
        notes: fc.array(fc.string(), { maxLength: 2 }),
      }),
    }),
  ) as fc.Arbitrary<EngineEvent>;
  fc.assert(
    fc.property(anyState, anyPlan, event, anyPolicy, (state, known, happened, policy) => {
      const from = known === undefined ? state : { ...state, plan: known };
      const { state: next } = transition(from as typeof state, happened, policy);
      assert.ok(commonPart.safeParse(next).success && statusPart.safeParse(next).success);
    }),
    RUNS,
  );
});
