import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promptFile } from '../support/client/loop-project.ts';
import { descendantRunning, isRunning, lives, signalQuietly } from '../support/client/process-tree.ts';
import { CLIENTS, type Move } from '../support/hosts/either-host.ts';
import { longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const CLAIM: Move = { says: 'All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS' };
const IDLE: Move = { says: 'Nothing to do.\n\n<!-- ralph:state idle -->' };
const MADE = 'validation: [{name: made, run: "test -f made.txt"}]';

/** Command line of the client, not of npm's wrapper, which leaves it behind. */
const AGENT = /bin\/codex exec|claude(?!.*\.cjs)/;

/** Codex lets an agent write in temporary folders. */
const OUTSIDE = join(dirname(fileURLToPath(import.meta.url)), '../../.build/outside.txt');
const STOP_HOOK = /ralph-stop-hook\.cjs/;

/** Claude Code refuses a long `sleep`. */
const IDLING = `tail -s 31${process.pid} -f /dev/null`;

/** How our messages begin. */
const OURS = /ralph(-loop)?: /;

/** A program of the agent's: the guard cannot read what it writes. */
const SPOIL = "import { writeFileSync } from 'node:fs';\nwriteFileSync(['tests', 'a.txt'].join('/'), 'spoiled');\n";

for (const [client, inProject] of Object.entries(CLIENTS)) {
  // In the short form, Claude Code has a session here and other tests for the rest: runner-failures, runner-control,
  // api-errors, breaker, idle, steering, task-kill, runner-settings, other-sessions and task-two-loops.
  const twin = client === 'Codex' ? test : longTest;

  for (const driver of ['begin', 'session'] as const) {
    const way = driver === 'begin' ? 'run' : 'session';

    const played = driver === 'session' ? test : twin;

    played(`${client}, ${way}: a false claim is refused, protected files hold, and the end is verified`, async () => {
      const frontmatter = `max_iterations: 5\n${MADE}\nguardrails: {protected_files: [tests/**]}`;
      const files = { 'tests/a.txt': 'as it was\n', 'spoil.mjs': SPOIL };
      const moves = [
        CLAIM,
        { runs: 'echo x > tests/a.txt' },
        { runs: 'node spoil.mjs' },
        { runs: 'touch made.txt' },
        CLAIM,
      ];
      await inProject({ frontmatter, files }, moves, async (project) => {
        const run = await project[driver]().done;
        assert.equal(run.code, 0, run.stdout + run.stderr);
        const { as, verified } = project.ended();
        assert.deepEqual({ as, verified }, { as: 'complete', verified: true });
        assert.equal(project.workspace.read('tests/a.txt'), files['tests/a.txt']);
        const [, second = '', third = '', fourth = ''] = project.requests();
        assert.match(second, /rejected/, 'the agent reads why its claim does not count');
        assert.equal(second.includes('All done.'), driver === 'session', 'a run begins anew, a session goes on');
        assert.match(third, /\[blocked by guardrail: protected_files/, 'and why a call is denied');
        assert.match(fourth, /a\.txt \(changed\)/, 'and what was restored');
        assert.deepEqual(
          project.iterations().map(({ toolCalls }) => toolCalls),
          [0, 3],
        );
      });
    });
  }

  twin(`${client}, run: a limit and a failing API are waited for, and a refused run is resumed`, async () => {
    const moves: Move[] = [{ refuses: 429 }, { runs: 'touch made.txt' }, { refuses: 500 }, { refuses: 400 }, CLAIM];
    await inProject({ frontmatter: `max_iterations: 5\n${MADE}` }, moves, async (project) => {
      const run = await project.begin([], { env: { RALPH_RATE_LIMIT_WAIT: '1s', RALPH_RETRY_WAIT: '100ms' } }).done;
      assert.notEqual(run.code, 0, run.stdout + run.stderr);
      assert.match(run.stdout, /the request is refused/);
      const resumed = await project.begin(['--resume']).done;
      assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
      assert.match(JSON.stringify(project.archive().at(-1)?.state['ended']), /"verified":true/);
    });
  });

  twin(
    `${client}, session: it sleeps while idle, is woken, takes a message, and a cancel ends its command`,
    async () => {
      const moves = [IDLE, { runs: 'until test -f go.txt; do sleep 0.2; done' }, { runs: IDLING }];
      await inProject({ frontmatter: 'max_iterations: 5\nidle: {delay: 10m}' }, moves, async (project) => {
        const running = project.session();
        await until('it waits', () => project.state()?.['status'] === 'waiting');
        const second = await project.session().done;
        assert.notEqual(second.code, 0, 'a second session of the loop is refused');
        assert.equal(project.requests().length, 1);
        assert.equal(project.main(['wake']).code, 0);
        await until('the first command runs', () => project.calls().length === 1);
        assert.equal(project.main(['steer', 'Mind the gap.']).code, 0);
        project.workspace.write('go.txt', '');
        await until('the second command runs', () => isRunning(IDLING));
        assert.match(project.requests()[2] ?? '', /The user says, to be followed from now on:.*Mind the gap/);
        assert.equal(project.main(['cancel']).code, 0);
        const run = await running.done;
        assert.equal(project.ended().as, 'cancelled', run.stdout + run.stderr);
        assert.equal(isRunning(IDLING), false);
      });
    },
  );

  twin(`${client}, session: after a kill of its sleeping hook, then of the client, it is resumed`, async () => {
    const moves = [IDLE, { runs: IDLING }, { runs: 'touch made.txt' }, CLAIM];
    const frontmatter = `max_iterations: 5\n${MADE}\nidle: {delay: 10m}`;
    await inProject({ frontmatter }, moves, async (project) => {
      const sleeping = project.session();
      await until('it waits', () => project.state()?.['status'] === 'waiting');
      signalQuietly(await until('its hook', () => descendantRunning(sleeping.pid, STOP_HOOK)), 'SIGKILL');
      const slept = await sleeping.done;
      assert.notEqual(slept.code, 0, slept.stdout + slept.stderr);
      assert.equal(project.requests().length, 1, 'the turn has ended without an answer of the hook');

      const running = project.session(['--resume']);
      await until('its command runs', () => isRunning(IDLING));
      const command = await until('the process of it', () => descendantRunning(running.pid, /^tail -s/));
      signalQuietly(await until('the client', () => descendantRunning(running.pid, AGENT)), 'SIGKILL');
      const killed = await running.done;
      assert.notEqual(killed.code, 0, killed.stdout + killed.stderr);
      // Claude Code starts it in a group of its own, which outlives it.
      const named = new RegExp(`Still running, started by the agent: .*End with: kill .*\\b${command}\\b`);
      const isLeft = lives(command);
      signalQuietly(command, 'SIGKILL');
      if (isLeft) assert.match(killed.stdout + killed.stderr, named);

      const run = await project.session(['--resume']).done;
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.equal(project.ended().verified, true);
    });
  });

  twin(
    `${client}, run: a permission mode that asks lets nothing be written, acceptEdits the project alone`,
    async () => {
      const moves = [{ runs: 'touch made.txt' }, { says: 'Denied?' }, { runs: `touch made.txt '${OUTSIDE}'` }, CLAIM];
      await inProject({ frontmatter: 'max_iterations: 1' }, moves, async (project) => {
        const asks = await project.begin([], { permissionMode: 'default' }).done;
        assert.equal(asks.code, 2, asks.stdout + asks.stderr);
        assert.equal(existsSync(project.workspace.path('made.txt')), false);
        const edits = await project.begin([], { permissionMode: 'acceptEdits' }).done;
        assert.ok(existsSync(dirname(OUTSIDE)), 'control: only the sandbox is in the way');
        assert.equal(existsSync(OUTSIDE), false, edits.stdout + edits.stderr);
        const stated = [asks, edits].map(({ stderr }) => /with its sandbox ([\w-]+)/.exec(stderr)?.[1]);
        assert.deepEqual(stated, client === 'Codex' ? ['read-only', 'workspace-write'] : [undefined, undefined]);
      });
    },
  );

  twin(`${client}, run: the same reply three times opens the breaker, and a limit ends the resumed loop`, async () => {
    const moves = Array.from({ length: 5 }, () => ({ says: 'I am stuck here.' }));
    await inProject({ frontmatter: 'max_iterations: 9\nbreaker: {same_reply: 2}' }, moves, async (project) => {
      const run = await project.begin().done;
      assert.equal(project.ended().as, 'circuit-open', run.stdout + run.stderr);
      assert.equal(project.iterations().length, 3);
      const resumed = await project.begin(['--resume', '--max-iterations', '4']).done;
      assert.equal(resumed.code, 2, resumed.stdout + resumed.stderr);
      assert.equal(project.iterations().length, 4);
    });
  });

  twin(
    `${client}, run: a pause waits for the iteration, and a killed runner leaves no agent and is resumed`,
    async () => {
      const moves = [
        { runs: 'until test -f go.txt; do sleep 0.2; done' },
        { says: 'One step.' },
        { runs: IDLING },
        { runs: 'touch made.txt' },
        CLAIM,
      ];
      await inProject({ frontmatter: `max_iterations: 5\n${MADE}` }, moves, async (project) => {
        const running = project.begin();
        await until('the first command runs', () => project.calls().length === 1);
        assert.equal(project.main(['pause']).code, 0);
        project.workspace.write('go.txt', '');
        await until('the iteration ends', () => project.iterations().length === 1);
        assert.equal(project.state()?.['status'], 'paused');
        assert.equal(project.main(['resume']).code, 0);

        await until('the second command runs', () => isRunning(IDLING));
        const agent = descendantRunning(running.pid, AGENT) ?? 0;
        assert.ok(lives(agent), 'control: the agent works');
        running.kill();
        await running.done;
        await until('the agent and its command have ended', () => !lives(agent) && !isRunning(IDLING));

        const run = await project.begin(['--resume']).done;
        assert.equal(run.code, 0, run.stdout + run.stderr);
        assert.equal(project.ended().verified, true);
      });
    },
  );

  twin(`${client}: beside our hooks, a session without a loop shows and stores nothing of them`, async () => {
    const moves = [{ runs: 'touch made.txt' }, { says: 'It is there.' }, CLAIM];
    await inProject({ frontmatter: `max_iterations: 2\n${MADE}` }, moves, async (project) => {
      await project.register();
      const { runtimeDir, outsideDir } = project.files;
      // `init` of Claude Code makes the folder of the runtime.
      const stored = () => [runtimeDir, outsideDir].map((dir) => (existsSync(dir) ? readdirSync(dir).sort() : []));
      const before = stored();
      const shown = await project.byHand('Make made.txt.');
      assert.match(shown, /It is there\./);
      assert.doesNotMatch(shown, OURS);
      assert.doesNotMatch(project.requests()[1] ?? '', /\[ralph\] Iteration \d/);
      assert.deepEqual(stored(), before);
      const loop = await project.byHand(`Work by ${promptFile}.`, { RALPH_ACTIVE: '1' });
      assert.equal(project.archive().length, 1, `control: the hooks are registered. ${loop}`);
      assert.equal(project.ended().verified, true);
      assert.notDeepEqual(stored(), before, 'control: a loop stores');
    });
  });

  twin(`${client}: a run and a session work at once, each with its own state and end`, async () => {
    const slow = { runs: 'until test -f go.txt; do sleep 0.2; done' };
    const files = {
      'tasks/alpha/RALPH.md':
        '---\nmax_iterations: 1\ncompletion_promise: DONE\nvalidation: ["test -f go.txt"]\n---\nWork on alpha.\n',
      'tasks/beta/RALPH.md':
        '---\nmax_iterations: 1\ncompletion_promise: DONE\nvalidation: ["test -f other.txt"]\n---\nWork on beta.\n',
    };
    const done = { says: '<promise>DONE</promise>' };
    const moves = [slow, slow, done, done];
    await inProject({ files }, moves, async (project) => {
      const { workspace } = project;
      const status = (name: string) => workspace.json(`tasks/${name}/.ralph-runner/status.json`);
      const running = [project.begin(['tasks/alpha']), project.session(['--task', 'tasks/beta'])];
      await until('both work', () => project.requests().length === 2);
      assert.notEqual(status('alpha')['loopId'], status('beta')['loopId']);
      assert.match(project.main(['stop']).stderr, /2 loops are active here:[\s\S]*alpha[\s\S]*beta/);
      workspace.write('go.txt', '');
      const [alpha, beta] = await Promise.all(running.map(({ done }) => done));
      assert.deepEqual(
        [alpha?.code, beta?.code],
        [0, 2],
        `${alpha?.stdout}${alpha?.stderr}${beta?.stdout}${beta?.stderr}`,
      );
      const ends = ['alpha', 'beta'].map((name) => [status(name)['status'], status(name)['iteration']]);
      assert.deepEqual(ends, [
        ['complete', 1],
        ['no-progress-exhaustion', 1],
      ]);
      const told = project
        .requests()
        .map((each) => ['alpha', 'beta'].filter((name) => each.includes(`Work on ${name}.`)));
      assert.ok(
        told.every(({ length }) => length === 1),
        'neither agent reads the task of the other',
      );
    });
  });
}
