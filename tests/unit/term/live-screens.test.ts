import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { RunnerEvent, RunnerEventOf } from '../../../src/engine/runner-event.ts';
import { type LiveScreen, liveScreen, START } from '../../support/terminal/live-screen.ts';

/**
 * What a person sees of a run, in files: scroll-back and screen, the cursor as ▌. `UPDATE_SCENARIOS=1` writes them anew:
 * read the difference before you commit.
 */
const FOLDER = join('tests', 'scenarios', 'screens');
const UPDATE = process.env['UPDATE_SCENARIOS'] === '1';

type Look = (title: string) => Promise<void>;
type Scene = (screen: LiveScreen, look: Look) => Promise<void>;

const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const started = (name: string, most: number): RunnerEvent => ({
  type: 'run.started',
  ...{ loopId: 'l', name, taskPath: `${name}/RALPH.md`, iteration: 0, maxIterations: most },
  ...{ startedAt: new Date(START).toISOString(), costUsd: null, usage: none },
});
const iteration = (number: number, most: number): RunnerEvent => ({
  type: 'iteration.started',
  begins: number,
  maxIterations: most,
});
const says = (text: string): RunnerEvent[] => [
  { type: 'agent.text-delta', text },
  { type: 'agent.text', text, streamed: true },
];
const starts = (id: string, tool: string, about: string, nested = false): RunnerEvent => ({
  type: 'tool.started',
  ...{ id, tool, about, nested },
});
const ends = (id: string, tool: string, about: string, durationMs: number, more = {}): RunnerEvent => ({
  type: 'tool.ended',
  ...{ id, tool, about, durationMs, nested: false, outcome: 'ok' as const, ...more },
});
const over = (number: number, durationMs: number, turns: number, costUsd: number): RunnerEvent => ({
  type: 'agent.ended',
  ...{ iteration: number, outcome: 'ok', message: 'done.', durationMs, turns, toolCalls: turns, model: 'm', costUsd },
  usage: { ...none, inputTokens: 9_000, outputTokens: 2_300, cacheReadTokens: 41_000 },
});
const command = (name: string, outcome: string, durationMs: number): RunnerEvent => ({
  type: 'command.ran',
  ...{ name, outcome, durationMs },
});

