import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvironmentChanges } from '../support/client/client-environment.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { descendantRunning, signalQuietly } from '../support/client/process-tree.ts';
import { ofType, runRunner, startRunner } from '../support/client/runner.ts';
import { thenQuick } from '../support/client/then-quick.ts';
import { bash, hang, rateLimited, status, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

/** A claude.ai login instead of an API key: only then does the client learn when a limit resets. */
const login: EnvironmentChanges = { ANTHROPIC_API_KEY: undefined, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-made-up' };
const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const options = { frontmatter: 'max_iterations: 5', init: false } as const;

longTest('a usage limit is waited for until it resets, and its iteration is counted once', async () => {
  let resetsAt = 0;
  const limited = () => {
    resetsAt = Math.floor(Date.now() / 1000) + 3;
    return rateLimited(resetsAt);
  };
  await inLoopProject(
    { ...options, standIn: true },
    steps([text('one'), limited, text('two'), done]),
    async (project) => {
      const run = await runRunner(project, { env: login });
      project.model.check();
      assert.equal(run.code, 0, run.stdout + run.stderr);
      const [, refused, next] = project.model.mainRequests();
      assert.ok((next?.at ?? 0) >= resetsAt * 1000, 'not before the reset');
      assert.match(refused?.sinceText ?? '', /Iteration 2 of 5/);
      assert.match(next?.sinceText ?? '', /Iteration 2 of 5/);
      assert.deepEqual(
        project.iterations().map(({ iteration }) => iteration),
        [1, 2, 3],
      );
      assert.deepEqual(
        ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
        ['ok', 'rate-limited', 'ok', 'ok'],
      );
    },
  );
});

test('a limit without a reset time is waited for longer each time', async () => {
  const limited = status(429, { headers: { 'x-should-retry': 'false' } });
  await inLoopProject({ ...options, standIn: true }, steps([limited, limited, done]), async (project) => {
    const run = await runRunner(project, { env: { RALPH_RATE_LIMIT_WAIT: '1s' } });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const at = project.model.mainRequests().map((request) => request.at);
    assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 1_000);
    assert.ok((at[2] ?? 0) - (at[1] ?? 0) >= 2_000);
  });
});

test('a loop that its user pauses while it waits for a limit stays paused until the user resumes it', async () => {
  const limited = status(429, { headers: { 'x-should-retry': 'false' } });
  await inLoopProject({ ...options, standIn: true }, steps([limited, limited, done]), async (project) => {
    const waiting = async (command: string) => {
      const started = startRunner(project, { command: [command], env: { RALPH_RATE_LIMIT_WAIT: '1h' } });
      await until('it waits', () => ofType(started.events(), 'wait.started').length > 0);
      return started;
    };
    const terminated = await waiting('run');
    terminated.signal('SIGTERM');
    const [left] = ofType((await terminated.done).events, 'run.ended');
    assert.match(left?.message ?? '', /^This runner has left the loop, which is still live\. Resume: .* resume\.$/);
    const running = await waiting('resume');
    assert.equal(project.main(['pause']).code, 0);
    await until('it rests', () => ofType(running.events(), 'loop.paused').length > 0);
    assert.equal(ofType(running.events(), 'loop.paused')[0]?.reason, 'operator');
    assert.equal(project.main(['resume']).code, 0);
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
  });
});

for (const [what, failure] of [
  ['a usage limit', () => rateLimited(Math.floor(Date.now() / 1000) + 3_600)],
  ['an overloaded API', () => status(529)],
] as const)
  test(`a stop that the user asked for before ${what} ends the loop without the wait`, async () => {
    let stop = (): void => assert.fail('not begun');
    const failing = () => {
      stop();
      return failure();
    };
    // The client itself asks an overloaded API twice.
    const script = { main: ({ index }: { readonly index: number }) => (index === 0 ? text('one') : failing()) };
    await inLoopProject({ ...options, standIn: true }, script, async (project) => {
      stop = () => assert.equal(project.main(['stop']).code, 0);
      const run = await runRunner(project, { env: { ...login, RALPH_RETRY_WAIT: '1h' } });
      assert.equal(run.code, 3, run.stdout + run.stderr);
      assert.deepEqual([project.ended().as, ofType(run.events, 'wait.started').length], ['stopped', 0]);
    });
  });

test('refused credentials end the loop at once with advice, however patient the client is', async () => {
  await inLoopProject(options, { main: () => status(401) }, async (project) => {
    const run = await runRunner(project, { env: { CLAUDE_CODE_MAX_RETRIES: undefined } });
    assert.equal(run.code, 1, run.stdout + run.stderr);
    assert.ok(project.model.mainRequests().length <= 4, `${project.model.mainRequests().length} requests`);
    const [end] = ofType(run.events, 'run.ended');
    assert.equal(end?.status, 'error');
    assert.match(end?.message ?? '', /refused the credentials.*Log in again.*Resume: ralph-loop resume\./);
    assert.match(end?.text ?? '', /Log in again \(claude, then \/login\)/, 'the screen shows only this text');
    assert.equal(project.iterations().length, 0);
  });
});

test('a refused request ends the loop at once, and run --resume continues with its counters', async () => {
  let refuses = true;
  const later = steps([text('two'), done]);
  const script = {
    main: (request: Parameters<typeof later.main>[0]) =>
      request.index === 0 ? text('one') : refuses ? status(400) : later.main(request),
  };
  await inLoopProject({ ...options, standIn: true }, script, async (project) => {
    const broken = await runRunner(project);
    assert.equal(broken.code, 1, broken.stdout);
    assert.match(ofType(broken.events, 'run.ended')[0]?.message ?? '', /the API refused the request/);
    refuses = false;
    const resumed = await runRunner(project, { args: ['--resume'] });
    assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2, 3],
    );
  });
});

