import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import type { Workspace } from '../support/client/workspace.ts';
import { commitFolder } from '../support/git.ts';
import { steps, text, tool } from '../support/model/scripted-model.ts';

const WORDS = 'make the failing tests pass';
const NAME = 'make-failing-tests-pass';
const packageWith = (run: string): string => JSON.stringify({ name: 'sums', scripts: { test: run } });
const TEST = "require('node:test')('adds', () => require('node:assert').equal(require('../sum.js').sum(1, 2), 3));\n";

test('a start that is refused leaves no draft, the next one has its name, and explain says what proved it', async () => {
  const model = ({ path }: Workspace) =>
    steps([
      tool('Write', { file_path: path('sum.js'), content: 'exports.sum = (a, b) => a + b;\n' }),
      text('It is there.\n\n<promise>DONE</promise>'),
    ]);
  const files = { 'package.json': packageWith('no-such-runner'), 'test/sum.test.js': TEST };
  await inLoopProject({ init: false, git: true, files, loop: NAME }, model, async (project) => {
    const { workspace } = project;
    const git = commitFolder(workspace.project);
    const given = { permissionMode: null, json: false, args: [WORDS, '--yes', '--plain'] };
    const refused = await runRunner(project, given);
    assert.equal(refused.code, 1, refused.stdout + refused.stderr);
    assert.match(refused.stderr, /npm test cannot run: /);
    assert.equal(readdirSync(workspace.project).includes('.ralph'), false);
    workspace.write('package.json', packageWith('node --test'));
    git('commit', '--quiet', '--all', '--message', 'Name the runner');
    const started = await runRunner(project, given);
    assert.equal(started.code, 0, started.stdout + started.stderr);
    const tasks = readdirSync(workspace.path('.ralph')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(tasks, [NAME]);
    const explained = project.main(['explain']);
    assert.equal(explained.code, 0, explained.stderr);
    assert.match(
      explained.stdout,
      /Complete after 1 iteration, verified by \d checks?\. npm test failed before the start/,
    );
    project.model.check();
  });
});
