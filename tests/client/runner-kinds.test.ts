import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { agreeTo } from '../support/agree-to.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { bash, type Reply, status, steps, text } from '../support/model/scripted-model.ts';

const done = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const options = { frontmatter: 'max_iterations: 5', init: false } as const;

/** What can be wrong with a run: how the loop records it, and tells it. `ends` where asking again cannot help. */
const KINDS: readonly {
  readonly kind: string;
  readonly reply: Reply;
  readonly args?: readonly string[];
  readonly told: RegExp;
  readonly ends: boolean;
}[] = [
  {
    kind: 'billing',
    reply: status(400, { message: 'Your credit balance is too low to access the Anthropic API.' }),
    told: /billing.*Fix the billing problem, then resume: ralph-loop resume/,
    ends: true,
  },
  {
    kind: 'prompt-too-long',
    reply: status(400, { message: 'prompt is too long: 250000 tokens > 200000 maximum' }),
    told: /too long/,
    ends: false,
  },
  {
    kind: 'refusal',
    reply: { ...text('I will not.'), stopReason: 'refusal' },
    told: /refused to continue/,
    ends: false,
  },
  {
    kind: 'max-turns',
    reply: bash('echo one'),
    args: ['--', '--max-turns', '1'],
    told: /reached its turn limit/,
    ends: false,
  },
];

for (const { kind, reply, args = [], told, ends } of KINDS) {
  const becomes = ends ? 'ends the loop with what to do' : 'is an iteration that failed, and the loop goes on';
  test(`a run that ends by ${kind} is recorded as such and ${becomes}`, async () => {
    // However often the client asks again, or compacts and asks again.
    let failing = true;
    let first: string | undefined;
    const main = ({ sessionId }: { sessionId: string | undefined }): Reply => {
      first ??= sessionId;
      failing = sessionId === first;
      return failing ? reply : done;
    };
    await inLoopProject(options, { main, compaction: () => (failing ? reply : done) }, async (project) => {
      const run = await runRunner(project, { args });
      const [agent] = ofType(run.events, 'agent-ended');
      assert.equal(agent?.outcome, kind, run.stdout + run.stderr);
      assert.match(run.stdout, told);
      assert.equal(project.events('agent.ended')[0]?.['outcome'], kind);
      assert.equal(run.code, ends ? 1 : 0, run.stdout + run.stderr);
      assert.equal(project.events('iteration.failed').length, ends ? 0 : 1);
      assert.deepEqual(
        project.iterations().map(({ iteration }) => iteration),
        ends ? [] : [1, 2],
      );
    });
  });
}

test('a run that keeps ending with the same error opens the breaker', async () => {
  const frontmatter = 'max_iterations: 9\nbreaker: { same_error: 2 }';
  await inLoopProject({ ...options, frontmatter }, { main: () => bash('echo one') }, async (project) => {
    const run = await runRunner(project, { args: ['--', '--max-turns', '1'] });
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.equal(project.ended().as, 'circuit-open');
    assert.match(project.ended().message, /same-error.*the same error as 2 times before/);
    assert.equal(project.iterations().length, 3);
  });
});

test("an agent has the project's own servers, and the user's only if the task asks for all", async () => {
  const server = (says: string): object => ({
    mcpServers: { [says]: { command: '/bin/sh', args: ['-c', `echo x > "$MARKS/${says}"`] } },
  });
  for (const [frontmatter, user] of [
    ['max_iterations: 5', false],
    ['max_iterations: 5\nisolation: client', true],
  ] as const) {
    await inLoopProject({ frontmatter, init: false }, steps([done]), async (project) => {
      const { configDir, root } = project.workspace;
      agreeTo(project.workspace.project, project.environment(), { isolation: 'client' });
      project.workspace.write('.mcp.json', JSON.stringify(server('of-project')));
      project.workspace.write('.claude/settings.json', JSON.stringify({ enableAllProjectMcpServers: true }));
      const config = join(configDir, '.claude.json');
      writeFileSync(config, JSON.stringify({ ...project.workspace.json(config), ...server('of-user') }));
      const run = await runRunner(project, { env: { MARKS: root } });
      assert.equal(run.code, 0, run.stdout + run.stderr);
      const there = ['of-project', 'of-user'].map((name) => project.workspace.has(join(root, name)));
      assert.deepEqual(there, [true, user]);
    });
  }
});
