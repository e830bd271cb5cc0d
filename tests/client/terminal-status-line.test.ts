import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { delay, type Reply, steps, text } from '../support/model/scripted-model.ts';
import { step } from '../support/terminal/step.ts';
import { idle, inTerminal } from '../support/terminal/terminal-loop.ts';

test('the status line', async (t) => {
  // The agent thinks until the status line has shown what it has to show meanwhile.
  const shown: (() => void)[] = [];
  const thinks = (reply: Reply): (() => Promise<Reply>) => {
    const over = new Promise<void>((resolve) => shown.push(resolve));
    return () => over.then(() => reply);
  };
  let turn = 0;
  // The client tells its cost once a second, and 5,000 tokens cost more than a cent with any model.
  const costly = (): Reply => delay(1_500, text(`turn ${++turn} is done`, { output_tokens: 5_000 }));
  const script = steps([thinks(text('one')), text(`nothing to do\n\n${idle}`), thinks(text('two'))], costly);
  const frontmatter = 'idle:\n  delay: 15m\nbudget:\n  max_cost: 0.2\nmax_iterations: 25';
  await inTerminal({ frontmatter }, script, async (loop) => {
    const own = loop.workspace.write(
      join(loop.workspace.home, 'own-line.sh'),
      '#!/bin/sh\nread -r payload\ncase $payload in *session_id*) echo "my own line: fed";; esac\n',
      0o755,
    );
    const path = join(loop.workspace.configDir, 'settings.json');
    const statusLine = { type: 'command', command: own };
    loop.workspace.write(path, { ...loop.workspace.json(path), statusLine });
    const terminal = await loop.launch();

    await step(
      t,
      'names the loop, its state and its iteration, ticks while the loop is idle, and has the user’s own line below',
      async () => {
        await terminal.waitFor(
          /ralph: default │ running │ iter 1\/25 │ (?:\d+m )?\d+[sm]/,
          /ralph: default[^\n]*\n\s*my own line: fed/,
        );
        shown[0]?.();
        const left = /wakes in (\d+)m ?(\d*)s?/;
        const seconds = (screen: string): number => {
          const [, minutes = Number.NaN, rest] = left.exec(screen) ?? [];
          return 60 * Number(minutes) + Number(rest);
        };
        const first = seconds(await terminal.waitFor(left));
        const second = seconds(await terminal.waitFor((screen) => seconds(screen) < first));
        await terminal.waitFor((screen) => seconds(screen) < second);
        loop.main('wake');
        await terminal.waitFor(/ralph: default │ running │ iter 2\/25/);
        assert.equal(loop.state()?.iteration, 1);
        shown[1]?.();
      },
    );

    await step(t, 'the client’s cost is kept for the loop and shown, and the budget max_cost ends it', async () => {
      const counted = await loop.waitForState('a cost', ({ usage: { costUsd } }) => costUsd !== null && costUsd > 0);
      assert.ok(counted.iteration >= 1);
      await terminal.waitFor(/│ \$0\.\d*[1-9]/);
      const ended = await loop.waitForEnd();
      assert.equal(ended.ended?.as, 'budget-exhausted');
      assert.ok((ended.usage.costUsd ?? 0) >= 0.2 && ended.iteration < 25, `${ended.usage.costUsd}`);
      await terminal.waitFor(/Stop says: [\s\S]*ralph-loop: Stopped: the budget max_cost is exhausted/);
    });
  });
});
