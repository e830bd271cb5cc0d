import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openText, withOpenText } from '../../../../src/drive/records/live-events.ts';
import type { RunnerEvent } from '../../../../src/engine/runner-event.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { emptyFolder } from '../../../support/folder.ts';

const delta = (text: string): RunnerEvent => ({ type: 'agent.text-delta', text });
const whole = (text: string): RunnerEvent => ({ type: 'agent.text', text });

/** A runner's side and a view's side of a loop's text; `at` is the clock, `poll` what the view shows by one reading. */
function sides(t: import('node:test').TestContext) {
  const dir = emptyFolder(t);
  const files = loopFiles(dir, null, { HOME: dir, XDG_STATE_HOME: `${dir}/state` });
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  const hear = openText(files, 'one');
  const stream: RunnerEvent[] = [];
  const news = withOpenText(files, 'one', () => stream.splice(0));
  return {
    files,
    write(text: string) {
      t.mock.timers.tick(1_000);
      hear(delta(text));
    },
    record(event: RunnerEvent) {
      stream.push(event);
      hear(event);
    },
    poll: () =>
      news(null)
        .map((event) => ('text' in event && event.type === 'agent.text-delta' ? event.text : `<${event.type}>`))
        .join(''),
  };
}

test('a view of another process shows each piece of the text once, by whole words', (t) => {
  const { write, record, poll } = sides(t);
  write('I read the te');
  assert.equal(poll(), 'I read the ');
  write('sts one ');
  assert.equal(poll(), 'tests one ');
  write('after the other');
  record(whole('I read the tests one after the other'));
  assert.equal(poll(), 'after the other<agent.text>');
  write('Next one');
  assert.equal(poll() + poll(), 'Next ');
});

test('text of a message that was broken off is no part of the next one', (t) => {
  const { write, record, poll } = sides(t);
  write('I beg');
  write('in …\nI begin ');
  assert.equal(poll(), 'I begin …\nI begin ');
  record(whole('I begin again'));
  assert.equal(poll(), 'again<agent.text>');
});

test('a secret in open text is masked, and the text of another loop is not shown', (t) => {
  const { files, write, poll } = sides(t);
  write(`The key is ghp_${'a1B2'.repeat(9)} and more`);
  assert.equal(poll(), 'The key is *** and ');
  assert.equal(withOpenText(files, 'two', () => [])(null).length, 0);
});
