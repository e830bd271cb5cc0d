import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { EnvironmentChanges } from '../support/client/client-environment.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import type { Workspace } from '../support/client/workspace.ts';
import { rateLimited, type Script, status, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

/** A claude.ai login instead of an API key: only then does the client learn when a limit resets. */
const login: EnvironmentChanges = { ANTHROPIC_API_KEY: undefined, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-made-up' };
const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

/** One session and one count, whatever came in between. */
const assertWentOn = (project: LoopProject, iterations: number): void => {
  const sessions = new Set(project.model.mainRequests().map(({ sessionId }) => sessionId));
  assert.equal(sessions.size, 1, 'the same session goes on');
  assert.deepEqual(
    project.iterations().map(({ iteration, loopId }) => [iteration, loopId]),
    Array.from({ length: iterations }, (_, index) => [index + 1, project.archive()[0]?.state['loopId']]),
  );
  assert.equal(project.archive().length, 1);
};

test('a headless loop waits for a usage limit to reset and continues in the same session with its counters', async () => {
  // Far enough that a slow Stop still finds the limit ahead of it.
  let resetsAt = 0;
  const limited = () => {
    resetsAt = Math.floor(Date.now() / 1000) + 30;
    return rateLimited(resetsAt);
  };
  await inLoopProject(
    { frontmatter: 'max_iterations: 5' },
    steps([text('one'), limited, text('two'), done]),
    async (project) => {
      const run = await project.run({ env: login });
      project.model.check();
      assert.equal(run.code, 0, run.said);
      const [, refused, next] = project.model.mainRequests();
      assert.ok((next?.at ?? 0) >= resetsAt * 1000, 'not before the reset');
      assert.match(refused?.sinceText ?? '', /Iteration 2 of 5/);
      assert.match(next?.sinceText ?? '', /Iteration 2 of 5/);
      const [, told = ''] =
        /A rate limit applies; the loop continues at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\./.exec(run.said) ?? [];
      assert.ok(Date.parse(told) >= (resetsAt + 1) * 1000, `${told} is before the reset`);
      assert.ok(Date.parse(told) <= (next?.at ?? 0), `it did not wait until ${told}`);
      assertWentOn(project, 3);
    },
  );
});

longTest('a headless loop without a reset time waits longer each time and continues', async () => {
  const limited = status(429, { headers: { 'x-should-retry': 'false' } });
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 5' },
    steps([limited, limited, text('one'), done]),
    async (project) => {
      const run = await project.run({ env: { RALPH_RATE_LIMIT_WAIT: '1s' } });
      project.model.check();
      assert.equal(run.code, 0, run.said);
      const at = project.model.mainRequests().map((request) => request.at);
      assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 1_000);
      assert.ok((at[2] ?? 0) - (at[1] ?? 0) >= 2_000);
      assertWentOn(project, 2);
    },
  );
});

longTest('a headless loop retries after server errors and continues', async () => {
  const script: Script = { main: ({ index }) => (index === 0 ? text('one') : index < 5 ? status(529) : done) };
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 5' }, script, async (project) => {
    const run = await project.run({ env: { RALPH_RETRY_WAIT: '200ms', CLAUDE_CODE_MAX_RETRIES: '1' } });
    assert.equal(run.code, 0, run.said);
    assert.match(run.said, /The API answered with a server error; the loop tries again at/);
    assertWentOn(project, 2);
  });
});

test('refused credentials pause the loop, and its message says what to do', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 5' },
    { main: ({ index }) => (index === 0 ? text('one') : status(401)) },
    async (project) => {
      const run = await project.run();
      assert.equal(run.code, 3, run.said);
      const paused = project.state()?.['paused'] as Record<string, unknown>;
      assert.equal(paused['reason'], 'api-error');
      assert.match(run.said, /Paused: the API refused the credentials .* Log in again \(\/login\)/);
      assert.equal(run.said.match(/ralph-loop resume\./g)?.length, 1, run.said);
      assert.match(
        run.said,
        /\(\/login\)\. The client exited while the loop was live\. Resume: \S*ralph-loop resume\./,
      );
      assert.equal(project.state()?.['iteration'], 1);
    },
  );
});

longTest('a loop that an API error paused continues with start --resume', async () => {
  let refuses = true;
  const later = steps([text('two'), done]);
  const script: Script = {
    main: (request) => (request.index === 0 ? text('one') : refuses ? status(400) : later.main(request)),
  };
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 5' }, script, async (project) => {
    const broken = await project.run();
    assert.equal(broken.code, 3, broken.said);
    refuses = false;
    const resumed = await project.run({ args: ['--resume'] });
    assert.equal(resumed.code, 0, resumed.said);
    assert.deepEqual(
      project.iterations().map(({ iteration }) => iteration),
      [1, 2, 3],
    );
  });
});

test('a client that cannot come back after a usage limit is not restarted endlessly', async () => {
  const script = ({ binDir, write }: Workspace): Script => {
    const limited = () => {
      // While the first one runs: however soon the next one is started, it is this.
      const client = join(binDir, 'claude');
      rmSync(client);
      write(client, '#!/bin/sh\necho started >> starts.txt\nexit 1\n', 0o755);
      return rateLimited(Math.floor(Date.now() / 1000) + 1);
    };
    return steps([text('one'), limited]);
  };
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 5' }, script, async (project) => {
    const run = await project.run({ env: login });
    project.model.check();
    assert.equal(project.events('loop.paused')[0]?.['reason'], 'rate-limited');
    assert.equal(run.code, 130, run.said);
    assert.match(run.said, /ralph-loop resume\./);
    assert.equal(project.workspace.read('starts.txt'), 'started\n');
  });
});
