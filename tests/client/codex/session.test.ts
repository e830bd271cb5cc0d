import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mainPath } from '../../support/client/loop-project.ts';
import { descendantRunning, isRunning, lives, signalQuietly } from '../../support/client/process-tree.ts';
import { CODEX, inCodexProject, wrapperIn } from '../../support/codex/codex-project.ts';
import { say, shell, shellToEnd, status } from '../../support/codex/responses-model.ts';
import { trustAll } from '../../support/codex/trust-all.ts';
import { longTest } from '../../support/short-form.ts';
import { startTerminal } from '../../support/terminal/terminal.ts';
import { until } from '../../support/until.ts';

const DONE = say('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

test('Codex: a session whose turn fails without a Stop waits for the limit, and goes on', async () => {
  const limit = { error: { type: 'usage_limit_reached', message: 'used up', resets_at: 1 } };
  const frontmatter = 'max_iterations: 5\nvalidation: ["test -f made.txt"]';
  const script = [say('One step.'), status(429, limit), shell('touch made.txt'), DONE];
  await inCodexProject({ frontmatter }, script, async (project) => {
    const run = await project.session([], { env: { RALPH_RATE_LIMIT_WAIT: '1s' } }).done;
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(project.ended().verified, true);
    assert.match(run.stderr, /usage limit/);
    assert.ok(project.model.requests[2]?.input.includes('One step.'), 'the same session');
    assert.match(run.stderr, /ralph-loop: iteration 2 of 5/, 'the launcher prints what the hooks say');
    assert.deepEqual(
      project.iterations().map(({ outputTokens }) => outputTokens),
      [20, 40],
    );
  });
});

test('Codex: a request that the API refuses ends the session, and the loop says why', async () => {
  const script = [say('One step.'), status(400, { error: { message: 'no such model' } })];
  await inCodexProject({ frontmatter: 'max_iterations: 5' }, script, async (project) => {
    const run = await project.session().done;
    assert.notEqual(run.code, 0);
    assert.match(run.stderr, /ralph-loop: .*no such model/);
    assert.equal(project.state()?.['status'], 'paused');
  });
});

longTest(
  "Codex: at a terminal, the launcher's hooks are trusted without a question and continue the session",
  async () => {
    const frontmatter = 'max_iterations: 5\nvalidation: ["test -f made.txt"]';
    const script = ({ input }: { readonly input: string }) => {
      // The terminal asks for a title of its own.
      if (!input.includes('Iteration 1 of 5')) return say('A title');
      if (!input.includes('Iteration 2 of 5')) return DONE;
      return input.includes('touch made.txt') ? DONE : shell('touch made.txt');
    };
    await inCodexProject({ frontmatter }, script, async (project) => {
      const terminal = await startTerminal({
        command: process.execPath,
        args: [mainPath, 'start', '--launch', '--agent', 'codex', '--permission-mode', 'bypassPermissions'],
        env: project.environment(),
        cwd: project.workspace.project,
        columns: 120,
      });
      try {
        const screen = await terminal.waitFor(/Complete after 2 iterations/);
        assert.doesNotMatch(screen, /Hooks need review/);
        assert.equal(project.ended().verified, true);
      } finally {
        await terminal.close();
      }
    });
  },
);

longTest(
  'Codex: a session by hand is in its loop without the background server; control: with it, it is not',
  async () => {
    const frontmatter = 'max_iterations: 5\nvalidation: ["test -f made.txt"]';
    const script = ({ input }: { readonly input: string }) => {
      if (!input.includes('Iteration 2 of 5')) return DONE;
      return input.includes('touch made.txt') ? DONE : shell('touch made.txt');
    };
    await inCodexProject({ frontmatter }, script, async (project) => {
      const { workspace, codexHome } = project;
      const env = project.environment({ CODEX_HOME: codexHome, HTTPS_PROXY: 'http://127.0.0.1:9' });
      const codex = (...words: string[]): void =>
        assert.equal(spawnSync(process.execPath, [CODEX, ...words], { cwd: workspace.project, env }).status, 0);
      assert.equal(project.main(['init', '--codex', '--yes'], env).code, 0);
      await trustAll(env as NodeJS.ProcessEnv, workspace.project);
      const started = project.main(['start', '--agent', 'codex'], env).stdout;
      const [, loopId = ''] = /RALPH_LOOP_ID=(\S+)/.exec(started) ?? [];
      const [, words = ''] = /^ {2}codex(.*)$/m.exec(started) ?? [];
      codex('app-server', 'daemon', 'start');
      try {
        for (const [args, shows] of [
          [[], /All done/],
          [words.trim().split(' '), /Complete after 2 iterations/],
        ] as const) {
          const terminal = await startTerminal({
            command: process.execPath,
            args: [CODEX, ...args, '--sandbox', 'danger-full-access', 'Work.'],
            env: { ...env, RALPH_ACTIVE: '1', RALPH_LOOP_ID: loopId },
            cwd: workspace.project,
            columns: 120,
          });
          try {
            await terminal.waitFor(shows);
          } finally {
            await terminal.close();
          }
          if (args.length === 0)
            assert.equal(project.iterations().length, 0, 'control: its hooks have no RALPH_ACTIVE');
        }
        assert.equal(project.ended().verified, true);
      } finally {
        codex('app-server', 'daemon', 'stop');
        // Its updater is not ended with it.
        const updater = readFileSync(join(codexHome, 'app-server-daemon/daemon-updater.pid'), 'utf8');
        signalQuietly((JSON.parse(updater) as { readonly pid: number }).pid, 'SIGTERM');
      }
    });
  },
);

longTest('Codex: an idle session sleeps in its Stop hook until it is woken, and a token limit ends it', async () => {
  const idle = say('Nothing to do.\n\n<!-- ralph:state idle -->');
  // A model that never ends its turn, which no hook of Codex can end either.
  const script = ({ index }: { readonly index: number }) => (index === 0 ? idle : shell(`echo ${index}`));
  const frontmatter = 'max_iterations: 9\nidle: {delay: 10m}\nbudget: {max_tokens: 4000}';
  await inCodexProject({ frontmatter }, script, async (project) => {
    const running = project.session();
    await until('it waits', () => project.state()?.['status'] === 'waiting');
    assert.equal(project.model.requests.length, 1);
    assert.equal(project.main(['wake']).code, 0);
    const run = await running.done;
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.match(project.ended().as, /budget/);
    assert.match(run.stderr, /interrupted/i, 'the launcher ends the turn');
  });
});

longTest('Codex: a session whose wrapper alone is killed ends with it, and the loop can be resumed', async () => {
  const frontmatter = 'max_iterations: 5\nvalidation: ["test -f made.txt"]';
  const script = [say('One step.'), shell('sleep 31339'), shell('touch made.txt'), DONE];
  await inCodexProject({ frontmatter }, script, async (project) => {
    const running = project.session([], { env: { RALPH_CODEX: wrapperIn(project.workspace) } });
    await until('its command runs', () => isRunning('sleep 31339'));
    const [wrapper, native] = [/wrapper\.sh/, /bin\/codex exec/].map((line) => descendantRunning(running.pid, line));
    assert.ok(wrapper !== undefined && native !== undefined);
    signalQuietly(wrapper, 'SIGKILL');
    const run = await running.done;
    assert.equal(run.code, 130, run.stdout + run.stderr);
    assert.deepEqual(
      [lives(native), isRunning('sleep 31339')],
      [false, false],
      'client and command have ended with it',
    );
    assert.equal(project.model.requests.length, 2);
    const resumed = await project.session(['--resume']).done;
    assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
    assert.equal(project.ended().verified, true);
  });
});

longTest(
  'Codex: beside a loop, sessions that are not its own end after one turn, with hooks that say nothing',
  async () => {
    const script = [shellToEnd('until test -f go.txt; do sleep 0.2; done'), say('First.'), say('Second.'), DONE];
    await inCodexProject({ frontmatter: 'max_iterations: 5' }, script, async (project) => {
      const { workspace, environment, codexHome } = project;
      const running = project.session();
      await until('the loop works', () => project.calls().length === 1);
      const own = { CODEX_HOME: codexHome, RALPH_CODEX: CODEX };
      assert.equal(project.main(['init', '--codex', '--yes'], own).code, 0);
      for (const RALPH_ACTIVE of [undefined, '1']) {
        const words = ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', 'Hello.'];
        const other = spawn(process.execPath, [CODEX, ...words, '--dangerously-bypass-hook-trust'], {
          cwd: workspace.project,
          env: environment({ RALPH_ACTIVE }),
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let shown = '';
        for (const stream of [other.stdout, other.stderr]) stream.on('data', (chunk) => (shown += chunk));
        await once(other, 'close');
        assert.equal(other.exitCode, 0, shown);
        assert.match(shown, /hook: Stop Completed/, 'control: its hooks run');
        assert.equal(shown.includes('ralph-loop'), false, shown);
      }
      assert.equal(project.iterations().length, 0);
      workspace.write('go.txt', '');
      const run = await running.done;
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.equal(project.iterations().length, 1);
    });
  },
);
