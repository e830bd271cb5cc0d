import type { TestBody } from 'claude-code/testing';
import { expect, mock, test } from 'claude-code/testing';

const VIEW = {
  line: 'running · iteration 3 of 20',
  until: null,
  rows: ['Iteration 3 is running.', 'Next: Wait for the agent.'],
};

const band = (columns: number) => ({
  ...({ plugin: 'ralph-loop', surface: 'terminal', component: 'AbovePrompt', requestId: 'r' } as const),
  props: { hasSurvey: false, isLoading: false, bodyColumns: columns, view: {} } as never,
});

test('the band shows how the loop stands, wraps it, and names the command that opens the pane', async ($, on) => {
  on('state.get', (_$, e) => ({ value: { value: e.key === 'view' ? VIEW : e.key === 'now' ? 0 : false, version: 1 } }));
  const wide = await $.ui.mount(band(60));
  expect((await wide.find({ type: 'Text', text: /iteration/ }))?.text).toBe('running · iteration 3 of 20');
  await wide.unmount();
  const narrow = await $.ui.mount(band(24));
  expect((await narrow.find({ type: 'Text', text: /running/ }))?.text).toBe('running ·');
  expect((await narrow.find({ type: 'Text', text: /iteration/ }))?.text).toBe('iteration 3 of 20');
  expect((await narrow.find({ type: 'Text', text: /Next/ }))?.text).toBe('      Next: Wait for the');
  expect((await narrow.find({ type: 'Text', text: /ralph-status/ }))?.text).toMatch(/opens the pane/);
  await narrow.unmount();
});

test('the pane shows the lines of explain', async ($, on) => {
  on('state.get', () => ({ value: { value: VIEW, version: 1 } }));
  const pane = await $.ui.mount({
    ...{ plugin: 'ralph-loop', surface: 'terminal', component: 'Pane', requestId: 'ralph' },
    props: {} as never,
  });
  expect((await pane.find({ type: 'Text', text: /Iteration/ }))?.text).toBe('Iteration 3 is running.');
  await pane.unmount();
});

const LIVE = { active: true, status: 'running', iteration: 1, maxIterations: 5 };
const ENDED = {
  active: false,
  lastLoop: { status: 'complete', iteration: 2, message: 'Complete after 2 iterations.' },
};

/** Stands for a session whose loop has a state file and a status, as `says` returns them. */
function answering(
  on: Parameters<TestBody>[1],
  says: () => Readonly<{ state: string; status: object; explained?: string }>,
): void {
  on('session.start', (_$, e) => ({ cwd: e.cwd }));
  on('command.register', () => ({ value: { name: 'any' } as never }));
  on('ui.panes', () => ({ value: [] }));
  on('ui.open', () => ({ value: { isPlaced: false, reason: 'narrow' } }));
  on('fs.read', (_$, e) => ({ value: e.path.endsWith('ralph-state.json') ? says().state : '' }));
  on('process.run', (_$, e) => {
    const { status, explained = '' } = says();
    return {
      value: {
        stdout: e.argv.includes('status') ? JSON.stringify(status) : explained,
        stderr: '',
        exitCode: 0,
      } as never,
    };
  });
}

const EXPLAINED =
  'waiting: The agent has nothing to do.\n\nWhat led to it:\n  completion.rejected\n\nNext: Nothing. Continue now: ralph-loop wake.\n';
const WORKED = {
  ...LIVE,
  checks: { running: null, last: { name: 'slow', outcome: 'failed', tail: 'exit code 1.' } },
  recent: [
    { iteration: 1, durationMs: 1_000, decision: 'claimed', agent: { costUsd: 0 } },
    { iteration: 2, durationMs: 2_000, decision: 'running', agent: { costUsd: 0.25 } },
  ],
};

test('the pane begins with the reason, the next step and the last check, and shows no cost before it is known', async ($, on) => {
  const clock = mock.clock(on);
  mock.env(on, { RALPH_ACTIVE: '1' });
  answering(on, () => ({ state: 'x', status: WORKED, explained: EXPLAINED }));
  await $.session.start({ cwd: '/project', surface: 'terminal', isInteractive: true });
  await clock.advance(3_000);
  const pane = await $.ui.mount({
    ...{ plugin: 'ralph-loop', surface: 'terminal', component: 'Pane', requestId: 'ralph' },
    props: {} as never,
  });
  const rows = (await pane.findAll({ type: 'Text' })).map(({ text }) => text).filter((row) => row.trim() !== '');
  expect(rows).toEqual([
    'waiting: The agent has nothing to do.',
    'Next: Nothing. Continue now: ralph-loop wake.',
    'The last check, slow, failed:',
    'exit code 1.',
    'Iteration 2: 2s, $0.25 reported, 0 tool calls; the loop went on.',
    'Iteration 1: 1s, 0 tool calls; the agent claimed completion.',
    'What led to it:',
    '  completion.rejected',
  ]);
  await pane.unmount();
});

test('the end of the loop is notified once, and nothing before it', async ($, on) => {
  const clock = mock.clock(on);
  mock.env(on, { RALPH_ACTIVE: '1' });
  let state = '';
  let status: object = { active: false, lastLoop: null };
  const notified: string[] = [];
  answering(on, () => ({ state, status }));
  on('ui.notify', (_$, e) => {
    notified.push(`${e.title}: ${e.text}`);
    return { value: { isSent: true, channel: 'kitty' } };
  });
  await $.session.start({ cwd: '/project', surface: 'terminal', isInteractive: true });
  await clock.advance(3_000);
  for (const iteration of [0, 1, 2]) {
    state = `iteration ${iteration}`;
    status = { ...LIVE, iteration };
    await clock.advance(3_000);
  }
  expect(notified).toEqual([]);
  state = '';
  status = ENDED;
  await clock.advance(9_000);
  expect(notified).toEqual(['ralph-loop: ended: Complete after 2 iterations.']);
});
