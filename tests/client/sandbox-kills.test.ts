import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { confinedTest, longConfinedTest } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { assertCommits, inPlanProject, ORDER_OF_SIX, PLAN, SIX, workers } from '../support/client/plan-project.ts';
import { descendantRunning, descendants, isRunning, lives, signalQuietly } from '../support/client/process-tree.ts';
import { type RunningRunner, runRunner, startRunner } from '../support/client/runner.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const DONE = 'All is done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS';
const FRONTMATTER = 'validation: ["test -e made"]\nguardrails:\n  protected_files: ["guarded/**"]';
/** The guard cannot read what it writes. */
const JOB = "import { writeFileSync as w } from 'node:fs'; w('guarded/a', 'spoiled\\n'); w('guarded/new', 'new\\n');";
const FILES = { 'guarded/a': 'a\n', 'job.mjs': JOB };

const git = ({ workspace }: LoopProject, ...words: string[]): string =>
  execFileSync('git', words, { cwd: workspace.project, encoding: 'utf8' });

/** Files of the work tree that git would add, apart from the loop's own. */
const added = (project: LoopProject): string[] =>
  git(project, 'status', '--porcelain', '-uall', '--', '.', ':!.claude/context').split('\n').filter(Boolean);

type Kill = (runner: RunningRunner, all: readonly number[]) => void;

/** Kills a loop while a command of its agent runs in the sandbox, and passes the project once client and command are gone. */
async function killedAtWork(kill: Kill, body: (project: LoopProject) => Promise<void>): Promise<void> {
  const seconds = `6171.${process.pid}`;
  const work = bash(`node job.mjs; touch half; sleep ${seconds} & sleep ${seconds}`);
  const script = steps([work, bash('touch made && git add -A'), text(DONE)]);
  await inLoopProject({ git: true, init: false, frontmatter: FRONTMATTER, files: FILES }, script, async (project) => {
    git(project, 'add', '-A');
    git(project, 'commit', '-q', '-m', 'Begin');
    const runner = startRunner(project, { args: ['--sandbox'] });
    await until('the command runs', () => project.workspace.has('half') && isRunning(`sleep ${seconds}`));
    assert.ok(added(project).includes('?? .bashrc'), 'the sandbox shows missing files');
    const all = descendants(runner.pid);
    const client = descendantRunning(runner.pid, /\/claude -p /) ?? assert.fail('no client');
    kill(runner, all);
    await runner.done;
    await until('client and command are gone', () => !lives(client) && !isRunning(`sleep ${seconds}`));
    // The client calls git in sandboxes of its own; bubblewrap that is killed while it prepares one leaves a part of it.
    for (const pid of all) signalQuietly(pid, 'SIGKILL');
    await body(project);
  });
}

/** The watchdog ends the client of a runner that was killed. */
const runnerAlone: Kill = (runner) => runner.kill();
/** As for a machine that crashes. */
const everything: Kill = ({ pid }, all) => {
  for (const each of [pid, ...all]) signalQuietly(each, 'SIGKILL');
};

for (const [what, kill] of someOf(Object.entries({ everything, 'a runner': runnerAlone }), 2))
  confinedTest(`after ${what} is killed during a sandboxed command, resume leaves nothing of it`, () =>
    killedAtWork(kill, async (project) => {
      assert.match(project.main(['status']).stdout, /The loop is interrupted/);
      const run = await runRunner(project, { args: ['--resume', '--sandbox'], json: false });
      project.model.check();
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.match(run.stdout, /Restored at .*guarded\/a \(changed\), guarded\/new \(new\)/);
      assert.deepEqual(
        added(project),
        ['A  half', 'A  made'],
        'only the work of the agent is left, and git could add it',
      );
      git(project, 'config', 'user.name', 'y');
      assert.deepEqual([project.ended().as, project.ended().verified], ['complete', true]);
      assert.deepEqual(
        project.iterations().map(({ iteration }) => iteration),
        [1],
      );
      assert.equal(project.events('notice.restore').length, 1);
    }),
  );

confinedTest('control: without the records of the killed loop its placeholders and its changes stay', async () => {
  let stays = false;
  const look = async (project: LoopProject): Promise<void> => {
    const { placeholders, events } = project.files;
    rmSync(placeholders);
    const lines = readFileSync(events, 'utf8').split('\n');
    writeFileSync(events, lines.filter((line) => !line.includes('"tool.asked"')).join('\n'));
    const run = await runRunner(project, { args: ['--resume', '--sandbox'], json: false });
    assert.doesNotMatch(run.stdout, /Restored at/);
    stays = added(project).some((line) => line.endsWith(' .bashrc'));
    assert.equal(project.workspace.read('guarded/a'), 'spoiled\n');
  };
  // Beside a load, the sandbox of the client that resumes now and then takes a placeholder for its own and removes it.
  for (let tries = 0; tries < 3 && !stays; tries += 1) await killedAtWork(everything, look);
  assert.ok(stays);
});

longConfinedTest('after a runner is killed during a sandboxed check, the check ends and resume verifies', async () => {
  const seconds = `6172.${process.pid}`;
  const frontmatter = `baseline: false\nvalidation: ["test -e go || sleep ${seconds}", "test -e go"]`;
  const script = steps([text(DONE), text(DONE)]);
  await inLoopProject({ git: true, init: false, standIn: true, frontmatter }, script, async (project) => {
    const runner = startRunner(project, { args: ['--sandbox'] });
    await until('the check runs', () => isRunning(`sleep ${seconds}`));
    runner.kill();
    await runner.done;
    await until('the check is gone', () => !isRunning(`sleep ${seconds}`));
    project.workspace.write('go', '');
    const run = await runRunner(project, { args: ['--resume', '--sandbox'] });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual([project.ended().as, project.ended().verified], ['complete', true]);
    const counted = project.iterations().map(({ iteration }) => iteration);
    assert.deepEqual(
      counted,
      project.model.mainRequests().map((_, at) => at + 1),
      'each iteration counts once',
    );
  });
});

longConfinedTest(
  'after a runner is killed during a sandboxed commit, the hook ends and each task has one commit',
  async () => {
    const seconds = `6173.${process.pid}`;
    await inPlanProject(
      SIX,
      workers(),
      async (plan) => {
        const { project } = plan;
        const lines = ['#!/bin/sh', `test -e .git/go || sleep ${seconds}`, 'test -e .git/go', ''];
        project.workspace.write('.git/hooks/pre-commit', lines.join('\n'), 0o755);
        const runner = startRunner(project, { args: [PLAN, '--plan', '--sandbox'] });
        await until('the hook runs', () => isRunning(`sleep ${seconds}`));
        runner.kill();
        await runner.done;
        await until('the hook is gone', () => !isRunning(`sleep ${seconds}`));
        project.workspace.write('.git/go', '');
        const run = await runRunner(project, { args: [PLAN, '--plan', '--sandbox', '--resume'], json: false });
        assert.equal(run.code, 3, run.stdout + run.stderr);
        assertCommits(plan, ORDER_OF_SIX);
        assert.deepEqual(plan.dirty(), []);
      },
      { standIn: true },
    );
  },
);
