import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import type { EnvironmentChanges } from '../support/client/client-environment.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import type { ModelRequest, Script } from '../support/model/scripted-model.ts';
import { bash, startScriptedModel, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

/** Everything of the loop, byte for byte: state, journals and archive by relative path. */
const runtime = ({ files }: LoopProject): Record<string, string> =>
  Object.fromEntries(
    !existsSync(files.runtimeDir)
      ? []
      : readdirSync(files.runtimeDir, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))
          .map((entry) => join(entry.parentPath, entry.name))
          .sort()
          .map((path) => [path, readFileSync(path, 'utf8')]),
  );

/** The loop waits, and has written down all that it writes before. */
const fallenAsleep = (project: LoopProject): Promise<unknown> =>
  until('the loop waits', () => {
    const written = [project.events('wait.started'), project.iterations()].every(({ length }) => length === 1);
    return written && project.state()?.['status'] === 'waiting';
  });

/** A client that somebody starts in the project by hand, with a model of its own; it calls one tool and ends. */
const byHand = async (project: LoopProject, env: EnvironmentChanges, fromPath = false) => {
  const model = await startScriptedModel(steps([bash('echo by hand'), text('I answer and end.')]));
  try {
    const run = await runClient({ workspace: project.workspace, model, prompt: 'a question', env, fromPath });
    model.check();
    assert.equal(run.code, 0, run.stderr);
    assert.equal(run.result?.['result'], 'I answer and end.');
    return run;
  } finally {
    await model.close();
  }
};

const long = 'idle: {delay: 30m, max_delay: 1h, max: 6h}\nmax_iterations: 3';
const waits = (): Script =>
  steps([text('Nothing to do.\n\n<!-- ralph:state idle -->'), text('So I end.')], text('And end.'));

test('a session with RALPH_ACTIVE=1 or without it ends its turn beside a loop and touches nothing of it', async () => {
  await inLoopProject({ standIn: true, frontmatter: long }, waits(), async (project) => {
    const running = project.start({ args: ['--max-iterations', '1'] });
    await fallenAsleep(project);
    const before = runtime(project);
    await byHand(project, {}, true);
    assert.deepEqual(runtime(project), before, 'without it');
    await byHand(project, { RALPH_ACTIVE: '1' });
    assert.deepEqual(runtime(project), before, 'with RALPH_ACTIVE=1');
    project.main(['wake']);
    assert.equal((await running.done).code, 2);
    assert.equal(project.iterations().length, 2, 'control: the loop was alive and counts its own');
  });
});

test('a client that the agent starts from its shell is not part of the loop', async () => {
  const state = '.claude/context/runtime/ralph-state.json';
  const nested = (name: string, before: string) =>
    bash(
      `cat ${state} > ${name}-before; ${before} claude -p 'nested ${name}' < /dev/null; cat ${state} > ${name}-after`,
    );
  const agent = steps([
    bash('echo "shell: $RALPH_ACTIVE"'),
    nested('shielded', ''),
    nested('forced', 'RALPH_ACTIVE=1'),
    text('Both have answered.'),
  ]);
  const script: Script = {
    ...agent,
    main: (request) =>
      request.lastUserText.startsWith('nested ') ? text(`answer to ${request.lastUserText}`) : agent.main(request),
  };
  await inLoopProject({ frontmatter: 'max_iterations: 1' }, script, async (project) => {
    const run = await project.run();
    project.model.check();
    assert.equal(run.code, 2, run.said);
    const { workspace } = project;
    const told = project.model.mainRequests().map(({ sinceText }) => sinceText);
    assert.ok(told.some((text) => text.includes('shell: 0')));
    for (const name of ['shielded', 'forced']) {
      assert.ok(
        told.some((text) => text.includes(`answer to nested ${name}`)),
        `the ${name} client answered and ended`,
      );
      assert.equal(workspace.read(`${name}-after`), workspace.read(`${name}-before`));
    }
    assert.equal(workspace.transcripts().length, 3);
    assert.equal(project.iterations().length, 1);
    assert.equal(project.iterations()[0]?.['toolCalls'], 3);
  });
});

longTest('a client started by hand beside the loop of a router or of a runner is not trapped in it', async () => {
  await inLoopProject({ standIn: true, frontmatter: 'max_iterations: 5' }, steps([]), async (project) => {
    assert.equal(project.main(['start', '--json']).code, 0);
    for (const mode of ['router', 'runner']) {
      const state = { ...project.state(), mode };
      project.workspace.write(project.files.state, state);
      const before = runtime(project);
      await byHand(project, { RALPH_ACTIVE: '1' }, mode === 'runner');
      assert.deepEqual(runtime(project), before, mode);
    }
  });
});

function addMemory(project: string): void {
  const memory = join(project, '.claude/context/memory');
  mkdirSync(memory, { recursive: true });
  writeFileSync(join(memory, 'learnings.md'), '# Learnings\n\n## One\n\nIt was so.\n');
}

function toldOfMemory(request: ModelRequest | undefined): boolean {
  return /read them before you begin: \S{0,40}learnings\.md \(1 entry\)/.test(JSON.stringify(request?.body));
}

longTest('control: with the same state in mode hook a client started by hand takes over the loop', async () => {
  await inLoopProject(
    { standIn: true, frontmatter: 'max_iterations: 3' },
    steps([text('one'), text('two'), text('three')]),
    async (project) => {
      assert.equal(project.main(['start', '--json']).code, 0);
      const { workspace, model } = project;
      addMemory(workspace.project);
      await runClient({ workspace, model, prompt: 'begin', env: { RALPH_ACTIVE: '1' }, fromPath: true });
      model.check();
      assert.equal(project.ended().as, 'max-iterations');
      assert.ok(toldOfMemory(model.mainRequests()[0]), 'a new context is told of the memory');
    },
  );
});

test('RALPH_ACTIVE=1 and a PROMPT.md are enough to start a loop by hand', async () => {
  await inLoopProject(
    { standIn: !IS_LONG, frontmatter: 'max_iterations: 2' },
    steps([text('one'), text('two')]),
    async ({ workspace, model, ...project }) => {
      addMemory(workspace.project);
      const run = await runClient({ workspace, model, prompt: 'begin', env: { RALPH_ACTIVE: '1' } });
      model.check();
      assert.match(run.stdout, /A loop has started because RALPH_ACTIVE=1 is set/);
      assert.match(run.stdout, /CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0/, 'a start by hand says what to export');
      assert.equal(project.ended().as, 'max-iterations');
      assert.ok(toldOfMemory(model.mainRequests()[0]), 'a new context is told of the memory');
    },
  );
});