const SCENES: Readonly<Record<string, Scene>> = {
  'what-a-run-looks-like': async (screen, look) => {
    screen.tell(started('my-task', 20), iteration(1, 20), { type: 'command.started', name: 'tests' });
    screen.draw().wait(1_500).draw();
    await look('a command of the task runs');
    screen.tell(command('tests', 'failed', 1_200), command('verify', 'ok', 300)).draw();
    screen
      .tell(...says('auth/login.test.ts has 2 failures: I look at the session handling.'))
      .draw()
      .wait(9_000);
    screen.tell(starts('a', 'Read', 'src/auth/session.ts'), ends('a', 'Read', 'src/auth/session.ts', 12)).draw();
    screen.tell(starts('b', 'Edit', 'src/auth/session.ts'), ends('b', 'Edit', 'src/auth/session.ts', 31)).draw();
    screen
      .tell(starts('c', 'Bash', 'npm test -- auth'))
      .draw()
      .wait(21_000)
      .draw();
    await look('a command of the agent runs');
    screen.tell(ends('c', 'Bash', 'npm test -- auth', 21_000, { outcome: 'failed' })).wait(16_700);
    screen
      .tell(...says('One of the two is left.'), over(1, 48_200, 5, 0.12), iteration(2, 20))
      .draw()
      .wait(800);
    screen
      .tell(command('tests', 'ok', 700), command('verify', 'ok', 100))
      .draw()
      .wait(22_000);
    screen.tell(...says('All tests passing.\n\n<promise>DONE</promise>'), over(2, 23_100, 2, 0.05)).draw();
    screen.tell({ type: 'verification.started' }).draw().wait(500);
    const message = 'Complete after 2 iterations, verified by 2 checks.';
    screen.tell({ type: 'run.ended', status: 'complete', message, code: 0, iterations: 2, costUsd: 0.17 });
    screen.draw().close();
    await look('the loop is over, and the terminal is the shell’s again');
  },
  'at-work': async (screen, look) => {
    screen
      .tell(started('my-feature', 50), { type: 'agent.checklist', done: 3, total: 8 }, iteration(7, 50))
      .wait(720_000);
    screen.tell(over(6, 90_000, 12, 0.847), iteration(7, 50));
    screen.tell({ type: 'agent.usage', tokens: 61_240, context: 58_100, window: 200_000 });
    screen.tell(
      ...says('First the parser, then the printer. Both are looked at by somebody who has not written them.'),
    );
    screen.tell(starts('s', 'Agent', 'review the parser'));
    screen.tell(starts('r', 'Read', 'src/parser.ts', true), ends('r', 'Read', 'src/parser.ts', 14, { nested: true }));
    screen.tell(starts('g', 'Grep', 'TODO', true)).wait(12_000);
    const texts: RunnerEventOf<'steering.pending'>['texts'] = [
      { id: '1', text: 'use the new lexer', delivery: 'now' },
      { id: '2', text: 'and then\nupdate the changelog', delivery: 'next' },
    ];
    screen.tell({ type: 'steering.pending', texts }).draw();
    await look('a subagent works, and two messages wait');
    screen.tell(
      { type: 'steering.sent', texts: ['use the new lexer'] },
      { type: 'steering.pending', texts: texts.slice(1) },
    );
    screen.tell({ type: 'agent.text-delta', text: 'I will use the new lexer, as' }).draw();
    await look('the agent was told, and speaks');
  },
  waits: async (screen, look) => {
    screen.tell(started('nightly', 25), iteration(3, 25), ...says('Nothing to do.'), over(3, 8_000, 1, 0.01));
    const until = (ms: number): string => new Date(START + ms).toISOString();
    screen.tell({ type: 'wait.started', why: 'idle', until: until(252_000) }).draw();
    await look('idle');
    screen.wait(200_500).draw();
    await look('most of the wait is over');
    screen.tell(iteration(4, 25), { type: 'agent.notice', message: 'a rate limit holds until 10:30.' });
    screen.tell({ type: 'wait.started', why: 'rate-limit', until: until(1_800_000) }).draw();
    await look('a rate limit');
    screen.tell(...says('On again.')).draw();
    await look('the agent speaks: nobody waits any more');
  },
  interrupted: async (screen, look) => {
    screen.tell(started('auth', 20), iteration(1, 20), ...says('I begin.'), starts('a', 'Bash', 'make all')).draw();
    screen.wait(3_000).tell({ type: 'agent.interrupting' }).draw();
    await look('Esc was pressed');
    screen.tell({
      ...{ type: 'agent.ended', iteration: 1, outcome: 'interrupted', message: 'the agent was interrupted.' },
      ...{ durationMs: 4_000, turns: 1, toolCalls: 1, model: 'm', costUsd: 0.02, usage: null },
    } as RunnerEvent);
    screen.tell({ type: 'loop.paused', reason: 'interrupted' }).type({ text: 'leave the build alone', at: 21 }).draw();
    await look('the user writes how to go on');
  },
  writing: async (screen, look) => {
    screen.tell(started('auth', 20), iteration(1, 20), { type: 'agent.after-iteration', next: 'stop' });
    screen.type({ text: 'first line\nsecond line, which is longer than the terminal is wide: ', at: 15 }).draw();
    await look('several lines, the cursor in the second');
    screen.type({ text: Array.from({ length: 12 }, (_, line) => `line ${line + 1}`).join('\n'), at: 40 }).draw();
    await look('more lines than there is room for');
  },
  'other-scripts': async (screen, look) => {
    screen.tell(started('多言語', 20), iteration(1, 20));
    screen.tell(...says('認証のテストが失敗しています。セッションの処理を確認します。 👩‍👩‍👧 🇩🇪 ✅ naïve café'));
    screen
      .tell(starts('a', 'Read', 'ソース/認証/セッション処理の実装ファイル.ts'))
      .type({ text: '日本語で書く', at: 4 })
      .draw();
    await look('wide characters');
  },
};

const SIZES: Readonly<Record<string, readonly (readonly [columns: number, rows: number])[]>> = {
  'what-a-run-looks-like': [[80, 24]],
  'at-work': [
    [100, 30],
    [40, 16],
    [20, 12],
    [10, 6],
  ],
  waits: [[80, 24]],
  interrupted: [[60, 16]],
  writing: [[40, 10]],
  'other-scripts': [[40, 14]],
};

describe('the live view shows', () => {
  for (const [name, scene] of Object.entries(SCENES)) {
    test(`the scene ${name} as in its fixture`, async () => {
      const shown: string[] = [];
      for (const [columns, rows] of SIZES[name] ?? []) {
        const screen = liveScreen({ columns, rows });
        await scene(screen, async (title) => {
          const cursor = await screen.cursor();
          const seen = await screen.rows();
          while (seen.length <= cursor.row) seen.push('');
          const marked = seen.map((row, index) => (index === cursor.row ? withCursor(row, cursor.column) : row));
          shown.push(`══ ${columns} x ${rows}: ${title} ══`, ...marked, '');
        });
      }
      const path = join(FOLDER, `${name}.txt`);
      const text = shown.join('\n');
      if (UPDATE) writeFileSync(path, text);
      assert.equal(text, readFileSync(path, 'utf8'));
    });
  }
});

/** Wide characters before it make the cursor stand further left in the text than on the screen; the bar is put by cells. */
function withCursor(row: string, column: number): string {
  let at = 0;
  let left = column;
  for (const character of row) {
    if (left <= 0) break;
    left -= /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]/.test(character) ? 2 : 1;
    at += character.length;
  }
  return `${row.slice(0, at)}${' '.repeat(Math.max(0, left))}▌${row.slice(at)}`;
}
