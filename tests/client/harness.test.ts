import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { OLDEST_CLIENT } from '../../src/hosts/claude/claude-code.ts';
import { atLeast } from '../../src/text/version.ts';
import { runClient, startClient } from '../support/client/client.ts';
import { clientVersion, IS_NAMED } from '../support/client/client-binary.ts';
import { clientEnvironment } from '../support/client/client-environment.ts';
import { startInteractiveClient } from '../support/client/interactive-client.ts';
import { isRunning } from '../support/client/process-tree.ts';
import { createWorkspace, type Workspace, type WorkspaceOptions } from '../support/client/workspace.ts';
import type { Script } from '../support/model/scripted-model.ts';
import { bash, delay, hang, startScriptedModel, steps, text, together, tool } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';
import { startTerminal } from '../support/terminal/terminal.ts';
import { until } from '../support/until.ts';

const inWorkspace = async (
  script: Script,
  body: (workspace: Workspace, model: Awaited<ReturnType<typeof startScriptedModel>>) => Promise<void>,
  options: WorkspaceOptions = {},
) => {
  const workspace = createWorkspace(options);
  const model = await startScriptedModel(script);
  try {
    await body(workspace, model);
  } finally {
    await model.close();
    workspace.cleanup();
  }
};

test('the client is the pinned one, of which the facts are, or a supported one that the run names', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  if (!IS_NAMED) assert.equal(clientVersion(), devDependencies['@anthropic-ai/claude-code']);
  assert.ok(atLeast(clientVersion(), OLDEST_CLIENT), `${clientVersion()} is older than ${OLDEST_CLIENT}`);
});

test('a headless run makes one request a step, also for parallel tool calls, which are carried out', async () => {
  const parallel = together(text('two'), bash('echo 1 > a'), bash('echo 2 > b'));
  await inWorkspace(steps([bash('echo made > made.txt'), parallel, text('all done')]), async (workspace, model) => {
    const run = await runClient({ workspace, model, prompt: 'make the file' });
    assert.equal(run.code, 0, run.stderr);
    assert.equal(run.result?.result, 'all done');
    assert.equal(workspace.read('made.txt'), 'made\n');
    assert.ok(workspace.has('a') && workspace.has('b'));
    model.check();
    assert.equal(model.mainRequests()[0]?.lastUserText, 'make the file');
    assert.equal(workspace.transcripts().length, 1);
  });
});

longTest("a subagent's requests use no step of the main script", async () => {
  const start = tool('Agent', {
    description: 'look',
    prompt: 'look around',
    subagent_type: 'general-purpose',
    run_in_background: false,
  });
  await inWorkspace(
    { ...steps([start], text('over')), subagent: () => text('the subagent saw it') },
    async (workspace, model) => {
      const run = await runClient({ workspace, model, prompt: 'delegate' });
      assert.equal(run.result?.result, 'over');
      assert.equal(model.requests.filter((request) => request.kind === 'subagent').length, 1);
      model.check();
    },
  );
});

test('left-over and missing steps are reported', async () => {
  const options = { prompt: 'go', fromPath: true };
  await inWorkspace(
    steps([text('a'), text('b')]),
    async (workspace, model) => {
      await runClient({ workspace, model, ...options });
      assert.throws(() => model.check(), /1 of 2 steps/);
    },
    { standIn: true },
  );
  await inWorkspace(
    steps([bash('true')]),
    async (workspace, model) => {
      await runClient({ workspace, model, ...options });
      assert.throws(() => model.check(), /1 requests came after/);
    },
    { standIn: true },
  );
});

longTest('the time limit ends a run that hangs', async () => {
  await inWorkspace({ main: () => hang() }, async (workspace, model) => {
    const run = await runClient({ workspace, model, prompt: 'go', timeLimitMs: 1_000 });
    assert.deepEqual([run.timedOut, run.signal], [true, 'SIGKILL']);
  });
});

longTest('a run that is ended takes the shells that it started with it', async () => {
  // A long `sleep` is refused by the Bash tool; the interval only makes the command line unique.
  const command = `tail -s 61.${process.pid} -f /dev/null`;
  const running = (): boolean => isRunning(command);
  await inWorkspace(steps([bash(command)], hang()), async (workspace, model) => {
    const client = startClient({ workspace, model, prompt: 'go' });
    await until('control: the shell is seen while it runs', running);
    client.cutOff();
    const run = await client.done;
    assert.deepEqual([run.timedOut, run.signal], [true, 'SIGKILL']);
    // A signal is on its way for a moment.
    await until('the shell is gone', () => !running());
  });
});

longTest('the terminal client starts without a question, takes a typed prompt, shows the reply and exits', async () => {
  await inWorkspace(steps([text('first reply'), delay(200, text('second reply'))]), async (workspace, model) => {
    const terminal = await startInteractiveClient({ workspace, model, prompt: 'given as argument' });
    try {
      await terminal.waitFor('first reply');
      await terminal.submit('typed by hand');
      await terminal.waitFor('second reply');
      assert.equal(model.mainRequests()[1]?.lastUserText, 'typed by hand');
      model.check();
      await terminal.submit('/exit');
      assert.equal(await terminal.waitForExit(), 0);
    } finally {
      await terminal.close();
    }
  });
});

test('a launcher script finds the client on its PATH and sees none of our own variables', async () => {
  await inWorkspace(steps([]), async (workspace, model) => {
    const script = workspace.write('launch.sh', '#!/bin/sh\nclaude --version\necho "leak:$CLAUDECODE:$TMUX:"\n', 0o755);
    const terminal = await startTerminal({
      command: script,
      env: clientEnvironment(workspace, model.url),
      cwd: workspace.project,
    });
    try {
      assert.equal(await terminal.waitForExit(), 0);
      const screen = await terminal.history();
      assert.ok(screen.includes(`${clientVersion()} (Claude Code)`), screen);
      assert.match(screen, /leak:::/);
    } finally {
      await terminal.close();
    }
  });
});
