import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bash, hang, steps, text } from '../support/model/scripted-model.ts';
import { step } from '../support/terminal/step.ts';
import type { Terminal } from '../support/terminal/terminal.ts';
import { complete, idle, inTerminal, type LoopView, type TerminalLoop } from '../support/terminal/terminal-loop.ts';

const forEver = (nth: number): string => `until [ -e never-${nth} ]; do sleep 0.05; done`;
const wayOut =
  /Paused: the turn was interrupted\. Resume in another terminal, then send any message in the session: ralph-loop resume/g;

const paused = (loop: TerminalLoop): Promise<LoopView> =>
  loop.waitForState('the pause', (state) => state.status === 'paused' && state.paused?.reason === 'interrupted');

const atRest = (loop: TerminalLoop): Promise<LoopView> =>
  loop.waitForState('the end of the turn', ({ turn }) => turn === 'rest');

/** The client's own lines only: the status line under the input line says it all the time. */
const toldInTheSession = (screen: string, after = '❯'): number =>
  screen.slice(screen.indexOf(after), screen.lastIndexOf('❯')).match(wayOut)?.length ?? 0;

/** What stands below the last mention of `mark`. */
const below =
  (mark: string, wanted: RegExp) =>
  (screen: string): boolean =>
    screen.includes(mark) && wanted.test(screen.slice(screen.lastIndexOf(mark)));

/** Resumes from another terminal, and says something in the session. */
const goOn = async (loop: TerminalLoop, terminal: Terminal, message: string): Promise<void> => {
  loop.main('resume');
  await terminal.submit(message);
};

const script = steps([
  // An idle wait.
  text('one'),
  text(`nothing to do\n\n${idle}`),
  text(`I am here\n\n${complete}`),
  text(`still here\n\n${complete}`),
  text('going on'),
  // A tool.
  bash(forEver(1)),
  text(`I am back\n\n${complete}`),
  text('going on again'),
  // A silent model.
  hang('start'),
  text(`I was silent\n\n${complete}`),
  text('going on once more'),
  // Commands of the user's: an answer like any other, and one that would complete the loop if it counted.
  bash(forEver(2)),
  text('I see it'),
  text('going on for the fourth time'),
  bash(forEver(3)),
  text(`I see that, too\n\n${complete}`),
  text('going on for the last time'),
  text(`over\n\n${complete}`),
]);

test('a user interrupts', async (t) => {
  // One session for all of them: each begins where the one before has left it.
  await inTerminal({ frontmatter: 'idle:\n  delay: 5m' }, script, async (loop) => {
    const terminal = await loop.launch();
    const asked = (nth: number): string => loop.model.mainRequests()[nth]?.sinceText ?? '';

    await step(
      t,
      'Esc during an idle wait pauses the loop, and the next messages are told once how to continue and answered',
      async () => {
        await loop.waitForState('an idle wait', ({ status }) => status === 'waiting');
        await terminal.waitFor(/idle, wakes in [0-4]m/);
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
        await atRest(loop);
        await terminal.submit('really?');
        await terminal.waitFor('still here');
        await atRest(loop);
        assert.equal(toldInTheSession(await terminal.screen()), 1);
        const still = await paused(loop);
        assert.deepEqual([still.iteration, still.idleIterations], [1, 1]);
      },
    );

    await step(t, 'resume continues with the counters', async () => {
      await goOn(loop, terminal, 'go on');
      await terminal.waitFor(forEver(1));
      const working = await loop.waitForState('the next iteration', ({ status }) => status === 'running');
      assert.deepEqual([working.iteration, working.idleIterations], [1, 1]);
      assert.match(asked(5), /Iteration 2 of 25/);
    });

    await step(
      t,
      'Esc while a tool runs: the next message pauses the loop with a notice, is answered and not counted',
      async () => {
        await terminal.key('Escape');
        await terminal.waitFor(below(forEver(1), /Interrupted/));
        await terminal.submit('and now?');
        await terminal.waitFor(below('and now?', /UserPromptSubmit says: ralph-loop: Paused: [\s\S]*I am back/));
        assert.equal((await paused(loop)).iteration, 1);
        assert.equal(toldInTheSession(await terminal.screen(), '❯ and now?'), 1);
        await atRest(loop);
        await goOn(loop, terminal, 'go on again');
      },
    );

    await step(t, 'Esc while the model is silent: the next message pauses the loop and is not counted', async () => {
      await terminal.waitFor(() => loop.model.mainRequests().length === 9);
      await terminal.key('Escape');
      await terminal.waitFor(below('going on again', /Interrupted/));
      await terminal.submit('why so silent?');
      await terminal.waitFor('I was silent');
      await atRest(loop);
      assert.equal((await paused(loop)).iteration, 1);
      await goOn(loop, terminal, 'go on once more');
    });

    for (const [nth, signal, next] of [
      [2, 'no signal', 'go on for the fourth time'],
      [3, 'a signal', 'go on for the last time'],
    ] as const) {
      await step(
        t,
        `a shell command of the user after Esc is theirs: its answer, with ${signal}, pauses the loop and is not counted`,
        async () => {
          await terminal.waitFor(forEver(nth));
          await terminal.key('Escape');
          await terminal.waitFor(below(forEver(nth), /Interrupted/));
          const command = `echo by the user ${nth}`;
          await terminal.submit(`!${command}`);
          await terminal.waitFor(below(command, /Stop says: ralph-loop: Paused: the turn was interrupted/));
          assert.equal((await paused(loop)).iteration, 1);
          assert.ok(loop.model.mainRequests().some(({ sinceText }) => sinceText.includes(`by the user ${nth}`)));
          await goOn(loop, terminal, next);
        },
      );
    }

    const ended = await loop.waitForEnd();
    assert.deepEqual([ended.ended?.as, ended.iteration, ended.idleIterations], ['complete', 2, 1]);
  });
});
