import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect } from '../../../src/engine/events.ts';
import type { PlanAttempt, ToldTask } from '../../../src/engine/plan/attempt.ts';
import { attemptVerdict, isLastAttempt, misfitVerdict, planOf, resumedPlan } from '../../../src/engine/plan/attempt.ts';
import type { PlanTaskStatus } from '../../../src/engine/plan/task-order.ts';
import type { PlanState } from '../../../src/engine/schema/plan.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import { at, policy, running, verifying } from './support/loop.ts';

const POLICY = policy({ plan: { maxTasks: 2, from: null }, completion: { kind: 'none' } });
const FRESH: PlanState = { current: null, attempts: 0, done: [], blocked: null, report: null };
const COMMIT = 'a'.repeat(40);

function task(id: string, status: PlanTaskStatus = 'open', ...dependsOn: string[]): ToldTask {
  return { id, title: `Do ${id}`, status, dependsOn, scope: [], line: 1, acceptance: [`${id} works`] };
}

function working(plan: Partial<PlanState> = {}): PlanState {
  return { ...FRESH, blocked: [], current: { id: 'Task 1', title: 'Do Task 1', commit: COMMIT }, ...plan };
}

const read = (state: LoopState, tasks: readonly ToldTask[], more = POLICY) =>
  transition(state, { type: 'plan-read', at: at(5), tasks, commit: COMMIT }, more);

function verify(plan: PlanState, attempt: Partial<PlanAttempt>, failed: readonly string[] = [], more = POLICY) {
  const results = failed.map((name) => ({ name, outcome: 'failed' as const, detail: 'it fails' }));
  const whole: PlanAttempt = {
    task: { id: 'Task 1', title: 'Do Task 1' },
    as: 'done',
    tasks: [],
    notes: [],
    ...attempt,
  };
  return transition(verifying({ plan }), { type: 'verified', at: at(9), results, plan: whole }, more);
}

const endOf = ({ state }: { readonly state: LoopState }) => (state.status === 'ended' ? state.ended : null);
const promptIn = (effects: readonly Effect[]) => effects.find((effect) => effect.type === 'prompt');
const told = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.type === 'notify' ? [effect.message] : []));

test('the first prompt of a plan opens its first task and names skipped ones', () => {
  const { state, effects } = read(running(), [
    task('Task 1', 'blocked'),
    task('Task 2', 'open', 'Task 1'),
    task('Task 3'),
  ]);
  assert.deepEqual(state.plan, {
    ...FRESH,
    blocked: ['Task 1'],
    current: { id: 'Task 3', title: 'Do Task 3', commit: COMMIT },
  });
  assert.deepEqual(told(effects), ['Skipped: Task 1 (blocked), Task 2 (waits for Task 1).']);
});

test('a plan that a user resumes is read again, with the task in progress and what is blocked by now', () => {
  const paused = transition(
    running({ plan: working({ attempts: 1 }) }),
    { type: 'operator', at: at(3), command: { kind: 'pause' } },
    POLICY,
  );
  const resumed = transition(paused.state, { type: 'operator', at: at(4), command: { kind: 'resume' } }, POLICY);
  assert.deepEqual([resumed.state.plan?.blocked, resumed.state.plan?.attempts], [null, 1]);
  const { state } = read(resumed.state, [task('Task 1'), task('Task 2', 'blocked')]);
  assert.deepEqual([state.plan?.current?.id, state.plan?.blocked], ['Task 1', ['Task 2']]);
});

test('continues a task in progress, whatever was put before it', () => {
  const { state } = read(running({ plan: working({ attempts: 1 }) }), [task('Task 0'), task('Task 1')]);
  assert.deepEqual([state.plan?.current?.id, state.plan?.attempts], ['Task 1', 1]);
});

test('a task that was committed before the state recorded it counts as done', () => {
  const { state } = read(running({ plan: working({ attempts: 1 }) }), [task('Task 1', 'done'), task('Task 2')]);
  assert.deepEqual([state.plan?.done, state.plan?.current?.id, state.plan?.attempts], [['Task 1'], 'Task 2', 0]);
});

