import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeRecord } from '../../src/state/files/regular-file.ts';
import { identityOf } from '../../src/state/process/identity.ts';
import { dollarText } from '../../src/text/figures.ts';
import type { EnvironmentChanges } from '../support/client/client-environment.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { mainPath } from '../support/client/loop-project.ts';
import { bash, hang, type Script, slowly, status, steps, text, together } from '../support/model/scripted-model.ts';
import { longTest, someOf } from '../support/short-form.ts';
import type { Terminal } from '../support/terminal/terminal.ts';
import { complete, idle, inTerminal, type TerminalLoop } from '../support/terminal/terminal-loop.ts';
import { until } from '../support/until.ts';

const UPDATE = process.env['UPDATE_SCENARIOS'] === '1';
const SCREENS = join(import.meta.dirname, '..', 'scenarios', 'screens');
const done = text(`Done.\n\n${complete}`);
const words =
  'I read the tests one after the other and tell what I see while I read them, until there is nothing left.';

type Size = readonly [columns: number, rows: number];

const SIZES: readonly Size[] = [
  [80, 24],
  [200, 50],
];

/** Runs a loop in a terminal of this size and gives it to `body`. */
const live = (
  script: Script,
  body: (terminal: Terminal, loop: TerminalLoop) => Promise<void>,
  {
    frontmatter = 'max_iterations: 5',
    size = [80, 24] as Size,
    env = {} as EnvironmentChanges,
    agent = null as string | null,
    standIn = false,
    mode = 'bypassPermissions',
    files = {} as Readonly<Record<string, string>>,
    prepare = (_: TerminalLoop): void => undefined,
  } = {},
): Promise<void> => {
  const checks = frontmatter.includes('validation:') ? '' : 'validation: ["true"]\n';
  const terms = `baseline: false\n${checks}${frontmatter}`;
  return inTerminal({ init: false, frontmatter: terms, standIn, files }, script, async (loop) => {
    prepare(loop);
    const by = agent === null ? ['--permission-mode', mode] : ['--agent', agent];
    const command = [mainPath, 'run', ...by];
    await body(await loop.open(process.execPath, command, env, size), loop);
  });
};

/** What differs from run to run, such as times, and what only the oldest client is warned of. */
const masked = (screen: string): string =>
  screen
    .replace(/^ralph-loop: claude \S+ is older than [^:]+:[^:]+: claude update\.\n/m, '')
    // The project is in no repository.
    .replace(/^ralph-loop: There will be no undo: (?:.+\n)+?(?=ralph-loop: )/m, '')
    .replace(/\b\d+(?:ms|s|m)(?: \d+s)?(?=[ ).,]|$)/gm, 'TIME')
    .replace(/\$(\d\.\d{4})/g, (_, price: string) => dollarText(Number(price) / CLIENT.priceFactor))
    .replace(/ +$/gm, '')
    .replace(/\n\s*Pane is dead .*/, '')
    .trimEnd();

const pinned = (name: string, screen: string): void => {
  const path = join(SCREENS, `${name}.txt`);
  const seen = `${masked(screen)}\n`;
  if (UPDATE) writeFileSync(path, seen);
  assert.equal(seen, readFileSync(path, 'utf8'));
};

/** Waits until the screen is whole: what matches `wanted` may still be in the middle of being drawn. */
const waitForPinned = async (terminal: Terminal, name: string, wanted: RegExp | string): Promise<void> => {
  const path = join(SCREENS, `${name}.txt`);
  if (UPDATE) {
    await terminal.waitFor(wanted);
    await sleep(1_000);
    return pinned(name, await terminal.screen());
  }
  const screen = readFileSync(path, 'utf8');
  await terminal
    .waitFor((shown) => `${masked(shown)}\n` === screen)
    .catch(async () => pinned(name, await terminal.screen()));
};

/** What a view shows of the agent, from its first iteration to the end of the loop. */
const agentsPart = (screen: string): string =>
  /^─── Iteration 1 [\s\S]*?(?=^ralph-loop: (?:Complete|Done))/m.exec(masked(screen))?.[0] ?? screen;
const count = (screen: string, wanted: string): number => screen.split(wanted).length - 1;
const flat = (screen: string): string => screen.replace(/\s+/g, ' ');
/** A call that lasts until the test says so: `shown`, and then the workspace's file `go`. */
const untilGo = (shown: string) => bash(`${shown}; until [ -e go ]; do sleep 0.05; done`);
const go = ({ workspace }: TerminalLoop): void => void workspace.write('go', '');
const asked = (loop: TerminalLoop, nth: number): string => loop.model.mainRequests()[nth]?.sinceText ?? '';

