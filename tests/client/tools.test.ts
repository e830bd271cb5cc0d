import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classOf } from '../../src/guard/client-tools.ts';
import { runClient } from '../support/client/client.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { startInteractiveClient } from '../support/client/interactive-client.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { routerHost } from '../support/client/router-host.ts';
import { createWorkspace } from '../support/client/workspace.ts';
import type { ModelRequest, Script } from '../support/model/scripted-model.ts';
import { startScriptedModel, steps, text, tool } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

/** The names that a request offers: its tools, and those that the client lists as deferred. */
function namesIn({ body }: ModelRequest): string[] {
  const offered = (body.tools ?? []).flatMap(({ name }) => name ?? []);
  const listed = JSON.stringify([body.system, body.messages])
    .match(/available via ToolSearch.*?:((?:\\n[A-Za-z]\w+)+)/g)
    ?.flatMap((list) => list.split('\\n').slice(1));
  return [...offered, ...(listed ?? [])];
}

async function withModel(
  script: Script,
  use: (model: Awaited<ReturnType<typeof startScriptedModel>>) => Promise<void>,
) {
  const model = await startScriptedModel(script);
  await use(model).finally(() => model.close());
}

const subagent = tool('Agent', {
  description: 'look',
  prompt: 'look around',
  subagent_type: 'general-purpose',
  run_in_background: false,
});

/** What only a real client shows: a deferred tool that runs a command is judged as the shell that it is. */
test('a command that Monitor would run is denied as for Bash', async () => {
  const push = 'touch pushed; git push';
  const frontmatter = 'max_iterations: 3\nguardrails:\n  block_commands: [{command: git, args: [push]}]';
  const script = steps([
    tool('ToolSearch', { query: 'select:Monitor', max_results: 1 }),
    tool('Monitor', { command: push, description: 'push', timeout_ms: 5000, persistent: false }),
    tool('Monitor', {
      command: `echo '{}' > .claude/settings.json`,
      description: 'x',
      timeout_ms: 5000,
      persistent: false,
    }),
    text('Nothing else to do.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
  ]);
  await inLoopProject({ frontmatter }, script, async ({ workspace, model, run }) => {
    await run();
    assert.equal(workspace.has('pushed'), false);
    const answers = model.mainRequests().map(({ sinceText }) => sinceText);
    const refused = CLIENT.offersMonitor
      ? [/blocked by guardrail: \{command: git, args: \[push\]\}/, /blocked by guardrail: own-files/]
      : [/No such tool available: Monitor/, /No such tool available: Monitor/];
    for (const [index, pattern] of refused.entries()) assert.match(answers[index + 2] ?? '', pattern);
  });
});

test('every tool that the client offers has a class, headless, in a subagent and in the terminal', async () => {
  const names = new Set<string>();
  const collect = (requests: readonly ModelRequest[]) => {
    for (const request of requests) for (const name of namesIn(request)) names.add(name);
  };
  const headless = createWorkspace();
  await withModel({ ...steps([subagent, text('over')]), subagent: () => text('seen') }, async (model) => {
    await runClient({ workspace: headless, model, prompt: 'go' });
    assert.ok(model.requests.some(({ kind }) => kind === 'subagent'));
    collect(model.requests);
  }).finally(() => headless.cleanup());
  const workspace = createWorkspace();
  await withModel(steps([text('hello there')]), async (model) => {
    const client = await startInteractiveClient({ workspace, model, prompt: 'go' });
    try {
      await client.waitFor('hello there');
      collect(model.requests);
    } finally {
      await client.close();
    }
  }).finally(() => workspace.cleanup());

  assert.ok(names.has('Monitor') === CLIENT.offersMonitor && names.size >= 20, [...names].join(', '));
  assertClassified(names);
});

longTest('every tool that a router session and its agents are offered has a class', async () => {
  const script = routerHost(steps([text('RALPH_AUDIT_COMPLETE_NO_FINDINGS')]).main);
  await inLoopProject({}, script, async ({ workspace, model, ended }) => {
    workspace.write('.claude/settings.json', {});
    await runClient({ workspace, model, prompt: '/ralph-loop, please' });
    assert.equal(ended().as, 'complete');
    const offered = (kind: ModelRequest['kind']) =>
      new Set(model.requests.filter((request) => request.kind === kind).flatMap(namesIn));
    const [host, agents] = [offered('main'), offered('subagent')];
    assert.ok(host.has('Agent') && agents.has('Bash'), `${[...host].join(', ')}; ${[...agents].join(', ')}`);
    assertClassified(new Set([...host, ...agents]));
  });
});

function assertClassified(names: ReadonlySet<string>): void {
  assert.deepEqual(
    [...names].filter((name) => classOf(name) === 'unknown'),
    [],
    'classify these in src/guard/client-tools.ts',
  );
}