test("every turn that ends is a claim, and the agent's report is kept", () => {
  const ended = (text: string, state = running({ plan: working() })) =>
    transition(
      state,
      {
        ...{ type: 'iteration-ended', at: at(3), text, promptId: null, origin: 'loop', transcriptMark: 'm' },
        ...{ toolCalls: 1, deniedCalls: 0, usage: null, costUsd: null, progress: 'unknown', projectMark: null },
        ...{ error: null, timedOut: false, failedShellCalls: 0, scenario: null, seen: null },
      },
      POLICY,
    );
  for (const [text, said] of [
    ['It works.', 'done'],
    ['Half of it.\n\n<!-- ralph:state partial -->', 'partial'],
    ['No key.\n<!-- ralph:state blocked -->', 'blocked'],
    ['```\n<!-- ralph:state blocked -->\n```', 'done'],
    ['Half of it.\nBlockers: I could not create a.txt', 'blocked'],
    ['Half of it.\nBlockers: the rest is long\n<!-- ralph:state partial -->', 'partial'],
    ['All of it.\n**Blockers:** none, all tests pass', 'done'],
  ] as const) {
    const { state, effects } = ended(text);
    assert.equal(state.status, 'verifying');
    assert.equal(state.plan?.report?.said, said, text);
    assert.ok(effects.some(({ type }) => type === 'verify'));
  }
  // An answer to the user is no claim, and no report of the work.
  const report = { text: 'Half of it.', said: 'partial' } as const;
  const answered = ended('You are welcome.', running({ turn: 'user', plan: working({ report }) }));
  assert.deepEqual([answered.state.status, answered.state.plan?.report], ['running', report]);
});

test('an attempt has the outcome of its checks, unless the agent itself claims less', () => {
  const report = (said: 'done' | 'partial' | 'blocked') => ({ text: '', said });
  assert.equal(attemptVerdict(working(), true), 'done');
  assert.equal(attemptVerdict(working(), false), 'failed');
  assert.equal(attemptVerdict(working({ attempts: 1 }), false), 'blocked');
  assert.equal(attemptVerdict(working({ attempts: 1 }), true), 'done');
  assert.equal(attemptVerdict(working({ report: report('blocked') }), true), 'blocked');
  assert.equal(attemptVerdict(working({ attempts: 1, report: report('partial') }), false), 'partial');
});

test('a finished task is followed by the next one, with a closed breaker and no attempts', () => {
  const { state, effects } = verify(working({ attempts: 1 }), { tasks: [task('Task 1', 'done'), task('Task 2')] });
  assert.deepEqual([state.plan?.done, state.plan?.current, state.plan?.attempts], [['Task 1'], null, 0]);
  assert.ok(promptIn(effects));
  assert.deepEqual(told(effects), ['Task 1 is done and committed (1 of 2).']);
});

test('a failed attempt is returned with its reasons', () => {
  const { state, effects } = verify(working(), { as: 'failed', tasks: [task('Task 1')] }, ['scope', 'tests']);
  assert.equal(state.plan?.attempts, 1);
  const prompt = promptIn(effects);
  assert.deepEqual(prompt?.type === 'prompt' && prompt.notices.rejection, ['scope: it fails', 'tests: it fails']);
});

test('a partial task is not a failed attempt', () => {
  assert.equal(verify(working(), { as: 'partial', tasks: [task('Task 1')] }).state.plan?.attempts, 0);
});

test('a task that becomes blocked ends the loop and names the tasks that depend on it', () => {
  const tasks = [task('Task 1', 'blocked'), task('Task 2', 'open', 'Task 1'), task('Task 3')];
  const ended = endOf(verify(working(), { as: 'blocked', tasks }, ['tests']));
  assert.equal(ended?.as, 'blocked');
  assert.match(
    ended?.message ?? '',
    /Task 1 is blocked: tests: it fails\. Waiting for it: Task 2\. The attempted changes/,
  );
});

