import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENT } from '../support/client/client-facts.ts';
import { bash, type Reply, steps, text } from '../support/model/scripted-model.ts';
import { step } from '../support/terminal/step.ts';
import { complete, idle, inTerminal } from '../support/terminal/terminal-loop.ts';

test('a user speaks', async (t) => {
  let queued = (): void => undefined;
  const silence = new Promise<void>((resolve) => {
    queued = resolve;
  });
  const script = steps([
    text(`nothing to do\n\n${idle}`),
    text(`it is four\n\n${complete}`),
    text('good night'),
    (): Promise<Reply> => silence.then(() => text(`nothing to do yet\n\n${idle}`)),
    text(`I see it\n\n${complete}`),
    bash('until [ -e go ]; do sleep 0.05; done; echo slept'),
    text('both done'),
    text(`over\n\n${complete}`),
  ]);
  // One session for all of them: each begins where the one before has left it.
  await inTerminal({ frontmatter: 'idle:\n  delay: 15m' }, script, async (loop) => {
    const terminal = await loop.launch();
    const answered = (): number => loop.project.events('user.answered').length;
    const waitsAgain = () => loop.waitForState('the wait again', (s) => s.turn === 'rest' && s.status === 'waiting');

    await step(
      t,
      'a message typed during an idle wait is answered, is not an iteration and claims nothing, and the rest of the wait follows',
      async () => {
        const before = await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
        await terminal.waitFor(/idle, wakes in \d+m/);
        await terminal.submit('what is two and two?');
        await terminal.waitFor('it is four');
        assert.match(loop.model.mainRequests()[1]?.sinceText ?? '', /what is two and two\?/);
        const after = await waitsAgain();
        assert.equal(after.waiting?.until, before.waiting?.until);
        assert.deepEqual([after.iteration, after.idleIterations], [0, 1]);
        assert.equal(loop.model.mainRequests().length, 2);
      },
    );

    await step(
      t,
      'a command of the client typed during the wait runs at once, and its user learns how the loop goes on',
      async () => {
        await terminal.submit('/context');
        await terminal.waitFor(/if your command makes it answer nothing, send any message/, 'Context');
        await loop.waitForState('the end of the wait', ({ turn }) => turn === 'user');
        assert.match(loop.main('status'), /is waiting for (?:the next answer of the agent|a message)/);
        await terminal.submit('good night');
        await waitsAgain();
        assert.equal(loop.model.mainRequests().length, 3);
        loop.main('wake');
        await loop.waitForState('the next turn', ({ turn }) => turn === 'agent');
        await terminal.waitFor(() => loop.model.mainRequests().length === 4);
        assert.match(loop.model.mainRequests()[3]?.sinceText ?? '', /Iteration 1 of 25/);
        const over = loop.project.events('idle.ended').map(({ why }) => why);
        assert.deepEqual(over, ['woken'], 'the rest of the wait was waited');
      },
    );

    await step(t, 'a message that no tool call delivered is answered when the loop begins to wait', async () => {
      const before = answered();
      await terminal.submit('do you see this?');
      await terminal.waitFor(CLIENT.queued);
      assert.equal(loop.state()?.status, 'running', 'control: it was typed before the wait');
      queued();
      await terminal.waitFor('I see it');
      // The screen shows the answer before the Stop hook has it.
      await terminal.waitFor(() => answered() > before);
      const after = await waitsAgain();
      assert.deepEqual([after.iteration, after.idleIterations], [0, 2]);
      assert.equal(answered(), before + 1);
      loop.main('wake');
    });

    await step(
      t,
      'a message typed while a tool runs reaches the agent there and does not affect the count',
      async () => {
        const before = answered();
        await terminal.waitFor(/; echo slept/);
        // In an empty input line, this key opens the client's list of agents and moves the session to another process.
        await terminal.key('Left');
        await terminal.submit('mind the gap');
        await terminal.waitFor(CLIENT.queued);
        loop.workspace.write('go', '');
        const ended = await loop.waitForEnd();
        assert.match(loop.model.mainRequests()[6]?.sinceText ?? '', /slept[\s\S]*mind the gap/);
        assert.deepEqual([ended.ended?.as, ended.iteration, ended.idleIterations], ['complete', 2, 2]);
        assert.deepEqual(
          loop.project.iterations().map(({ iteration }) => iteration),
          [0, 0, 1, 2],
        );
        assert.equal(answered(), before);
      },
    );
  });
});
