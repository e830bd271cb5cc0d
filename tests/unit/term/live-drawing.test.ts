import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iterationStarted, loopStarted } from '../../../src/drive/records/live-events.ts';
import type { EndReport } from '../../../src/engine/end-report.ts';
import { initialState } from '../../../src/engine/initial-state.ts';
import { addRunUsage } from '../../../src/engine/policy/budget.ts';
import type { RunnerEvent } from '../../../src/engine/runner-event.ts';
import { frameOf } from '../../../src/term/live/frame.ts';
import { NEW_INPUT } from '../../../src/term/live/input.ts';
import { nextView } from '../../../src/term/live/next-view.ts';
import { NEW_VIEW, type View } from '../../../src/term/live/view.ts';
import { liveScreen } from '../../support/terminal/live-screen.ts';

const began: RunnerEvent = {
  type: 'run.started',
  ...{ loopId: 'l', name: 'auth', taskPath: 'auth/RALPH.md', iteration: 0, maxIterations: 7, costUsd: null },
  startedAt: '2026-03-01T10:00:00.000Z',
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
};
const words = 'one two three four five six seven eight nine ten eleven twelve';
const bars = (rows: readonly string[]): number => rows.filter((row) => row.includes('iter 1/7')).length;

test('a terminal that becomes narrower and wider again shows one footer and all messages above it', async () => {
  const screen = liveScreen({ columns: 80, rows: 24 });
  screen.tell(began, { type: 'iteration.started', begins: 1, maxIterations: 7 });
  screen.tell({ type: 'agent.text-delta', text: `${words}\n\nmore` }).draw();
  for (const columns of [40, 20, 30, 120, 25, 80]) {
    screen.resize({ columns, rows: 24 }).draw();
    const rows = await screen.rows();
    assert.doesNotMatch(rows.join('\n'), /\n\n\n/, `at ${columns}: nothing of the last bottom is left`);
    assert.equal(rows.filter((row) => row.includes('│')).length, 1, `at ${columns}:\n${rows.join('\n')}`);
    assert.equal(bars(rows), 1, `at ${columns}:\n${rows.join('\n')}`);
    assert.ok(
      rows.join('').replaceAll(' ', '').includes(words.replaceAll(' ', '')),
      `at ${columns}:\n${rows.join('\n')}`,
    );
  }
});