test('a task that was blocked before is reported as not attempted', () => {
  const tasks = [task('Task 1', 'done'), task('Task 2', 'blocked'), task('Task 3', 'open', 'Task 2')];
  const message = endOf(verify(working({ blocked: ['task 2'] }), { tasks }))?.message ?? '';
  assert.match(message, /Task 2 is blocked .*Waiting for it: Task 3\. .*it was not tried/);
  assert.doesNotMatch(message, /progress file|working tree/);
});

test('a task that the user marks as blocked during the loop ends it; one that was blocked before does not', () => {
  const tasks = [task('Task 1'), task('Task 2', 'blocked')];
  assert.equal(endOf(read(running({ plan: working() }), tasks))?.as, 'blocked');
  assert.equal(endOf(read(running({ plan: working({ blocked: ['task 2'] }) }), tasks)), null);
});

test('the loop pauses for review after the most tasks of a session, and completes before that', () => {
  const paused = endOf(verify(working({ done: ['Task 0'] }), { tasks: [task('Task 1', 'done'), task('Task 2')] }));
  assert.equal(paused?.as, 'paused-for-review');
  assert.match(paused?.message ?? '', /2 tasks done in this session: Task 0, Task 1\. Next is Task 2/);
  const complete = endOf(verify(working({ done: ['Task 0'] }), { tasks: [task('Task 1', 'done')] }));
  assert.equal(complete?.as, 'complete');
});

test('the end of a plan names the command that continues it in its mode', () => {
  const last = (mode: LoopState['mode']): string => {
    const state = { ...verifying({ plan: working({ done: ['Task 0'] }) }), mode, taskPath: 'docs/my plan.md' };
    const tasks = [task('Task 1', 'done'), task('Task 2')];
    const plan = { task: { id: 'Task 1', title: '' }, as: 'done' as const, notes: [], tasks };
    const { message } = endOf(transition(state, { type: 'verified', at: at(9), results: [], plan }, POLICY)) ?? {};
    return /then continue: (.*)\./.exec(message ?? '')?.[1] ?? '';
  };
  assert.equal(last('runner'), 'ralph-loop run --task "docs/my plan.md" --plan --from "Task 2"');
  assert.equal(last('hook'), 'ralph-loop start --task "docs/my plan.md" --plan --from "Task 2"');
  assert.equal(last('router'), 'ralph-loop router start --task "docs/my plan.md" --plan --from "Task 2"');
});

test('completion is verified if checks ran, and comes before the iteration limit', () => {
  const done = { tasks: [task('Task 1', 'done')] };
  assert.equal(endOf(verify(working(), done))?.verified, false);
  const results = [{ name: 'tests', outcome: 'ok' as const, detail: '' }];
  const plan = { task: { id: 'Task 1', title: '' }, as: 'done' as const, notes: [], ...done };
  const last = verifying({ plan: working(), iteration: 25 });
  const ended = endOf(transition(last, { type: 'verified', at: at(9), results, plan }, POLICY));
  assert.deepEqual([ended?.as, ended?.verified], ['complete', true]);
});

test('the end of a plan counts its tasks, unless it has one', () => {
  const ended = endOf(verify(working(), { tasks: [task('Task 1', 'done')] }));
  assert.match(ended?.message ?? '', /^The only task of \S+ is done\.$/);
  const two = endOf(verify(working(), { tasks: [task('Task 1', 'done'), task('Task 2', 'done')] }));
  assert.match(two?.message ?? '', /^All 2 tasks of \S+ are done \(1 task done in this session\)\.$/);
});

test('what a person has to verify is reported with its acceptance criteria', () => {
  const ended = endOf(verify(working(), { tasks: [task('Task 1', 'done'), task('Task 2', 'manual-verify')] }));
  assert.equal(ended?.as, 'needs-verification');
  assert.match(ended?.message ?? '', /Tick each box that holds\. Then continue: ralph-loop \w+ --task .* --plan\.$/);
  assert.match(ended?.message ?? '', /- Task 2, Do Task 2\n {2}- Task 2 works\n/);
});

