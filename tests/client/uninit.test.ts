import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { inLoopProject, promptFile } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';

/** The user's own file, in a style of its own: tabs, a hook of theirs, no newline at its end. */
const settings = [
  '{',
  '\t"permissions": { "allow": ["Bash(ls:*)"] },',
  '\t"hooks": {',
  '\t\t"Stop": [{ "hooks": [{ "type": "command", "command": "echo mine >> mine.txt" }] }]',
  '\t}',
  '}',
].join('\r\n');

const tree = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();

test('uninit restores a project that ran a loop byte for byte, and the user’s own hook ran beside ours', async () => {
  await inLoopProject(
    { standIn: !IS_LONG, frontmatter: 'max_iterations: 2', files: { '.claude/settings.json': settings } },
    steps([bash('echo work > work.txt'), text('one'), text('two')]),
    async (project) => {
      const { workspace } = project;
      assert.notEqual(workspace.read('.claude/settings.json'), settings, 'control: init registered its hooks');
      const run = await project.run();
      project.model.check();
      assert.equal(run.code, 2, run.said);
      assert.equal(workspace.read('mine.txt'), 'mine\nmine\n');
      const uninit = project.main(['uninit']);
      assert.equal(uninit.code, 0, uninit.stderr);
      assert.equal(workspace.read('.claude/settings.json'), settings);
      const runtime = '.claude/context/runtime/';
      assert.deepEqual(
        tree(workspace.project).filter((path) => !path.startsWith(runtime)),
        ['.claude/context/memory/learnings.md', promptFile, '.claude/settings.json', 'mine.txt', 'work.txt'].sort(),
      );
      assert.equal(project.ended().as, 'max-iterations', 'what the loop left behind stays');
    },
  );
});

longTest('uninit refuses while a loop is live', async () => {
  const script = steps([
    () => {
      refused = refuse();
      return text('one');
    },
  ]);
  let refuse: () => string = () => '';
  let refused = '';
  await inLoopProject({ frontmatter: 'max_iterations: 1' }, script, async (project) => {
    refuse = () => {
      const uninit = project.main(['uninit']);
      return `${uninit.code} ${uninit.stderr}`;
    };
    const run = await project.run();
    project.model.check();
    assert.match(refused, /^1 ralph-loop: .*live/s);
    assert.equal(run.code, 2, run.said);
  });
});
