import assert from 'node:assert/strict';
import { test } from 'node:test';
import { about, advise, type LoopMode, render } from '../../../src/text/message.ts';

const STOPPED = advise('Stopped.', 'Resume', 'resume');

test('a message without advice is its text', () => {
  assert.equal(render('Done.', { name: 'a', mode: 'hook' }), 'Done.');
  assert.equal(render({ text: 'Done.' }, { name: 'a', mode: 'hook' }), 'Done.');
});

test('resume is one command for every mode', () => {
  for (const mode of ['hook', 'runner', 'router'] as const) {
    assert.equal(render(STOPPED, { name: null, mode }), 'Stopped. Resume: ralph-loop resume.');
    assert.equal(render(STOPPED, { name: 'docs', mode }), 'Stopped. Resume: ralph-loop resume docs.');
  }
  const more = advise('Stopped.', 'Grant more', 'resume', { 'max-iterations': 'N' });
  const granted = 'Stopped. Grant more: ralph-loop resume docs --max-iterations N.';
  assert.equal(render(more, { name: 'docs', mode: 'runner' }), granted);
});

test('a restart and a consent depend on the mode', () => {
  const expected: Record<LoopMode, [string, string]> = {
    hook: ['start --loop docs --fresh', 'start --consent --loop docs'],
    runner: ['run --loop docs --fresh', 'run --consent docs'],
    router: ['router start --loop docs --fresh', 'start --consent --loop docs'],
  };
  for (const [mode, [restart, consent]] of Object.entries(expected) as [LoopMode, [string, string]][]) {
    assert.equal(render(advise('', 'A', 'restart'), { name: 'docs', mode }), `A: ralph-loop ${restart}.`);
    assert.equal(render(advise('', 'A', 'consent'), { name: 'docs', mode }), `A: ralph-loop ${consent}.`);
  }
});

test('only a command about a loop names the loop', () => {
  const command = (words: string): string => render(advise('', 'A', words), { name: 'docs', mode: 'hook' });
  assert.equal(command('accept'), 'A: ralph-loop accept --loop docs.');
  assert.equal(command('router next'), 'A: ralph-loop router next --loop docs.');
  assert.equal(command('init'), 'A: ralph-loop init.');
  assert.equal(command('list'), 'A: ralph-loop list.');
});

test('names the program as the user can call it', () => {
  assert.equal(
    render(STOPPED, { name: null, mode: 'hook', program: 'node dist/scripts/main.cjs' }),
    'Stopped. Resume: node dist/scripts/main.cjs resume.',
  );
});

test('a message that names its loop is rendered for that loop', () => {
  const message = about(advise('Found a loop.', 'Start over', 'restart'), { name: 'docs', mode: 'runner' });
  assert.equal(
    render(message, { name: null, mode: 'hook' }),
    'Found a loop. Start over: ralph-loop run --loop docs --fresh.',
  );
});