// Most of their time is waiting: two at a time.
describe('the live view', { concurrency: 2 }, () => {
  for (const size of someOf(SIZES, 2)) {
    const name = size.join('x');
    test(`and attach show at ${name} what the agent says as it says it, and afterwards all of it once`, async () => {
      let seen = false;
      const script = steps([
        slowly(60, together(text(words), untilGo('echo looking')), () => seen),
        bash('exit 3'),
        text('One test fails.'),
        done,
      ]);
      const body = async (terminal: Terminal, loop: TerminalLoop): Promise<void> => {
        await terminal.waitFor('I read');
        const attached = await loop.open(process.execPath, [mainPath, 'attach'], {}, size);
        for (const view of [terminal, attached]) {
          await view.waitFor('I read the tests', (screen) => !screen.includes('nothing left'));
        }
        seen = true;
        await waitForPinned(terminal, `client-${name}-at-work`, /… Bash echo looking.*\(\ds\)$/m);
        go(loop);
        assert.equal(await terminal.waitForExit(), 0);
        const all = await terminal.history();
        assert.equal(count(flat(all), words), 1, all);
        pinned(`client-${name}-over`, all);
        assert.equal(await attached.waitForExit(), 0);
        const [own, other] = [all, await attached.history()].map(agentsPart);
        assert.match(own ?? '', /One test fails/);
        assert.equal(other, own);
      };
      await live(script, body, { size });
    });
  }

  // An older client says nothing of a denial, so there is none to allow.
  if (CLIENT.printsDenials)
    test('a denied call is allowed from attach, exactly and for this loop, and a forged request allows nothing', async () => {
      const call = bash('node make.mjs');
      let goesOn = false;
      const script = steps([
        call,
        slowly(60, together(text(words), call), () => goesOn),
        bash('node of-user.mjs'),
        text('First over.'),
        call,
        bash('node other.mjs'),
        done,
      ]);
      const make = "import { appendFileSync } from 'node:fs';\nappendFileSync('made.txt', 'made\\n');\n";
      const names = ['make.mjs', 'other.mjs', 'of-user.mjs'];
      const options = {
        mode: 'acceptEdits',
        files: Object.fromEntries(names.map((name) => [name, make])),
        prepare: ({ workspace }: TerminalLoop) =>
          writeFileSync(
            join(workspace.configDir, 'settings.json'),
            JSON.stringify({ permissions: { deny: ['Bash(node of-user.mjs)'] } }),
          ),
      };
      await live(
        script,
        async (terminal, loop) => {
          const offered = 'a, Enter: allow Bash(node make.mjs) in this loop';
          await terminal.waitFor(offered);
          const { files } = loop.project;
          const attached = await loop.open(process.execPath, [mainPath, 'attach'], {}, [120, 30]);
          await attached.waitFor(offered);
          const denied = /"type":"tool\.ended","id":"([^"]+)".*"outcome":"denied"/.exec(
            readFileSync(files.events, 'utf8'),
          )?.[1];
          const pid = await attached.pid();
          writeRecord(files.allowRequest, { ...identityOf(pid), call: denied });
          await terminal.waitFor((screen) => flat(screen).includes(`and was refused: process ${pid} did not ask.`));
          await attached.submit('a');
          for (const view of [terminal, attached])
            await view.waitFor((screen) => {
              return flat(screen).includes('allowed by you until this run ends') && !screen.includes(offered);
            });
          goesOn = true;
          assert.equal(await terminal.waitForExit(), 0);
          assert.equal(loop.workspace.read('made.txt'), 'made\nmade\n', 'not the two other calls');
          const told = loop.project.events().filter(({ type }) => type === 'notice.allow');
          assert.equal(told.length, 1);
          assert.match(String(told[0]?.['from']), /^attach at \/dev\/pts\//);
          assert.match(loop.main('explain'), /Allowed at .*: Calls that match Bash\(node make\.mjs\)/);
        },
        options,
      );
    });

  test('a sent message arrives at the next tool boundary, a queued one with the next prompt, each once', async () => {
    const script = steps([untilGo('echo one'), text('First over.'), done]);
    await live(
      script,
      async (terminal, loop) => {
        await terminal.waitFor(/… Bash echo one/);
        await terminal.send('look at the parser first');
        await terminal.key('Enter');
        await terminal.waitFor('↳ next tool call: look at the parser first');
        await terminal.send('then write it down');
        await terminal.key('M-Enter');
        await terminal.waitFor('↳ next iteration: then write it down');
        go(loop);
        await terminal.waitForExit();
        const all = await terminal.history();
        assert.equal(count(all, 'you: look at the parser first'), 1, all);
        assert.equal(count(all, 'you: then write it down'), 1, all);
        assert.match(asked(loop, 1), /look at the parser first/);
        assert.doesNotMatch(asked(loop, 1), /then write it down/);
        assert.match(asked(loop, 2), /then write it down/);
        assert.doesNotMatch(asked(loop, 2), /look at the parser first/);
        const told = loop.project.events().map(({ type }) => type);
        assert.equal(told.filter((type) => type === 'operator.steer').length, 2);
        assert.equal(told.filter((type) => type === 'steering.delivered').length, 1);
      },
      { standIn: true },
    );
  });

  test('Esc ends the agent’s turn and pauses the loop, which continues with what the user writes', async () => {
    const script = steps([bash('tail -f /dev/null'), done]);
    await live(script, async (terminal, loop) => {
      await terminal.waitFor(/… Bash tail -f/);
      await terminal.key('Escape');
      await terminal.waitFor('paused (interrupted)');
      const paused = await loop.waitForState('the pause', ({ status }) => status === 'paused');
      assert.deepEqual([paused.paused?.reason, paused.iteration], ['interrupted', 0]);
      await waitForPinned(terminal, 'client-interrupted', 'Enter: resume, with any message');
      await terminal.send('leave the logs alone');
      await terminal.key('Enter');
      await terminal.waitForExit();
      assert.match(asked(loop, 1), /leave the logs alone/);
      const ended = loop.project.events('agent.ended').map(({ outcome, iteration }) => [outcome, iteration]);
      assert.deepEqual(ended, [
        ['interrupted', 1],
        ['ok', 1],
      ]);
      assert.deepEqual(
        loop.project.iterations().map(({ iteration }) => iteration),
        [1],
      );
      const { usage } = (await loop.waitForEnd()) as unknown as { usage: { inputTokens: number; costUsd: number } };
      assert.equal(usage.inputTokens, 200, 'what the interrupted agent has used counts');
    });
  });

  longTest('a message that the agent had not received at Esc is in the first prompt of the next one', async () => {
    const script = steps([bash('tail -f /dev/null'), bash('echo two'), done]);
    await live(
      script,
      async (terminal, loop) => {
        await terminal.waitFor(/… Bash tail -f/);
        await terminal.send('never heard');
        await terminal.key('Enter');
        await terminal.waitFor('↳ next tool call: never heard');
        await terminal.key('Escape');
        await terminal.waitFor('paused (interrupted)');
        await terminal.key('Enter');
        await terminal.waitForExit();
        loop.model.check();
        const heard = loop.model.mainRequests().map(({ sinceText }) => count(sinceText, 'never heard'));
        assert.deepEqual(heard, [0, 1, 0]);
      },
      { standIn: true },
    );
  });

  longTest('a turn that ends well although Esc was pressed counts, and the loop is paused after it', async () => {
    const agent = 'trap "echo finished; exit 0" TERM; echo begun; sleep 300 & wait';
    const body = async (terminal: Terminal, loop: TerminalLoop): Promise<void> => {
      await terminal.waitFor('begun');
      await terminal.key('Escape');
      await terminal.waitFor('paused (interrupted)');
      assert.equal(loop.state()?.iteration, 1);
      assert.equal(loop.project.iterations().length, 1);
      await terminal.key('C-c');
      assert.equal(await terminal.waitForExit(), 130);
    };
    await live(steps([]), body, { agent });
  });

  longTest('Ctrl+C after Esc leaves the loop paused, to be resumed', async () => {
    await live(
      { main: () => hang('start') },
      async (terminal, loop) => {
        await until('the request', () => loop.model.mainRequests().length === 1);
        await terminal.key('Escape');
        await terminal.waitFor('paused (interrupted)');
        await terminal.key('C-c');
        assert.equal(await terminal.waitForExit(), 130);
        assert.equal(loop.state()?.paused?.reason, 'interrupted');
        assert.match(flat(await terminal.history()), /Resume: ralph-loop resume\./);
      },
      { standIn: true },
    );
  });

  test('Ctrl+C once stops after the iteration, twice cancels', async () => {
    await live(
      steps([untilGo('echo one'), text('over')]),
      async (terminal, loop) => {
        await terminal.waitFor(/… Bash echo one/);
        await terminal.key('C-c');
        await terminal.waitFor('stops after this iteration │ iter 1/5');
        go(loop);
        assert.equal(await terminal.waitForExit(), 3);
        assert.equal(loop.project.ended().as, 'stopped');
      },
      { standIn: true },
    );
    await live(
      steps([bash('tail -f /dev/null')]),
      async (terminal, loop) => {
        await terminal.waitFor(/… Bash tail -f/);
        await terminal.key('C-c', 'C-c');
        assert.equal(await terminal.waitForExit(), 130);
        assert.equal(loop.project.ended().as, 'cancelled');
      },
      { standIn: true },
    );
  });

  longTest('a wait counts down, and Ctrl+C stops the loop', async () => {
    const frontmatter = 'max_iterations: 5\nidle: {delay: 5m, max: 6h}';
    const script = steps([text(`Nothing to do.\n\n${idle}`)]);
    const body = async (terminal: Terminal): Promise<void> => {
      const wait = /idle: wakes in (\d)m ?(\d*)s?\n[\s\S]*Enter: continue now[^\n]*Ctrl\+C: stop/;
      const left = (screen: string): number => {
        const [, minutes = Number.NaN, seconds] = wait.exec(screen) ?? [];
        return 60 * Number(minutes) + Number(seconds);
      };
      const first = left(await terminal.waitFor(wait));
      await terminal.waitFor((screen) => left(screen) < first);
      await terminal.key('C-c');
      assert.equal(await terminal.waitForExit(), 3);
    };
    await live(script, body, { frontmatter, standIn: true });
  });

  test('Esc during a wait or checks pauses the loop, and Enter alone continues', async () => {
    const frontmatter =
      'max_iterations: 5\nidle: {delay: 5m, max: 6h}\nvalidation: ["test -f checked || { touch checked; tail -f /dev/null; }"]';
    const script = steps([text(`Nothing to do.\n\n${idle}`), done, done]);
    const body = async (terminal: Terminal, loop: TerminalLoop): Promise<void> => {
      for (const shown of ['idle: wakes in', '│ verifying │']) {
        await terminal.waitFor(shown);
        if (shown.includes('verifying'))
          await until('the check runs', () => existsSync(loop.workspace.path('checked')));
        await terminal.key('Escape');
        await terminal.waitFor('paused (interrupted)');
        assert.equal(loop.state()?.paused?.reason, 'interrupted');
        await terminal.key('Enter');
      }
      assert.equal(await terminal.waitForExit(), 0);
      assert.equal(loop.project.ended().verified, true);
      loop.model.check();
    };
    await live(script, body, { frontmatter, standIn: true });
  });

  longTest('the wait before a failed run is retried counts down, and Ctrl+C stops the loop', async () => {
    const overloaded = status(529, { headers: { 'x-should-retry': 'false' } });
    const body = async (terminal: Terminal): Promise<void> => {
      const shown = await terminal.waitFor(/retrying in \d+m/);
      assert.equal(count(flat(shown), 'overloaded or broken'), 1, shown);
      await terminal.key('C-c');
      assert.equal(await terminal.waitForExit(), 3);
    };
    await live(steps([...Array(CLIENT.triesOfOverloaded).fill(overloaded)]), body, {
      env: { RALPH_RETRY_WAIT: '5m', CLAUDE_CODE_MAX_RETRIES: '1' },
      standIn: true,
    });
  });

  longTest('a terminal that is resized while the agent speaks shows one footer and every word', async () => {
    let resized = false;
    const script = steps([slowly(80, text(words), () => resized), done]);
    await live(script, async (terminal) => {
      // Half of the words: what is written in the moment in which a terminal changes its size is beyond a program's control.
      await terminal.waitFor('I read the tests one after the other and tell');
      for (const [columns, rows] of [
        [40, 12],
        [20, 10],
        [120, 30],
        [80, 24],
      ] as const) {
        await terminal.resize(columns, rows);
        await terminal.waitFor((screen) => count(screen, 'iter 1/5') === 1 && count(screen, '> ') === 1);
      }
      resized = true;
      await terminal.waitForExit();
      const all = await terminal.history();
      assert.equal(count(all.replace(/\s+/g, ''), words.replaceAll(' ', '')), 1, all);
      assert.equal(count(all, 'iter '), 0, all);
    });
  });
});
