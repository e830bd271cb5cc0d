import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';

const RALPH = `---
max_iterations: 4
completion_promise: DONE
completion_gate: disabled
guardrails: {protected_files: [secret.txt]}
---
Do it.
`;

const git = ({ workspace }: LoopProject, ...words: string[]): string =>
  execFileSync('git', words, {
    cwd: workspace.project,
    encoding: 'utf8',
    env: { ...process.env, HOME: workspace.home },
  });

test('in a worktree the client works on its branch, under its guardrails, with the memory of one project', async () => {
  const model = steps([
    bash('git add -A; git commit -qm mine; echo x > secret.txt; true'),
    bash('echo {} > ../../../.claude/context/runtime/ralph-state.json'),
    tool('Write', { file_path: 'made.txt', content: 'made' }),
    text('First.'),
    bash('git add made.txt && git commit -qm made; pwd > where.txt'),
    text('<promise>DONE</promise>'),
  ]);
  const files = { 'jobs/make/RALPH.md': RALPH, 'CLAUDE.md': 'MARK-OF-THE-MEMORY\n', 'a.txt': 'a\n' };
  await inLoopProject({ init: false, git: true, files }, model, async (project) => {
    const { workspace } = project;
    workspace.write('.claude/context/runtime/.gitignore', '*\n');
    git(project, 'add', '-A');
    git(project, 'commit', '-qm', 'first');
    const run = await runRunner(project, { args: ['jobs/make', '--worktree'] });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);
    const there = '.ralph/worktrees/make';
    assert.match(workspace.read(`${there}/where.txt`), /\.ralph\/worktrees\/make\n$/);
    assert.equal(workspace.has(`${there}/secret.txt`), false, 'the guardrail held');
    assert.equal(
      workspace.has('.claude/context/runtime/ralph-state.json'),
      false,
      'nor are loops of the project its own',
    );
    assert.deepEqual(
      ofType(run.events, 'tool.ended').map(({ tool: name, outcome }) => [name, outcome]),
      [
        ['Bash', 'denied'],
        ['Bash', 'denied'],
        ['Write', 'ok'],
        ['Bash', 'ok'],
      ],
    );
    assert.equal(git(project, 'log', '--format=%s', 'ralph/make'), 'made\nfirst\n');
    assert.equal(git(project, 'status', '--porcelain'), '');
    assert.equal(workspace.has('made.txt'), false);
    const [first] = project.model.mainRequests();
    assert.equal(
      JSON.stringify(first?.body).match(/MARK-OF-THE-MEMORY/g)?.length,
      1,
      'not once more from the main project',
    );
    assert.match(run.stderr, /git merge ralph\/make/);
  });
});
