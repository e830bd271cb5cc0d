import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { bash, delay, steps, text } from './support/scripted-model.ts';
import { complete, idle, inTerminal } from './support/terminal-loop.ts';

// Most of their time is waiting: two at a time.
describe('a user who speaks', { concurrency: 2 }, () => {
  test('a message typed during an idle wait is answered at once, is no iteration and claims nothing, and the rest of the wait follows', async (context: TestContext) => {
    const script = steps([
      text(`nothing to do\n\n${idle}`),
      text(`it is four\n\n${complete}`),
      text(`over\n\n${complete}`),
    ]);
    await inTerminal({ frontmatter: 'idle:\n  delay: 10s' }, script, async (loop) => {
      const terminal = await loop.launch();
      const before = await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
      await terminal.waitFor(/idle, next look in \ds/);
      await terminal.send('what is two and two?');
      const entered = Date.now();
      await terminal.key('Enter');
      await terminal.waitFor('it is four');
      const [, asked] = loop.model.mainRequests();
      const ms = (asked?.at ?? Number.NaN) - entered;
      context.diagnostic(`asked of the model ${ms} ms after Enter, on the screen after ${Date.now() - entered} ms`);
      assert.match(asked?.sinceText ?? '', /what is two and two\?/);
      assert.ok(ms < 5_000, `${ms} ms`);
      const after = await loop.waitForState('the wait again', (s) => s.turn === 'rest' && s.status === 'waiting');
      assert.equal(after.waiting?.until, before.waiting?.until);
      assert.deepEqual([after.iteration, after.idleIterations], [0, 1]);
      const ended = await loop.waitForEnd();
      assert.deepEqual([ended.ended?.as, ended.iteration, ended.idleIterations], ['complete', 1, 1]);
      const [, , next] = loop.model.mainRequests();
      assert.match(next?.sinceText ?? '', /Iteration 1 of 25/);
      assert.ok((next?.at ?? 0) >= Date.parse(before.waiting?.until ?? ''), 'the rest of the wait was not waited');
    });
  });

  test('a message that no tool call took in is answered when the loop begins to wait', async () => {
    const script = steps([
      delay(2_500, text(`nothing to do\n\n${idle}`)),
      text(`I see it\n\n${complete}`),
      text(`over\n\n${complete}`),
    ]);
    await inTerminal({ frontmatter: 'idle:\n  delay: 8s' }, script, async (loop) => {
      const terminal = await loop.launch();
      await loop.waitForState('the first turn', ({ turn }) => turn === 'agent');
      await terminal.submit('do you see this?');
      await terminal.waitFor(/Queued/);
      assert.equal(loop.state()?.status, 'running', 'control: it was typed before the wait');
      const waiting = await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
      await terminal.waitFor('I see it');
      assert.ok(Date.now() < Date.parse(waiting.waiting?.until ?? ''), 'it was answered after the wait only');
      const ended = await loop.waitForEnd();
      assert.deepEqual([ended.iteration, ended.idleIterations], [1, 1]);
      assert.equal(loop.project.events('user.answered').length, 1);
    });
  });

  test('a message typed while a tool runs reaches the agent there, and changes nothing in the count', async () => {
    const script = steps([bash('sleep 3; echo slept'), text('both done'), text(`over\n\n${complete}`)]);
    await inTerminal({}, script, async (loop) => {
      const terminal = await loop.launch();
      await terminal.waitFor(/sleep 3; echo slept/);
      await terminal.submit('mind the gap');
      const ended = await loop.waitForEnd();
      assert.match(loop.model.mainRequests()[1]?.sinceText ?? '', /slept[\s\S]*mind the gap/);
      assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', 2]);
      assert.deepEqual(
        loop.project.iterations().map(({ iteration }) => iteration),
        [1, 2],
      );
      assert.equal(loop.project.events('user.answered').length, 0);
    });
  });
});
