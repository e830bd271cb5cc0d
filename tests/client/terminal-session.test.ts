import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localTime } from '../../src/text/time.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { bash, rateLimited, type Script, status, steps, text } from '../support/model/scripted-model.ts';
import { step } from '../support/terminal/step.ts';
import { complete, idle, inTerminal } from '../support/terminal/terminal-loop.ts';

/** A claude.ai login, as far as the client can tell. */
const login = { ANTHROPIC_API_KEY: undefined, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-made-up' };

// One of them has to wait a minute for the client, and the others need not wait for it.
describe('a session', { concurrency: 2 }, () => {
  test('with a login continues by itself when its usage limit has reset, as the loop’s next iteration', async () => {
    const limit = () => rateLimited(Math.ceil(Date.now() / 1000) + 2);
    const after = CLIENT.continuesAfterLimit ? 'two' : 'going on';
    const script = steps([text('one'), limit, text(after), text(`over\n\n${complete}`)]);
    await inTerminal({ env: login }, script, async (loop) => {
      const terminal = await loop.launch();
      const limited = await loop.waitForState('the pause', (state) => state.status === 'paused');
      assert.deepEqual([limited.paused?.reason, limited.iteration], ['rate-limited', 1]);
      const resets = limited.paused?.resumesAt ?? null;
      if (CLIENT.continuesAfterLimit) {
        assert.ok(Math.abs(Date.parse(resets ?? '') - Date.now()) < 60_000, String(resets));
        await terminal.waitFor(`ralph-loop: Paused by a rate limit until ${localTime(resets ?? '')}.`);
      } else {
        assert.equal(resets, null);
        await terminal.waitFor('Stop and wait for limit to reset');
        await terminal.key('Escape');
        await terminal.waitFor('paused (rate limited)');
        loop.main('resume');
        await terminal.submit('go on');
      }
      const ended = await loop.waitForEnd();
      assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', CLIENT.continuesAfterLimit ? 3 : 2]);
      const requests = loop.model.mainRequests().map(({ sinceText }) => sinceText);
      assert.match(requests[2] ?? '', CLIENT.continuesAfterLimit ? /usage limit has reset/ : /go on/);
      assert.match(requests[3] ?? '', CLIENT.continuesAfterLimit ? /Iteration 3 of 25/ : /Iteration 2 of 25/);
    });
  });

  test('with an API key', async (t) => {
    const agent = steps([
      ...[text('one'), status(429, { headers: { 'x-should-retry': 'false' } })],
      ...[text(`I am here\n\n${complete}`), text('going on')],
      ...[text(`nothing to do\n\n${idle}`), text(`hello again\n\n${complete}`)],
      ...[bash("claude -p 'a nested question' < /dev/null > answer.txt"), text('it has answered')],
      text(`over\n\n${complete}`),
    ]);
    const script: Script = {
      ...agent,
      main: (request) =>
        request.lastUserText === 'a nested question' ? text(`nested answer\n\n${complete}`) : agent.main(request),
    };
    // One client for all of them: each begins where the one before has left it.
    await inTerminal({ frontmatter: 'idle:\n  delay: 15m' }, script, async (loop) => {
      const terminal = await loop.launch();

      await step(
        t,
        'shows that a rate limit has paused the loop and how to continue, and continues after resume',
        async () => {
          const limited = await loop.waitForState('the pause', (state) => state.status === 'paused');
          assert.deepEqual(
            [limited.paused?.reason, limited.paused?.resumesAt, limited.iteration],
            ['rate-limited', null, 1],
          );
          await terminal.waitFor(
            'ralph: default │ paused (rate limited) │ iter 2/25',
            /ralph-loop: Paused by a rate limit; the client did not report when it resets\. Resume, then send any message in the session: ralph-loop resume/,
          );
          await terminal.submit('are you there?');
          await terminal.waitFor('I am here', /UserPromptSubmit says: ralph-loop: Paused by a rate limit/);
          await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
          loop.main('resume');
          await terminal.submit('go on');
          const going = await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
          assert.deepEqual([going.iteration, going.idleIterations], [1, 1]);
        },
      );

      await step(
        t,
        'that was cleared during an idle wait keeps its loop, says so, and continues with the next message',
        async () => {
          const before = await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
          await terminal.waitFor(/idle, wakes in/);
          await terminal.submit('/clear');
          await terminal.waitFor(
            /SessionStart:clear says: ralph-loop: The loop \(1 of 25 iterations done\) stays with this session/,
          );
          const bound = await loop.waitForState('the new session', ({ sessionId }) => sessionId !== before.sessionId);
          assert.deepEqual([bound.clientPid, bound.loopId, bound.iteration], [before.clientPid, before.loopId, 1]);
          await terminal.submit('hello');
          await terminal.waitFor('hello again');
          await loop.waitForState(
            'the rest of the wait',
            (state) => state.turn === 'rest' && state.status === 'waiting',
          );
          loop.main('wake');
          const ended = await loop.waitForEnd();
          assert.deepEqual([ended.ended?.as, ended.iteration, ended.idleIterations], ['complete', 3, 1]);
          assert.equal(ended.sessionId, bound.sessionId);
          assert.ok((ended.usage.costUsd ?? -1) >= (before.usage.costUsd ?? 0));
          assert.match(loop.model.mainRequests()[6]?.sinceText ?? '', /Iteration 2 of 25/);
        },
      );

      await step(
        t,
        'that the agent starts from its shell is answered, ends its turn and is not part of the loop',
        () => {
          assert.match(loop.workspace.read('answer.txt'), /nested answer/);
          assert.deepEqual(
            loop.project.iterations().map(({ iteration }) => iteration),
            [1, 1, 2, 3],
            'with the idle one',
          );
          assert.equal(loop.model.mainRequests().filter(({ lastUserText }) => /nested/.test(lastUserText)).length, 1);
        },
      );
    });
  });
});