test('a stop of the user applies after the current task', () => {
  const state = verifying({ plan: working(), stopRequested: true });
  const tasks = [task('Task 1', 'done'), task('Task 2')];
  const plan = { task: { id: 'Task 1', title: '' }, as: 'done' as const, notes: [], tasks };
  const next = transition(state, { type: 'verified', at: at(9), results: [], plan }, POLICY);
  assert.equal(endOf(next)?.as, 'stopped');
  assert.deepEqual(next.state.plan?.done, ['Task 1']);
});

test('a resumed session skips what is blocked now, and selects tasks again if it had all of them', () => {
  assert.deepEqual(
    resumedPlan({ plan: working({ attempts: 1, done: ['a'] }) }, 2),
    working({ blocked: null, done: ['a'] }),
  );
  assert.deepEqual(resumedPlan({ plan: working({ done: ['a', 'b'] }) }, 2).done, []);
});

test('a part of a state that is not a plan session counts as an empty one', () => {
  for (const plan of [
    undefined,
    null,
    1,
    {},
    { ...FRESH, done: [1] },
    { ...FRESH, current: { id: 1 } },
    { ...FRESH, report: 'x' },
  ])
    assert.deepEqual(planOf({ plan }), FRESH);
  assert.deepEqual(planOf({ plan: working() }), working());
});

const eventIn = (effects: readonly Effect[], type: string) =>
  effects.flatMap((effect) => (effect.type === 'record-event' && effect.event.type === type ? [effect.event] : []));

test('the beginning of a task is recorded once, not when it is retried', () => {
  const { state, effects } = read(running(), [task('Task 1'), task('Task 2')]);
  const [began] = eventIn(effects, 'plan.task-began');
  assert.deepEqual([began?.['task'], began?.['title']], ['Task 1', 'Do Task 1']);
  assert.deepEqual(told(effects), []);
  const again = read(state, [task('Task 1'), task('Task 2')]);
  assert.deepEqual(again.effects, []);
  assert.equal(again.state.plan?.current?.commit, COMMIT);
});

test('a task keeps the commit at which it began, and the next begins at the current one', () => {
  const other = 'b'.repeat(40);
  const begun = running({ plan: working({ attempts: 1, current: { id: 'Task 1', title: 'T', commit: other } }) });
  assert.equal(read(begun, [task('TASK  1'), task('Task 2')]).state.plan?.current?.commit, other);
  const known = running({ plan: { ...working({ blocked: ['Task 1'] }), ...begun.plan, blocked: ['Task 1'] } });
  const next = read(known, [task('Task 1', 'blocked'), task('Task 2')]).state;
  assert.deepEqual([next.plan?.current?.commit, next.plan?.attempts], [COMMIT, 0]);
});

test('a plan is read only by a running loop that has one', () => {
  for (const [state, by] of [
    [verifying({ plan: working() }), POLICY],
    [running(), policy()],
  ] as const) {
    const { state: after, effects } = read(state, [task('Task 1')], by);
    assert.equal(after.status, state.status);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['allow'],
    );
  }
});

test('an attempt is recorded with its outcome and reasons, and its notes are reported', () => {
  const failed = verify(working(), { as: 'failed', tasks: [task('Task 1')], notes: ['a note'] }, ['scope']);
  const [event] = eventIn(failed.effects, 'plan.task-failed');
  assert.deepEqual([event?.['task'], event?.['reasons']], ['Task 1', ['scope: it fails']]);
  const [note, verdict] = told(failed.effects);
  assert.equal(note, 'a note');
  assert.match(verdict ?? '', /^Task 1 did not pass; it will be tried once more\.\n.*scope/);
  const partial = verify(working(), { as: 'partial', tasks: [task('Task 1')] });
  assert.equal('reasons' in (eventIn(partial.effects, 'plan.task-partial')[0] ?? {}), false);
  assert.deepEqual(told(partial.effects), ['Task 1 is partly done and continues.']);
  const blocked = verify(working(), { as: 'blocked', tasks: [task('Task 1', 'blocked'), task('Task 2')] });
  assert.deepEqual(told(blocked.effects), [], 'the end tells it');
  assert.equal(blocked.state.plan?.current, null);
});

