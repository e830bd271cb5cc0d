import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { inLoopProject } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, type Script, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';

const task = (name: string): string => `---
max_iterations: 3
completion_promise: DONE
completion_gate: disabled
validation: ['test -s ${name}.txt']
---
Do the task ${name}.
`;

/** Each agent commits the file of its own task, and then claims to be done. */
const script: Script = {
  main: ({ body }) => {
    const said = JSON.stringify(body.messages);
    const name = /Do the task (\w+)\./.exec(said)?.[1] ?? 'unknown';
    if (said.includes('tool_result')) return text('<promise>DONE</promise>');
    return bash(`echo ${name} > ${name}.txt && git add ${name}.txt && git commit -qm "Add ${name}"`);
  },
};

longTest('two clients work side by side, each on its branch, and their work is merged under one report', async () => {
  const files = { 'jobs/left/RALPH.md': task('left'), 'jobs/right/RALPH.md': task('right'), 'a.txt': 'a\n' };
  await inLoopProject({ init: false, git: true, files }, script, async (project) => {
    const { workspace } = project;
    const git = (...words: string[]): string =>
      execFileSync('git', words, {
        cwd: workspace.project,
        encoding: 'utf8',
        env: { ...process.env, HOME: workspace.home },
      });
    workspace.write('.gitignore', '.claude/\nreport.html\n');
    git('add', '-A');
    git('commit', '-qm', 'first');
    const args = ['jobs/left', 'jobs/right', '--parallel', '2', '--integrate', 'merge', '--require-verified'];
    const run = await runRunner(project, { args: [...args, '--report', 'report.html'], json: false });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(workspace.read('left.txt') + workspace.read('right.txt'), 'left\nright\n');
    assert.match(git('log', '--format=%s'), /Add right/);
    assert.equal(git('branch', '--list', 'ralph/*'), '');
    assert.equal(git('status', '--porcelain'), '');
    assert.match(run.stdout, /^left +Do the task left\. +complete +red-to-green .* \$[\d.]+ .*[0-9a-f]{7,}$/m);
    assert.match(run.stdout, /^total +2 of 2 done +.*\$[\d.]+/m);
    const page = workspace.read('report.html');
    assert.match(page, /<title>left, right: 2 of 2 tasks done<\/title>/);
    for (const name of ['left', 'right']) assert.match(page, new RegExp(`"task":"jobs/${name}/RALPH.md"`));
  });
});
