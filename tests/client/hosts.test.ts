import assert from 'node:assert/strict';
import { test } from 'node:test';
import { descendantRunning, isRunning, lives } from '../support/client/process-tree.ts';
import { CLIENTS, type Move } from '../support/hosts/either-host.ts';
import { until } from '../support/until.ts';

const CLAIM: Move = { says: 'All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS' };
const MADE = 'validation: [{name: made, run: "test -f made.txt"}]';

/** Claude Code refuses a long `sleep`. */
const IDLING = 'tail -s 31342 -f /dev/null';

/** A program of the agent's: the guard cannot read what it writes. */
const SPOIL = "import { writeFileSync } from 'node:fs';\nwriteFileSync(['tests', 'a.txt'].join('/'), 'spoiled');\n";

for (const [client, inProject] of Object.entries(CLIENTS)) {
  for (const driver of ['begin', 'session'] as const) {
    const way = driver === 'begin' ? 'run' : 'session';

    test(`${client}, ${way}: a false claim is refused, protected files hold, and the end is verified`, async () => {
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

  test(`${client}, run: the same reply three times opens the breaker, and a limit ends the resumed loop`, async () => {
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

  test(`${client}, run: a pause waits for the iteration, and a killed runner leaves no agent and is resumed`, async () => {
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
      const agent = descendantRunning(running.pid, /codex exec|claude/) ?? 0;
      assert.ok(lives(agent), 'control: the agent works');
      running.kill();
      await running.done;
      await until('the agent and its command have ended', () => !lives(agent) && !isRunning(IDLING));

      const run = await project.begin(['--resume']).done;
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.equal(project.ended().verified, true);
    });
  });
}
