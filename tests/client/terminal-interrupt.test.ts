import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bash, hang, steps, text } from '../support/model/scripted-model.ts';
import type { Terminal } from '../support/terminal/terminal.ts';
import { complete, idle, inTerminal, type TerminalLoop } from '../support/terminal/terminal-loop.ts';

const forEver = 'until [ -e never ]; do sleep 0.05; done';
const wayOut =
  /Paused: the turn was interrupted\. Resume in another terminal, then send any message in the session: ralph-loop resume/g;

const paused = (loop: TerminalLoop) =>
  loop.waitForState('the pause', (state) => state.status === 'paused' && state.paused?.reason === 'interrupted');

/** The client's own lines only: the status line under the input line says it all the time. */
const toldInTheSession = (screen: string): number =>
  screen.slice(0, screen.lastIndexOf('❯')).match(wayOut)?.length ?? 0;

/** Resumes from another terminal, once the turn in progress is over, and says anything in the session. */
const goOn = async (loop: TerminalLoop, terminal: Terminal): Promise<void> => {
  await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
  loop.main('resume');
  await terminal.submit('go on');
};

// Most of their time is waiting: two at a time.
describe('a user who interrupts', { concurrency: 2 }, () => {
  test('Esc during an idle wait pauses the loop; the next message is told once how to continue and answered; resume continues with the counters', async () => {
    const script = steps([
      text('one'),
      text(`nothing to do\n\n${idle}`),
      text(`I am here\n\n${complete}`),
      text(`still here\n\n${complete}`),
      text('going on'),
      text('two'),
      text(`over\n\n${complete}`),
    ]);
    await inTerminal({ frontmatter: 'idle:\n  delay: 5m' }, script, async (loop) => {
      const terminal = await loop.launch();
      await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
      await terminal.waitFor(/idle, wakes in 4m/);
      await terminal.key('Escape');
      await paused(loop);
      const screen = await terminal.waitFor(
        'ralph: default │ paused (interrupted) │ iter 2/25',
        // The status line says how to go on.
        (shown) => shown.slice(shown.lastIndexOf('❯')).match(wayOut) !== null,
      );
      assert.equal(toldInTheSession(screen), 0, 'control: what the hook says on Esc is dropped by the client');

      await terminal.submit('are you there?');
      await terminal.waitFor('I am here', /UserPromptSubmit says: ralph-loop: Paused: the turn was interrupted/);
      await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
      await terminal.submit('really?');
      await terminal.waitFor('still here');
      await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
      assert.equal(toldInTheSession(await terminal.screen()), 1);
      const still = await paused(loop);
      assert.deepEqual([still.iteration, still.idleIterations], [1, 1]);

      await goOn(loop, terminal);
      const ended = await loop.waitForEnd();
      assert.deepEqual([ended.ended?.as, ended.iteration, ended.idleIterations], ['complete', 3, 1]);
      assert.match(loop.model.mainRequests()[5]?.sinceText ?? '', /Iteration 2 of 25/);
    });
  });

  test('Esc while a tool runs: the next message pauses the loop with a notice, is answered and not counted; resume continues', async () => {
    const script = steps([
      text('one'),
      bash(forEver),
      text(`I am here\n\n${complete}`),
      text('going on'),
      text('two'),
      text(`over\n\n${complete}`),
    ]);
    await inTerminal({}, script, async (loop) => {
      const terminal = await loop.launch();
      await terminal.waitFor(forEver);
      await terminal.key('Escape');
      await terminal.waitFor(/Interrupted/);
      await terminal.submit('are you there?');
      await terminal.waitFor('I am here', /UserPromptSubmit says: ralph-loop: Paused: the turn was interrupted/);
      assert.equal((await paused(loop)).iteration, 1);
      await goOn(loop, terminal);
      const ended = await loop.waitForEnd();
      assert.deepEqual([ended.ended?.as, ended.iteration], ['complete', 3]);
      assert.equal(toldInTheSession(await terminal.screen()), 1);
    });
  });

  test('Esc while the model is silent: the next message pauses the loop and is not counted', async () => {
    const script = steps([text('one'), hang('start'), text(`I am here\n\n${complete}`)]);
    await inTerminal({}, script, async (loop) => {
      const terminal = await loop.launch();
      await terminal.waitFor(() => loop.model.mainRequests().length === 2);
      await terminal.key('Escape');
      await terminal.waitFor(/Interrupted/);
      await terminal.submit('are you there?');
      await terminal.waitFor('I am here');
      const state = await loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');
      assert.deepEqual([state.status, state.paused?.reason, state.iteration], ['paused', 'interrupted', 1]);
    });
  });

  // A reply like any other, and one that would complete the loop if it counted.
  for (const [reply, signal] of [
    ['I see it', 'no signal'],
    [`I see it\n\n${complete}`, 'a signal'],
  ] as const) {
    test(`a shell command of the user after Esc is theirs: its answer, with ${signal}, pauses the loop and is not counted`, () =>
      userCommand(reply));
  }

  async function userCommand(reply: string): Promise<void> {
    const script = steps([text('one'), bash(forEver), text(reply)]);
    await inTerminal({}, script, async (loop) => {
      const terminal = await loop.launch();
      await terminal.waitFor(forEver);
      await terminal.key('Escape');
      await terminal.waitFor(/Interrupted/);
      await terminal.submit('!echo by the user');
      await terminal.waitFor(/Stop says: ralph-loop: Paused: the turn was interrupted/);
      assert.equal((await paused(loop)).iteration, 1);
      assert.match(loop.model.mainRequests()[2]?.sinceText ?? '', /by the user/);
    });
  }
});
