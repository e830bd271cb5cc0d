import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mainPath } from '../support/client/loop-project.ts';
import { signalQuietly } from '../support/client/process-tree.ts';
import { bash, hang, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';
import type { Terminal } from '../support/terminal/terminal.ts';
import { complete, inTerminal, type TerminalLoop } from '../support/terminal/terminal-loop.ts';
import { until } from '../support/until.ts';

const run = `'${process.execPath}' '${mainPath}' run --permission-mode bypassPermissions`;
const real = { init: false, frontmatter: 'max_iterations: 5' };
const options = { ...real, standIn: true };

/** A shell that notes the terminal's modes before and after the command, and how that ended. */
const inShell = (loop: TerminalLoop, command: string): Promise<Terminal> =>
  loop.open('/bin/bash', ['-c', `stty -a > before; ${command}; code=$?; stty -a > after; exit $code`], {}, [80, 24]);

const isRestored = ({ workspace }: TerminalLoop): void => {
  assert.match(workspace.read('before'), / icanon /, 'control: a terminal of a shell has these modes');
  assert.equal(workspace.read('after'), workspace.read('before'));
};

/** The runner, once its agent has asked the model and the terminal shows the run. */
const working = async (loop: TerminalLoop, terminal: Terminal): Promise<number> => {
  await until('the request', () => loop.model.mainRequests().length === 1);
  await terminal.waitFor('│ iter 1/5 │');
  return (await loop.waitForState('the runner', ({ clientPid }) => clientPid > 0)).clientPid;
};

const PLAIN = [
  ['with TERM=dumb', `TERM=dumb ${run}`],
  ['with --plain', `${run} --plain`],
  ['where its input is none', `${run} < /dev/null`],
] as const;

describe('a terminal that showed a run', { concurrency: 2 }, () => {
  test('restores its modes at the end', async () => {
    await inTerminal({ ...real, standIn: !IS_LONG }, steps([text(`Done.\n\n${complete}`)]), async (loop) => {
      const terminal = await inShell(loop, run);
      assert.equal(await terminal.waitForExit(), 0);
      isRestored(loop);
    });
  });

  longTest('restores them after SIGTERM, and the loop can be resumed', async () => {
    await inTerminal(options, { main: () => hang('start') }, async (loop) => {
      const terminal = await inShell(loop, run);
      signalQuietly(await working(loop, terminal), 'SIGTERM');
      assert.equal(await terminal.waitForExit(), 130);
      isRestored(loop);
      assert.equal(loop.state()?.status, 'paused');
      assert.doesNotMatch(await terminal.history(), /iter 1\/5/, 'nothing of the bottom is left');
    });
  });

  test('restores them after a crash, and the reason is readable', async () => {
    await inTerminal(options, { main: () => hang('start') }, async (loop) => {
      const breaks = 'process.once("SIGUSR2",()=>{throw new Error("broken on purpose")})';
      const broken = `data:text/javascript,${encodeURIComponent(breaks)}`;
      const terminal = await inShell(loop, `NODE_OPTIONS='--import=${broken}' ${run}`);
      signalQuietly(await working(loop, terminal), 'SIGUSR2');
      assert.notEqual(await terminal.waitForExit(), 0);
      isRestored(loop);
      assert.match(await terminal.history(), /^Error: broken on purpose$/m);
    });
  });

  test('is the shell’s after Ctrl+Z, while the run continues in the background, and shows it again after fg', async () => {
    const script = steps([bash('echo one; until [ -e go ]; do sleep 0.05; done'), text(`Done.\n\n${complete}`)]);
    await inTerminal(options, script, async (loop) => {
      const terminal = await loop.open('/bin/bash', ['--norc', '--noprofile', '-i'], {}, [80, 24]);
      await terminal.submit(run);
      await terminal.waitFor(/… Bash echo one/);
      await terminal.key('C-z');
      await terminal.waitFor(/Stopped/);
      await terminal.submit('stty -a > stopped; echo shell again');
      await terminal.waitFor(/^shell again$/m);
      assert.match(loop.workspace.read('stopped'), / icanon .* echo /s);
      await terminal.submit('bg');
      await terminal.submit('echo typed; jobs');
      await terminal.waitFor(/^typed\n\[1\]\+ {2}Running/m);
      await terminal.submit('fg');
      await terminal.waitFor(/… Bash echo one[\s\S]*│ iter 1\/5 │/);
      await terminal.send('go on');
      await terminal.key('Enter');
      await terminal.waitFor('↳ next tool call: go on');
      loop.workspace.write('go', '');
      await terminal.waitFor(/you: go on[\s\S]*ralph-loop: Complete/);
      assert.match(loop.model.mainRequests()[1]?.sinceText ?? '', /go on/);
    });
  });

  for (const [how, command] of someOf(PLAIN, 3)) {
    test(`gets plain lines ${how}`, async () => {
      await inTerminal(options, steps([bash('echo one'), text(`Done.\n\n${complete}`)]), async (loop) => {
        const terminal = await inShell(loop, command);
        assert.equal(await terminal.waitForExit(), 0);
        const plain = await terminal.history();
        assert.match(
          plain,
          /Ctrl\+C stops it after this iteration; a second one cancels it\.\n\n─── Iteration 1 of 5 ───\n {2}✓ Bash echo one/,
        );
      });
    });
  }
});