test('a new agent asks an overloaded API again, and the iteration is counted once', async () => {
  await inLoopProject({ ...options, standIn: !IS_LONG }, steps([status(529), status(529), done]), async (project) => {
    const run = await runRunner(project, { env: { RALPH_RETRY_WAIT: '100ms' } });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
      ['overloaded', 'ok'],
    );
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1],
    );
  });
});

longTest('an API that stays overloaded ends the loop as an error after a bounded number of attempts', async () => {
  await inLoopProject({ ...options, standIn: true }, { main: () => status(529) }, async (project) => {
    const run = await runRunner(project, { env: { RALPH_RETRY_WAIT: '20ms', CLAUDE_CODE_MAX_RETRIES: '0' } });
    assert.equal(run.code, 1, run.stdout + run.stderr);
    assert.equal(ofType(run.events, 'agent.ended').length, 6);
    assert.match(ofType(run.events, 'run.ended')[0]?.message ?? '', /overloaded.*Resume: ralph-loop resume\./);
  });
});

test('an agent that is killed is replaced, and its iteration is counted once', async () => {
  const model = steps([hang('start'), text('one'), done]);
  await inLoopProject({ ...options, standIn: true }, model, async (project) => {
    const running = startRunner(project, { env: { RALPH_RETRY_WAIT: '50ms' } });
    await until('the agent works', () => project.model.mainRequests().length === 1);
    // What it starts has its command line for a moment, but lies further down.
    const agent = descendantRunning(running.pid, /stream-json/);
    assert.ok(agent !== undefined, 'control: the agent is found');
    signalQuietly(agent, 'SIGKILL');
    const run = await running.done;
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
      ['crashed', 'ok', 'ok'],
    );
    assert.match(ofType(run.events, 'agent.ended')[0]?.message ?? '', /SIGKILL/);
  });
});

test('the watchdog ends a stream that hangs, and the loop continues', async () => {
  await inLoopProject({ ...options, standIn: true }, { main: () => hang('start') }, async (project) => {
    const { env } = thenQuick(project, 'RALPH_AUDIT_COMPLETE_NO_FINDINGS');
    const run = await runRunner(project, { env: { ...env, RALPH_SILENCE: '15s' } });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
      ['hung', 'ok'],
    );
    assert.equal(project.events('iteration.failed').length, 1);
  });
});

test('an agent that would wait forever for a background shell is ended when its turn is over', async () => {
  const model = steps([bash('sleep 300', { run_in_background: true }), text('It runs.')]);
  await inLoopProject({ ...options, frontmatter: 'max_iterations: 5\nbackground_wait: 2s' }, model, async (project) => {
    const run = await runRunner(project, thenQuick(project, 'RALPH_AUDIT_COMPLETE_NO_FINDINGS'));
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
      ['ok', 'ok'],
    );
  });
});

test('tools that run without a call of the guardrail hook end the loop', async () => {
  const frontmatter = 'max_iterations: 5\nguardrails: {block_commands: ["rm -rf"]}';
  const model = { main: ({ index }: { index: number }) => (index === 0 ? bash('echo hi') : text('went on')) };
  await inLoopProject({ ...options, frontmatter }, model, async (project) => {
    // A client that loses its hooks, which no option of the run can ask for.
    const bare = project.workspace.write('../bin/bare', '#!/bin/sh\nexec claude "$@" --bare\n', 0o755);
    const run = await runRunner(project, { env: { RALPH_CLAUDE: bare } });
    assert.equal(run.code, 1, run.stdout + run.stderr);
    assert.match(ofType(run.events, 'run.ended')[0]?.message ?? '', /guardrails were never asked/);
    assert.equal(project.iterations().length, 0);
  });
});
