import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { RunnerEvent } from '../../../src/engine/runner-event.ts';
import { type LiveControls, LiveView } from '../../../src/term/live/live-view.ts';

/** A terminal that notes what is done to it. */
class FakeTerminal extends EventEmitter {
  columns = 60;
  /** What the system says, which a stream takes over at SIGWINCH or when it is asked to. */
  actual = 60;
  _refreshSize(): void {
    const isNew = this.actual !== this.columns;
    this.columns = this.actual;
    if (isNew) this.emit('resize');
  }
  readonly rows = 12;
  readonly destroyed = false;
  written = '';
  raw: boolean[] = [];
  setRawMode(on: boolean): this {
    this.raw.push(on);
    return this;
  }
  setEncoding(): this {
    return this;
  }
  resume(): this {
    return this;
  }
  pause(): this {
    return this;
  }
  write(text: string): boolean {
    this.written += text;
    return true;
  }
}

const started = {
  type: 'run.started',
  ...{ loopId: 'l', name: null, taskPath: 'PROMPT.md', iteration: 0, maxIterations: 5, costUsd: null },
  startedAt: new Date().toISOString(),
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
} as const;

const withView = async (
  body: (
    keys: (...chunks: readonly string[]) => Promise<void>,
    calls: unknown[][],
    terminal: FakeTerminal,
  ) => Promise<void>,
  more: Partial<LiveControls> = {},
): Promise<FakeTerminal> => {
  const terminal = new FakeTerminal();
  const view = viewOn(terminal, { NO_COLOR: '1' });
  const calls: unknown[][] = [];
  const note =
    (name: string) =>
    (...args: unknown[]): void =>
      void calls.push([name, ...args]);
  view.tell(started);
  view.live({
    say: note('say'),
    interrupt: note('interrupt'),
    goOn: note('goOn'),
    wake: note('wake'),
    press: note('press'),
    ...more,
  });
  const keys = async (...chunks: readonly string[]): Promise<void> => {
    for (const chunk of chunks) {
      terminal.emit('data', chunk);
      await sleep(60);
    }
  };
  try {
    await body(keys, calls, terminal);
  } finally {
    view.close();
  }
  return terminal;
};

const listeners = (): number[] =>
  ['exit', 'uncaughtExceptionMonitor', 'SIGCONT'].map((name) => process.listenerCount(name));

test('takes the terminal with the first message, restores it after the last, and leaves no listener', async () => {
  const before = listeners();
  const terminal = await withView(async () => {
    const more = listeners().map((count, index) => count - (before[index] ?? 0));
    assert.deepEqual(more, [1, 1, 1], 'whatever ends the process puts it back');
  });
  assert.deepEqual(terminal.raw, [true, false]);
  assert.ok(
    terminal.written.endsWith('\u001b[?2004l\u001b[?25h\u001b[?7h'),
    JSON.stringify(terminal.written.slice(-40)),
  );
  assert.equal(terminal.written.split('\u001b[?2004h').length, 2);
  assert.deepEqual(listeners(), before);
});

test('Enter sends now, Alt+Enter with the next prompt, and an empty line sends nothing', async () => {
  await withView(async (keys, calls) => {
    await keys('fix it\r', '\r', 'then test\u001b\r', 'and\nso on\r');
    assert.deepEqual(calls, [
      ['say', 'fix it', 'now'],
      ['say', 'then test', 'next'],
      ['say', 'and\nso on', 'now'],
    ]);
  });
});

test('a paste of several lines is one message without escape sequences', async () => {
  await withView(async (keys, calls) => {
    await keys('\u001b[200~one\r\ntwo\u001b[31m\u0003', '\r\u001b[20', '1~\r');
    assert.deepEqual(calls, [['say', 'one\ntwo', 'now']]);
  });
});

test('Escape interrupts unless more follows, and an arrow key does not', async () => {
  await withView(async (keys, calls) => {
    await keys('\u001b', '\u001b[A', '\u001bOC', '\u001b[1;5D', '\u001b[15~');
    assert.deepEqual(calls, [['interrupt']]);
  });
});

test('Ctrl+C works as a key, also in the middle of a line', async () => {
  await withView(async (keys, calls) => {
    await keys('half a li\u0003');
    assert.deepEqual(calls, [['press']]);
  });
});

test('the usual keys edit and recall a line', async () => {
  await withView(async (keys, calls) => {
    await keys('wrold\u001b[D\u001b[D\u001b[D\u007f\u001b[1~hello \u0005!\r');
    await keys('a b c\u0017\u0017d\r', 'gone\u0015kept\r', '\u001b[A\u001b[A\u001b[B\r', 'draft\u001b[A\u001b[B\r');
    assert.deepEqual(
      calls.map(([, text]) => text),
      ['hello wold!', 'a d', 'kept', 'kept', 'draft'],
    );
  });
});

test('what cannot be sent stays in the line, with the reason', async () => {
  const refuse = (): void => {
    throw new Error('there is no live loop.');
  };
  const terminal = await withView(async (keys) => keys('fix it\r'), { say: refuse });
  assert.match(terminal.written, /ralph-loop: there is no live loop\./);
  assert.match(terminal.written.slice(terminal.written.indexOf('no live loop')), /> fix it/);
});