test('the footer shows a cost that is unknown or partly known', async () => {
  const screen = liveScreen({ columns: 100, rows: 12 });
  const usage = { inputTokens: 9, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const run = { type: 'agent.ended', iteration: 1, outcome: 'ok', message: '', durationMs: 10, toolCalls: 0 } as const;
  screen.tell(began, { ...run, turns: null, model: null, costUsd: null, usage }).draw();
  assert.match((await screen.rows()).join('\n'), /─── 10ms │ cost unknown ───[\s\S]*iter 0\/7 │ \S+ │ cost unknown │/);
  screen.tell({ ...run, turns: 2, model: null, costUsd: 0.5, usage }).draw();
  assert.match((await screen.rows()).join('\n'), /─── 10ms │ 2 turns │ \$0\.50 ───[\s\S]*│ at least \$0\.50 │/);
});

test('a footer that grows and shrinks leaves nothing behind', async () => {
  const screen = liveScreen({ columns: 60, rows: 10 });
  screen.tell(began, { type: 'iteration.started', begins: 1, maxIterations: 7 }).draw();
  const before = await screen.rows();
  for (let round = 0; round < 5; round += 1) {
    for (const id of ['a', 'b', 'c']) {
      screen.tell({ type: 'tool.started', id, tool: 'Bash', about: 'sleep', nested: false }).draw();
    }
    screen.type({ text: 'line\n'.repeat(4), at: 0 }).draw();
    screen.type({ text: '', at: 0 }).draw();
    assert.ok(!(await screen.rows()).some((row) => row.includes('line')), 'what was written is gone with its rows');
    for (const id of ['a', 'b', 'c']) {
      screen
        .tell({
          ...({ type: 'tool.ended', id, tool: 'Bash', about: `call ${round}`, outcome: 'ok' } as const),
          nested: false,
          durationMs: 10,
        })
        .draw();
    }
  }
  const rows = await screen.rows();
  assert.equal(bars(rows), 1, rows.join('\n'));
  assert.equal(rows.filter((row) => row.includes('✓ Bash call')).length, 15, rows.join('\n'));
  assert.equal(rows.length, before.length - 1 + 15, 'the row that waits for the agent is gone');
});

test('if only a second has passed, rewrites only the row with the time', () => {
  const screen = liveScreen({ columns: 80, rows: 24 });
  screen.tell(began, { type: 'iteration.started', begins: 1, maxIterations: 7 }).draw();
  const before = screen.written().length;
  screen.wait(1_000).draw();
  const more = screen.written().slice(before);
  assert.match(more, /iter 1\/7 │ 1s/);
  assert.ok(!more.includes('Enter:'), more);
});

test('if nothing has changed, writes nothing', () => {
  const screen = liveScreen({ columns: 80, rows: 24 });
  screen.tell(began).draw();
  const before = screen.written();
  assert.equal(screen.draw().written(), before);
});

test('hides an escape sequence that arrives in two pieces like a whole one', async () => {
  const screen = liveScreen({ columns: 80, rows: 24 });
  screen.tell(began);
  const shown: (string | undefined)[] = [];
  for (const text of ['plain \u001b', '[3', '1mred\u001b]0;ti', 'tle\u0007 and \u001b[0', 'm more']) {
    shown.push((await screen.tell({ type: 'agent.text-delta', text }).draw().rows())[2]);
  }
  assert.deepEqual(shown, ['plain', 'plain', 'plain red', 'plain red and', 'plain red and  more']);
});

test('at the end the cursor is at the start of an empty row below the last message', async () => {
  const screen = liveScreen({ columns: 40, rows: 8 });
  screen.tell(began).wait(2_000).draw();
  screen.tell({
    ...({ type: 'run.ended', status: 'complete', message: 'done.' } as const),
    code: 0,
    iterations: 1,
    costUsd: null,
  });
  screen.draw().close();
  const rows = await screen.rows();
  assert.equal(rows.at(-1), 'ralph-loop: done.');
  assert.deepEqual(await screen.cursor(), { row: rows.length, column: 0 });
});

test('renders bold text, inline code and headings of the agent, and keeps other markup', async () => {
  const screen = liveScreen({ columns: 60, rows: 12 });
  screen
    .tell(began, { type: 'agent.text', text: '# Result\nOne **bold** word, `a*b` and 2 ** 3.\n- item\n' })
    .draw()
    .close();
  const rows = await screen.rows();
  assert.ok(rows.includes('Result'), rows.join('\n'));
  assert.ok(rows.includes('One bold word, a*b and 2 ** 3.'), rows.join('\n'));
  assert.ok(rows.includes('- item'));
});

test('the further rows of a report’s line are indented as its first', async () => {
  const screen = liveScreen({ columns: 40, rows: 24 });
  const report: EndReport = {
    ...{
      outcome: 'complete' as const,
      reason: 'Complete.',
      verified: true,
      proof: null,
      before: null,
      checks: [],
      iterations: 1,
      maxIterations: 7,
    },
    ...{ durationMs: 10, costUsd: null, tokens: null, changes: null, changedScripts: [], notices: [] },
    ...{ unsandboxed: null, lastWords: [words], restore: null, next: null },
  };
  screen.tell(began, {
    type: 'run.ended',
    status: 'complete',
    message: 'Complete.',
    code: 0,
    iterations: 1,
    costUsd: null,
    report,
  });
  const rows = await screen.draw().close().rows();
  const at = rows.indexOf('    one two three four five six seven');
  assert.equal(rows[at + 1], '    eight nine ten eleven twelve', rows.join('\n'));
});

test('someone who attached sees that a paused loop finishes its iteration, then that it is paused', async () => {
  // As in the journal of a runner: the loop is paused while its agent works. Either process may record it first.
  const pause = [
    { type: 'loop.paused', reason: 'operator' },
    { type: 'agent.after-iteration', next: 'pause' },
  ] as const;
  for (const events of [pause, pause.toReversed()]) {
    const screen = liveScreen({ columns: 100, rows: 12 });
    const call = { id: 'a', tool: 'Bash', about: 'ls', nested: false };
    screen.tell(began, { type: 'iteration.started', begins: 1, maxIterations: 7 });
    screen.tell(...events).draw();
    assert.match((await screen.rows()).join('\n'), /│ pauses after this iteration │/);
    screen.tell({ type: 'tool.started', ...call }, { type: 'tool.ended', ...call, outcome: 'ok', durationMs: 10 });
    const run = {
      type: 'agent.ended',
      iteration: 1,
      outcome: 'ok',
      message: '',
      durationMs: 10,
      toolCalls: 1,
    } as const;
    screen.tell({ ...run, turns: 1, model: null, costUsd: 0.5, usage: null }).draw();
    assert.match((await screen.rows()).join('\n'), /│ paused by you │/);
  }
});

test('an iteration without known usage, such as one that timed out, has an unknown cost and no sum', async () => {
  const screen = liveScreen({ columns: 100, rows: 12 });
  const run = { type: 'agent.ended', iteration: 1, message: '', durationMs: 10, toolCalls: 0, model: null } as const;
  screen.tell(began, { ...run, outcome: 'out-of-time', turns: 2, costUsd: null, usage: null }).draw();
  const rows = (await screen.rows()).join('\n');
  assert.match(rows, /─── 10ms │ 2 turns │ cost unknown ───/);
  assert.doesNotMatch(rows, /\$/);
});

const drawn = (view: View, at: number): string =>
  frameOf(view, NEW_INPUT, { columns: 120, rows: 24 }, at)
    .rows.map((row) => row.map(({ text }) => text).join(''))
    .join(' │ ');

test('the clock of the live view leaves out a night before a resume, and stops in a pause', () => {
  const minute = 60_000;
  const start = Date.parse('2026-03-01T10:00:00.000Z');
  const clockAt = (view: View, minutes: number): string | undefined =>
    /│ (?<clock>\d+[hms][\dm ]*?) │/.exec(`${drawn(view, start + minutes * minute)} │`)?.groups?.['clock'];
  const resumed = nextView(NEW_VIEW, { ...began, stoppedMs: 480 * minute } as RunnerEvent, start + 500 * minute);
  assert.equal(clockAt(resumed, 500), '20m');
  const paused = nextView(resumed, { type: 'loop.paused', reason: 'operator' }, start + 510 * minute);
  assert.deepEqual([clockAt(paused, 510), clockAt(paused, 900)], ['30m', '30m']);
  const goesOn = nextView(paused, { type: 'iteration.started', begins: 2, maxIterations: 7 }, start + 900 * minute);
  assert.equal(clockAt(goesOn, 905), '35m');
  assert.equal(clockAt(nextView(NEW_VIEW, began, start), 5), '5m', 'control');
});

test('a view that joins within an iteration counts the tokens and the cost of its agent once', () => {
  const task = { name: 'auth', taskPath: 'auth/RALPH.md', contractHash: null, maxIterations: 7 };
  const usage = { inputTokens: 200, outputTokens: 40, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const before = initialState({
    ...task,
    loopId: 'l',
    at: '2026-03-01T10:00:00.000Z',
    mode: 'runner',
    consented: true,
  });
  // The state is counted up while the agent works.
  const within = { ...before, usage: addRunUsage(before.usage, { usage, costUsd: 0.5, unpriced: 0 }) };
  const facts = { message: '', durationMs: 1, turns: 1, toolCalls: 0, model: null };
  const iteration: RunnerEvent[] = [
    iterationStarted(before),
    { type: 'agent.usage', tokens: 240, context: 240, window: null },
    { type: 'agent.ended', iteration: 1, outcome: 'ok', ...facts, costUsd: 0.5, usage },
  ];
  const shown = (start: RunnerEvent): (number | null)[] => {
    const { tokens, runTokens, costUsd } = [start, ...iteration].reduce(
      (view, event) => nextView(view, event, 0),
      NEW_VIEW,
    );
    return [tokens, runTokens, costUsd];
  };
  assert.deepEqual(shown(loopStarted(within)), [240, 0, 0.5]);
  assert.deepEqual(shown(loopStarted(before)), [240, 0, 0.5], 'control: the view of the runner');
});

test('a loop that is resumed after a crash shows its cost as a part until all of it is known', () => {
  const terms = {
    name: 'auth',
    taskPath: 'auth/RALPH.md',
    contractHash: null,
    maxIterations: 7,
    consented: true,
  } as const;
  const state = initialState({ ...terms, loopId: 'l', at: '2026-03-01T10:00:00.000Z', mode: 'runner' });
  const usage = { inputTokens: 200, outputTokens: 40, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const costIn = (crashed: boolean): string => {
    const known = { ...state, usage: addRunUsage(state.usage, { usage, costUsd: 0.5, unpriced: 0 }) };
    const before = crashed
      ? { ...known, usage: addRunUsage(known.usage, { usage, costUsd: null, unpriced: 1 }) }
      : known;
    const view = [loopStarted(before), iterationStarted(before)].reduce(
      (all, event) => nextView(all, event, 0),
      NEW_VIEW,
    );
    return drawn(view, Date.parse(state.startedAt));
  };
  assert.match(costIn(true), / │ at least \$0\.50 │ /);
  assert.match(costIn(false), / │ \$0\.50 │ /, 'control');
});
