import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findClientBinary } from '../support/client/client-binary.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { bundle, type LoopProject, launcherFile } from '../support/client/loop-project.ts';
import { emptyFolder } from '../support/folder.ts';
import { bash, type Reply, type Script, steps, text } from '../support/model/scripted-model.ts';
import { keepScreen } from '../support/screenshots.ts';
import { IS_LONG, someOf } from '../support/short-form.ts';
import { complete, idle, inTerminal, type LoopView } from '../support/terminal/terminal-loop.ts';
import { until } from '../support/until.ts';

const LAUNCH = ['--permission-mode', 'bypassPermissions', '--', '--plugin-dir', bundle];

/** An agent that thinks until the test has seen what it wants to see. */
function thinking(): { readonly replies: (reply: Reply) => () => Promise<Reply>; readonly release: () => void } {
  const waiting: (() => void)[] = [];
  return {
    replies: (reply) => {
      const over = new Promise<void>((resolve) => waiting.push(resolve));
      return () => over.then(() => reply);
    },
    release: () => waiting.shift()?.(),
  };
}

const SLOW = 'while [ ! -e go ]; do sleep 0.1; done\nrm go\necho "slugify keeps 3 dashes"\nexit 1\n';
/** What the pane says, at the right of the screen, however its lines wrap. */
const inPane = (text: RegExp) => (screen: string) => text.test(paneText(screen));
const paneText = (screen: string): string =>
  screen
    .split('\n')
    .flatMap((row) => (row.includes('│') ? (row.split('│').at(-1) ?? '').trim() : []))
    .filter(Boolean)
    .join(' ');

/** The client tells these hooks of every notification. */
const NOTIFICATION = [
  { hooks: [{ type: 'command', command: 'cat >> notifications.jsonl; echo >> notifications.jsonl' }] },
];
const NOTED = JSON.stringify({ hooks: { Notification: NOTIFICATION } });
const checked = 'baseline: false\nvalidation:\n  - name: slow\n    run: sh slow.sh';

for (const columns of someOf([150, 80], 2)) {
  test(`the plugin draws a band and a pane in ${columns} columns, with the running check and its output`, async () => {
    const agent = thinking();
    const script = steps([text(`over\n\n${complete}`), agent.replies(text('one')), text(`nothing to do\n\n${idle}`)]);
    const frontmatter = `idle:\n  delay: 15m\n${checked}`;
    const files = { 'slow.sh': SLOW, '.claude/settings.local.json': NOTED };
    await inTerminal({ frontmatter, files }, script, async (loop) => {
      const notified = (): unknown[] =>
        loop.workspace
          .jsonLines('notifications.jsonl')
          .flatMap(({ title, message }) => (title === 'ralph-loop' ? [message] : []));
      const terminal = await loop.open(loop.workspace.path(launcherFile), LAUNCH, {}, [columns, 60]);
      if (!CLIENT.loadsMods) {
        loop.workspace.write('go', '');
        agent.release();
        await loop.waitForState('idle', ({ status }) => status === 'waiting');
        assert.doesNotMatch(await terminal.screen(), /ralph running|ralph waiting/);
        loop.main('cancel');
        assert.equal((await loop.waitForEnd()).ended?.as, 'cancelled');
        return;
      }
      await terminal.waitFor(/ralph verifying · check slow · iteration/);
      loop.workspace.write('go', '');
      await terminal.waitFor(/ralph running · iteration 2 of 25/);
      // Unasked, the client draws a pane from 144 columns; one that a command opens at any width.
      if (columns >= 144) {
        await terminal.waitFor(
          inPane(/Next: .*The last check, slow, failed: .*slugify keeps 3 dashes.*Iteration 1: /),
          inPane(/Iteration 1: (?:\d+m )?\d+s, (?:\$[\d.]+ reported, )?0 tool calls; the agent claimed/),
        );
      } else await terminal.waitFor(/ralph-status opens the pane/);
      // While it works, the band's cost is that of the status line.
      await terminal.waitFor(
        /iteration 2 of 25 · (\$0\.0*[1-9]\d*)[\s\S]*ralph: default │ running │ iter 2\/25 │ \w+ │ \1\s/,
      );
      keepScreen(`client-${columns}-working`, await terminal.screen());
      agent.release();
      await terminal.waitFor(/ralph waiting · iteration \d+ of 25.* · wakes in (?:\d+m )?\d+s/);
      const asked = loop.model.mainRequests().length;
      await terminal.submit('/ralph-status');
      const opened = await terminal.waitFor(
        /│.*The last check, slow[\s\S]*│.*A look while idle: /,
        /waiting · iteration/,
        /│.*Next: /,
        (screen) => !/opens the pane/.test(screen),
      );
      assert.equal(loop.model.mainRequests().length, asked, 'without a call of the model');
      keepScreen(`client-${columns}-idle`, opened);
      loop.main('pause');
      await terminal.waitFor(/ralph paused by you/, /│.*Next: /);
      keepScreen(`client-${columns}-paused`, await terminal.screen());
      assert.deepEqual(notified(), [], 'nothing before the end');
      loop.main('cancel');
      await terminal.waitFor(/ralph ended: Cancelled by the user/);
      keepScreen(`client-${columns}-ended`, await terminal.screen());
      await until('a notification', () => notified().length > 0);
      assert.equal(notified().length, 1);
      assert.match(String(notified()[0]), /^ended: Cancelled by the user after \d iterations/);
    });
  });
}

