import { expect, test } from 'claude-code/testing';

const VIEW = { line: 'running · iteration 3 of 20', until: null, rows: ['Iteration 3 is running.'] };

const band = (columns: number) => ({
  ...{ plugin: 'ralph-loop', surface: 'terminal', component: 'AbovePrompt', requestId: 'r' },
  props: { hasSurvey: false, isLoading: false, bodyColumns: columns, view: {} } as never,
});

test('the band shows how the loop stands, and cuts what does not fit', async ($, on) => {
  on('state.get', (_$, e) => ({ value: { value: e.key === 'view' ? VIEW : 0, version: 1 } }));
  const wide = await $.ui.mount(band(60));
  expect((await wide.find({ type: 'Text', text: /iteration/ }))?.text).toBe('running · iteration 3 of 20');
  await wide.unmount();
  const narrow = await $.ui.mount(band(24));
  expect((await narrow.find({ type: 'Text', text: /running/ }))?.text).toBe('running · itera…');
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