test('an unfinished line is in the terminal after the loop ended', async () => {
  const terminal = await withView(async (keys) => keys('sent', '\r', 'half a', '\n', 'sentence'));
  assert.match(terminal.written, /not sent: half a\r\nsentence\r\n(?!.*> )/);
  const nothing = await withView(async (keys) => keys('sent', '\r'));
  assert.doesNotMatch(nothing.written, /not sent:/);
});

test('in a wait Enter alone ends it, and with text it tells the agent; at work it does nothing', () => {
  const terminal = new FakeTerminal();
  const view = viewOn(terminal);
  const went: string[] = [];
  const no = (): never => assert.fail('not meant');
  view.tell(started);
  view.live({
    ...{ interrupt: no, press: no, goOn: no },
    say: (text) => void went.push(text),
    wake: () => void went.push('wake'),
  });
  terminal.emit('data', '\r');
  assert.deepEqual(went, [], 'control: nobody waits');
  for (const why of ['idle', 'pace', 'rate-limit', 'retry'] as const) {
    view.tell({ type: 'wait.started', why, until: new Date(Date.now() + 60_000).toISOString() });
    terminal.emit('data', '\r');
  }
  terminal.emit('data', 'look again\r');
  view.close();
  assert.deepEqual(went, ['wake', 'wake', 'wake', 'wake', 'look again']);
});

test('in a pause Enter alone continues, and with text it continues with that text', async () => {
  const terminal = new FakeTerminal();
  const view = viewOn(terminal);
  const went: string[] = [];
  const no = (): never => assert.fail('not meant');
  view.tell(started);
  view.live({ say: no, interrupt: no, wake: no, press: no, goOn: (text) => void went.push(text) });
  for (const keys of ['\r', 'carefully\r', 'slowly\u001b\r']) {
    view.tell({ type: 'loop.paused', reason: 'interrupted' });
    terminal.emit('data', keys);
  }
  view.close();
  assert.deepEqual(went, ['', 'carefully', 'slowly']);
});

function viewOn(terminal: FakeTerminal, env: NodeJS.ProcessEnv = {}): LiveView {
  return new LiveView({ input: terminal as never, output: terminal as never, env });
}

/** What is shown of loops that run side by side, after these events. */
async function sideBySide(events: readonly (readonly [string, RunnerEvent])[]) {
  const terminal = new FakeTerminal();
  const view = viewOn(terminal, { NO_COLOR: '1' });
  for (const [loop, event] of events) view.tell(event, loop);
  await sleep(60);
  const before = terminal.written.length;
  // Draws the rows as they stand now.
  terminal.emit('data', '\u000c');
  await sleep(60);
  const rows = terminal.written
    .slice(before)
    .split(/\r\n|\u001b\[[0-9;?]*[A-Za-z]/)
    .filter((row) => row.startsWith('ralph: '));
  view.close();
  return { rows, focus: view.focus, written: terminal.written };
}

const begun = (name: string): readonly [string, RunnerEvent] => [name, { ...started, name }];
const ended = (name: string): readonly [string, RunnerEvent] => [
  name,
  { type: 'run.ended', status: 'complete', message: `Complete: ${name}.`, code: 0, iterations: 1, costUsd: null },
];
const says = (name: string, text: string): readonly [string, RunnerEvent] => [name, { type: 'agent.text', text }];

test('of loops side by side each one at work has a row, and one that has ended has none', async () => {
  const three = await sideBySide(['a', 'b', 'c'].map(begun));
  assert.deepEqual(
    three.rows.map((row) => row.split(' ')[1]),
    ['b', 'c', 'a'],
    'control: the one in focus is last',
  );
  const two = await sideBySide([...['a', 'b', 'c'].map(begun), ended('b')]);
  assert.deepEqual(
    two.rows.map((row) => row.split(' ')[1]),
    ['c', 'a'],
  );
  assert.match(two.written, /ralph-loop: b: Complete: b\./);
});

test('when the loop in focus ends, what it said last is shown, and then another one at work', async () => {
  const { rows, focus, written } = await sideBySide([
    ...['a', 'b'].map(begun),
    says('b', 'Unseen words.'),
    says('a', 'Last words.'),
    ended('a'),
    begun('c'),
  ]);
  assert.deepEqual(
    rows.map((row) => row.split(' ')[1]),
    ['c', 'b'],
  );
  assert.equal(focus, 'b');
  assert.match(written, /Last words\.[\s\S]*Complete: a\.[\s\S]*─── b ───[\s\S]*Unseen words\./);
  const alone = await sideBySide([begun('a'), ended('a')]);
  assert.deepEqual([alone.focus, alone.rows.length], ['a', 1], 'the last one stays');
  const later = await sideBySide([begun('a'), ended('a'), begun('b')]);
  assert.deepEqual([later.focus, later.rows.length], ['b', 1], 'one that begins later takes its place');
});

test('a drawing has the width that the terminal has now, not that of its last signal', async () => {
  await withView(async (keys, _, terminal) => {
    terminal.actual = 30;
    terminal.written = '';
    await keys('a message to the agent');
    const rows = stripVTControlCharacters(terminal.written).split('\r\n');
    assert.ok(
      rows.some((row) => row.includes('iter 0/5')),
      'the footer is drawn again',
    );
    for (const row of rows) assert.ok(row.replace(/^.*\r/, '').length <= 30, row);
  });
});