test('only checks that did not pass are reasons', () => {
  const results = [
    { name: 'types', outcome: 'ok' as const, detail: 'fine' },
    { name: 'tests', outcome: 'failed' as const, detail: 'it fails' },
  ];
  const attempt: PlanAttempt = { task: { id: 'Task 1', title: 'T' }, as: 'failed', tasks: [task('Task 1')], notes: [] };
  const next = transition(
    verifying({ plan: working() }),
    { type: 'verified', at: at(9), results, plan: attempt },
    POLICY,
  );
  assert.deepEqual(eventIn(next.effects, 'plan.task-failed')[0]?.['reasons'], ['tests: it fails']);
});

test('the loop of one task works on it alone, and is blocked where it cannot', () => {
  const only = policy({ plan: { maxTasks: 2, from: null, only: 'task 2' }, completion: { kind: 'none' } });
  const { state, effects } = read(running(), [task('Task 1', 'blocked'), task('Task 2')], only);
  assert.deepEqual([state.plan?.current?.id, told(effects)], ['Task 2', []]);
  const done = [task('Task 1'), task('Task 2', 'done')];
  assert.equal(endOf(read(running(), done, only))?.as, 'complete');
  for (const tasks of [
    [task('Task 1', 'done'), task('Task 2', 'blocked')],
    [task('Task 1'), task('Task 2', 'open', 'Task 1')],
    [task('Task 1', 'done')],
  ]) {
    assert.equal(endOf(read(running(), tasks, only))?.as, 'blocked');
  }
});

test('work that does not fit that of other tasks is returned once, then blocked', () => {
  const returned = verify(working({ attempts: 1 }), { as: 'returned', tasks: [task('Task 1')] }, ['fit']);
  assert.deepEqual([returned.state.plan?.returned, returned.state.plan?.attempts], [true, 1]);
  assert.match(told(returned.effects)[0] ?? '', /^Task 1 does not fit what other tasks have done/);
  assert.equal(misfitVerdict(working()), 'returned');
  assert.equal(misfitVerdict(working({ returned: true })), 'blocked');
  assert.equal(isLastAttempt(working()), false);
  assert.equal(isLastAttempt(working({ returned: true })), true);
  const done = verify(working({ returned: true }), { tasks: [task('Task 1', 'done'), task('Task 2')] });
  assert.equal('returned' in (done.state.plan ?? {}), false);
  const partial = verify(working(), { as: 'partial', tasks: [task('Task 1')] });
  assert.equal('returned' in (partial.state.plan ?? {}), false);
});

test('a plan of which only tasks before the first requested one are left pauses for review', () => {
  const from = policy({ plan: { maxTasks: 2, from: 'Task 2' }, completion: { kind: 'none' } });
  const ended = endOf(read(running(), [task('Task 1'), task('Task 2', 'done')], from));
  assert.equal(ended?.as, 'paused-for-review');
});

test('a plan whose end had no check is not verified, nor is a pause after checks', () => {
  const results = [{ name: 'tests', outcome: 'ok' as const, detail: '' }];
  const tasks = [task('Task 1', 'done'), task('Task 2')];
  const plan = { task: { id: 'Task 1', title: '' }, as: 'done' as const, notes: [], tasks };
  const state = verifying({ plan: working({ done: ['Task 0'] }) });
  const paused = endOf(transition(state, { type: 'verified', at: at(9), results, plan }, POLICY));
  assert.deepEqual([paused?.as, paused?.verified], ['paused-for-review', false]);
});