test('a session without a loop has the commands, and neither band nor pane', async () => {
  const lone = ['--plugin-dir', bundle, '--permission-mode', 'bypassPermissions'];
  await inTerminal({}, steps([]), async (loop) => {
    const terminal = await loop.open('claude', lone, { RALPH_ACTIVE: undefined }, [100, 40]);
    await terminal.waitFor(/^❯/m);
    await terminal.submit('/ralph-status');
    if (!CLIENT.loadsMods) {
      await terminal.waitFor(/Unknown (?:slash )?command/);
      return;
    }
    await terminal.waitFor(/No active loop\./);
    await terminal.submit('/ralph-explain');
    const screen = await terminal.waitFor(/No loop has run here\./);
    assert.doesNotMatch(screen, /^ralph /m);
    keepScreen('client-100-without-loop', screen);
    assert.equal(loop.model.mainRequests().length, 0, 'without a call of the model');
  });
});

/** An agent that claims too early, fails a command, and completes. */
const early = (): Script =>
  steps([
    text('RALPH_ITERATION_COMPLETE: 2 findings remain'),
    text(`over\n\n${complete}`),
    bash('false'),
    bash('touch done.txt'),
    text(`over\n\n${complete}`),
  ]);

test('a loop decides the same with the mod as with RALPH_MOD=0, which turns the drawing off', async () => {
  const decided = async (
    env: Readonly<Record<string, string>>,
  ): Promise<[Readonly<Record<string, unknown>>, string]> => {
    let facts: Readonly<Record<string, unknown>> = {};
    let screen = '';
    await inTerminal({ frontmatter: 'validation: ["test -e done.txt"]', env }, early(), async (loop) => {
      const terminal = await loop.open(loop.workspace.path(launcherFile), LAUNCH, {}, [150, 50]);
      const ended = await loop.waitForEnd();
      const isDrawn = CLIENT.loadsMods && env['RALPH_MOD'] !== '0';
      screen = await terminal.waitFor(
        /Stop says: ralph-loop: Complete after 3 iterations, verified by 1 check\./,
        isDrawn ? /ralph ended/ : /ralph: default │ complete/,
      );
      await terminal.submit('/exit');
      const exitCode = await terminal.waitForExit();
      facts = { exitCode, requests: loop.model.mainRequests().length, ...decisionsOf(ended, loop.project) };
    });
    return [facts, screen];
  };
  const [without, plain] = await decided({ RALPH_MOD: '0' });
  assert.doesNotMatch(plain, /ralph ended|ralph running/);
  // That the mod draws is also in the test of its band.
  if (IS_LONG) {
    const [withMod, drawn] = await decided({});
    assert.deepEqual(withMod, without);
    assert.equal(/ralph ended/.test(drawn), CLIENT.loadsMods);
  }
  const { exitCode, requests, iterations, as, iteration } = without;
  assert.deepEqual([exitCode, requests, as, iteration], [0, 5, 'complete', 3]);
  assert.deepEqual(
    (iterations as { toolCalls: number }[]).map(({ toolCalls }) => toolCalls),
    [0, 0, 2],
  );
});

/** What a loop decided, without its times and what it used, which the client writes down in its own time. */
function decisionsOf({ iteration, idleIterations, ended, ...state }: LoopView, project: LoopProject): object {
  const { breaker, lastFindingsCount } = state;
  const events = project.events().map(({ type }) => type);
  const iterations = project.iterations().map(({ decision, findings, claimed, toolCalls, deniedCalls }) => ({
    ...{ decision, findings, claimed, toolCalls, deniedCalls },
  }));
  return { iteration, idleIterations, breaker, lastFindingsCount, events, iterations, ...ended, at: null };
}

test('the client runs the tests of the band and the pane', (context) => {
  if (!CLIENT.loadsMods) {
    context.diagnostic('this client has no mods');
    return;
  }
  const folder = emptyFolder(context);
  cpSync(bundle, folder, { recursive: true });
  cpSync('plugin/band.test.tsx', join(folder, 'band.test.tsx'));
  const runTests = () =>
    spawnSync(findClientBinary(), ['plugin', 'test', folder, '--trust-plugin'], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder },
    });
  let run = runTests();
  // The client gives each test 5 s, whatever else the machine does.
  for (let tries = 1; tries < MOST_TRIES && run.stdout.includes('timed out after 5000 ms'); tries++) run = runTests();
  assert.equal(run.status, 0, run.stdout + run.stderr);
  assert.match(run.stdout, /4 pass/);
});

const MOST_TRIES = 12;

test('the text of the pane is found however it wraps, and control: the rest of the screen is none of it', () => {
  const screen =
    'Iteration 1: │ Iteration 1: 25s, $0.0008\n● Bash        │ reported, 0 tool calls; the\n        │ agent claimed';
  assert.ok(inPane(/^Iteration 1: 25s, \$0\.0008 reported, 0 tool calls; the agent claimed$/)(screen));
  assert.equal(inPane(/Bash/)(screen), false);
});
