import { expect, test } from 'claude-code/testing';

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
