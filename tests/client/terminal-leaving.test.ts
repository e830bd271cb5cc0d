import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { descendants, lives, signalQuietly } from '../support/client/process-tree.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG } from '../support/short-form.ts';
import { step } from '../support/terminal/step.ts';
import type { Terminal } from '../support/terminal/terminal.ts';
import { complete, idle, inTerminal, type TerminalLoop } from '../support/terminal/terminal-loop.ts';
import { until } from '../support/until.ts';

const forEver = 'until [ -e never ]; do sleep 0.05; done';
const wayBack = /^ralph-loop: Interrupted: the client exited while the loop was live\. Resume: ralph-loop resume/m;

/** The launcher has left, and the loop lies there, interrupted after its first iteration. */
const interrupted = async (loop: TerminalLoop, terminal: Terminal): Promise<void> => {
  assert.equal(await terminal.waitForExit(), 130);
  assert.match(await terminal.history(), wayBack);
  const state = loop.state();
  assert.deepEqual([state?.status, state?.paused?.reason, state?.iteration], ['paused', 'interrupted', 1]);
};

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

const hooksOf = (client: number): number[] | undefined => {
  const found = descendants(client).filter((pid) => read(`/proc/${pid}/cmdline`).includes('ralph-stop-hook.cjs\0'));
  return found.length > 0 ? found : undefined;
};

/** Both at once: what the client says in between stands there for less than a second. */
const leaveTwice = (terminal: Terminal): Promise<void> => terminal.key('C-c', 'C-c');

const waits = text(`nothing to do\n\n${idle}`);
const script = steps([
  ...[text('one'), waits],
  ...[waits, waits],
  ...(IS_LONG ? [bash(forEver), bash(forEver)] : [bash(forEver)]),
  ...[waits],
  ...[text('two'), text(`over\n\n${complete}`)],
]);

// Each begins where the one before has left the loop: one client is resumed by the next.
test('a user leaves', async (t) => {
  await inTerminal({ frontmatter: 'idle:\n  delay: 2h\n  max_delay: 2h' }, script, async (loop) => {
    const waiting = (what = 'an idle wait') => loop.waitForState(what, ({ status }) => status === 'waiting');
    const resumed = async (): Promise<Terminal> => {
      const { clientPid } = loop.state() ?? assert.fail('there is no loop');
      const terminal = await loop.launch('--resume');
      await loop.waitForState('the new client', (state) => state.status !== 'paused' && state.clientPid !== clientPid);
      return terminal;
    };
    let loopId = '';

    await step(
      t,
      'the sleeping hook of a killed client ends long before its wait is over, and a plain start refuses',
      async () => {
        // By hand, so that no launcher is there to notice it.
        const byHand = 'RALPH_ACTIVE=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 claude --permission-mode bypassPermissions go';
        await loop.open('/bin/bash', ['-c', byHand]);
        const { clientPid, ...before } = await waiting();
        loopId = before.loopId;
        const hooks = await until('the sleeping hook', () => hooksOf(clientPid));
        signalQuietly(clientPid, 'SIGKILL');
        try {
          await until('the end of the hook', () => hooks.every((pid) => !lives(pid)));
        } finally {
          for (const pid of hooks) signalQuietly(pid, 'SIGKILL');
        }
        const left = loop.state();
        assert.deepEqual([left?.status, left?.paused?.reason, left?.iteration], ['paused', 'interrupted', 1]);
        assert.match(left?.paused?.message ?? '', /the client exited/);
        assert.equal(loop.project.main(['start']).code, 1);
      },
    );

    await step(
      t,
      '/exit during an idle wait: the launcher says how to continue and exits with 130, and a plain start refuses',
      async () => {
        const terminal = await resumed();
        await waiting();
        await terminal.waitFor(/idle, wakes in/);
        await terminal.submit('/exit');
        await interrupted(loop, terminal);

        const again = await loop.launch();
        assert.equal(await again.waitForExit(), 1);
        assert.match(await again.history(), /Found an interrupted loop \(1 iteration done\).*resume.*--fresh/);
        assert.equal(loop.state()?.status, 'paused');
      },
    );

    await step(
      t,
      'Ctrl+C three times during an idle wait leaves: once is Esc, and twice more ends the client',
      async () => {
        const terminal = await resumed();
        await waiting();
        await terminal.waitFor(/idle, wakes in/);
        await terminal.key('C-c');
        await loop.waitForState('the pause', ({ status }) => status === 'paused');
        await terminal.waitFor(/Interrupted/);
        await leaveTwice(terminal);
        await interrupted(loop, terminal);
      },
    );

    await step(t, '/exit while the agent works in a tool ends it, and the launcher says how to continue', async () => {
      const terminal = await resumed();
      await terminal.waitFor(forEver);
      await terminal.submit('/exit');
      await interrupted(loop, terminal);
    });

    if (IS_LONG)
      await step(t, 'Ctrl+C while the agent works in a tool, and twice more to leave', async () => {
        const terminal = await resumed();
        await terminal.waitFor(forEver);
        await terminal.key('C-c');
        await terminal.waitFor(/Interrupted/);
        await leaveTwice(terminal);
        await interrupted(loop, terminal);
      });

    await step(t, 'leaving a loop that the user has paused says how to continue without the session', async () => {
      const terminal = await resumed();
      await waiting();
      loop.main('pause');
      await terminal.waitFor(/Stop says: ralph-loop: Paused by the user/);
      await terminal.submit('/exit');
      assert.equal(await terminal.waitForExit(), 3);
      assert.match(
        await terminal.history(),
        /^ralph-loop: Paused by the user\..*The client exited while the loop was live\. Resume: ralph-loop resume/m,
      );
    });

    await step(t, '--resume continues with the counters in a new client', async () => {
      const sessionId = loop.state()?.sessionId;
      const back = await loop.launch('--resume');
      const ended = await loop.waitForEnd();
      assert.deepEqual([ended.ended?.as, ended.iteration, ended.idleIterations], ['complete', 3, 4]);
      assert.equal(ended.loopId, loopId);
      assert.notEqual(ended.sessionId, sessionId);
      assert.match(loop.model.mainRequests()[IS_LONG ? 7 : 6]?.lastUserText ?? '', /Iteration 2 of 25/);
      await back.submit('/exit');
      assert.equal(await back.waitForExit(), 0);
    });
  });
});
