import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, type RunnerRun, runRunner, startRunner } from '../support/client/runner.ts';
import { bash, hang, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

/** A program of the agent: keeps the files of the loop in its first run, and puts them back in every later one. */
const back = `import os, shutil
runtime, kept = '.claude/context/run' + 'time', '.kept'
if os.path.isdir(kept):
    shutil.copytree(kept, runtime, dirs_exist_ok=True)
else:
    shutil.copytree(runtime, kept)
`;
const iteration = (words: string) => [bash('python3 back.py'), text(words)];
const script = () => steps(['one', 'two', 'three', 'four', 'five'].flatMap(iteration));
const options = { frontmatter: 'max_iterations: 2', files: { 'back.py': back } };

const requests = ({ model }: LoopProject): number => model.mainRequests().length;

longTest('a session whose program puts older files of the loop back ends at its limit', async () => {
  await inLoopProject(options, script(), async (project) => {
    const run = await project.run();
    assert.equal(run.code, 2, run.said);
    assert.equal(requests(project), 4);
    assert.match(run.said, /The state of the loop was replaced by an older one \(iteration 1 -> 0/);
  });
});

test('a runner whose agent puts older files of the loop back ends at its limit', async () => {
  await inLoopProject({ ...options, init: false, standIn: !IS_LONG }, script(), async (project) => {
    const run = await runRunner(project);
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.equal(requests(project), 4);
    assert.match(run.stdout, /The state of the loop was replaced by an older one \(iteration 1 -> 0/);
  });
});

/** Kills a runner in its third iteration of four, puts the files back that it had after the first, and resumes. */
async function resumeFromBackup(body: (project: LoopProject, resume: () => Promise<RunnerRun>) => Promise<void>) {
  const model = steps([text('one'), text('two'), hang('start'), text('three'), text('four'), text('five')]);
  const limits = { frontmatter: 'max_iterations: 4', init: false, standIn: true };
  await inLoopProject(limits, model, async (project) => {
    const running = startRunner(project);
    await until('the first iteration', () => project.iterations().length === 1);
    const backup = project.workspace.path('../backup');
    // What comes and goes while a file is written.
    const filter = (path: string): boolean => !/\.(?:lock|tmp)(?:\.|$)/.test(path);
    cpSync(project.files.runtimeDir, backup, { recursive: true, filter });
    await until('the third request', () => requests(project) === 3);
    running.kill();
    await running.done;
    cpSync(backup, project.files.runtimeDir, { recursive: true });
    await body(project, () => runRunner(project, { args: ['--resume'] }));
  });
}

longTest('a killed runner whose files are put back from a backup resumes within its limits', async () => {
  await resumeFromBackup(async (project, resume) => {
    const resumed = await resume();
    assert.equal(resumed.code, 2, resumed.stdout + resumed.stderr);
    assert.equal(requests(project), 5, 'two iterations were left');
    assert.match(resumed.stderr, /The state of the loop was replaced by an older one \(iteration 2 -> 1/);
    const { report, costUsd } = ofType(resumed.events, 'run.ended')[0] ?? {};
    assert.equal(report?.iterations, 4);
    assert.deepEqual(
      report?.notices.map(({ kind }) => kind),
      ['counters'],
    );
    assert.ok((costUsd ?? 0) >= 4 * 0.0008, `${costUsd}`);
  });
});

test('the same backup without counters, which could grant more iterations, is resumed by a person alone', async () => {
  await resumeFromBackup(async (project, resume) => {
    rmSync(project.files.counters);
    const { code, stdout, stderr } = await resume();
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /counters\.json is missing/, 'the loss is named');
    assert.equal(requests(project), 3, 'the model is not called');
  });
});

/** The same program, which takes the counters away as well. */
const forget = `${back}
import glob
for path in glob.glob(os.environ['XDG_STATE_HOME'] + '/ralph-loop/*/count' + 'ers.json'):
    os.remove(path)
`;
const forgetting = { ...options, files: { 'back.py': forget }, standIn: !IS_LONG };

test('a session whose program takes the counters away as well pauses and names the file', async () => {
  await inLoopProject(forgetting, script(), async (project) => {
    const run = await project.run();
    assert.equal(run.code, 3, run.said);
    assert.match(run.said, /Evidence of this loop is lost: \S+counters\.json is missing/);
    assert.equal(requests(project), 2);
  });
});

test('a runner whose agent takes the counters away as well remembers them', async () => {
  await inLoopProject({ ...forgetting, init: false }, script(), async (project) => {
    const run = await runRunner(project);
    assert.equal(run.code, 2, run.stdout + run.stderr);
    assert.equal(requests(project), 4);
    assert.match(run.stdout, /The state of the loop was replaced by an older one \(iteration 1 -> 0/);
    assert.equal(JSON.parse(readFileSync(project.files.counters, 'utf8')).iteration, 2);
  });
});
