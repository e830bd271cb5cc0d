import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OLD_FILES, OLD_SETTINGS } from '../support/agent-studio.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG } from '../support/short-form.ts';

const FILES = { ...OLD_FILES, '.claude/settings.json': JSON.stringify(OLD_SETTINGS), '.claude/hooks/lint.cjs': '' };

test('after init has moved an older Stop hook aside, a loop of the same project completes', async () => {
  const model = steps([bash('touch DONE'), text('RALPH_AUDIT_COMPLETE_NO_FINDINGS')]);
  const options = { standIn: !IS_LONG, init: false, files: FILES, frontmatter: 'validation: ["test -f DONE"]' };
  await inLoopProject(options, model, async (project) => {
    const refused = project.main(['start', '--launch', '--headless', '--permission-mode', 'bypassPermissions']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Stop hook of another loop/);
    assert.equal(project.main(['init', '--yes']).code, 0);
    const { said } = await project.run();
    assert.equal(project.ended().as, 'complete', said);
    assert.equal(project.main(['uninit']).code, 0);
    const { hooks } = JSON.parse(project.workspace.read('.claude/settings.json'));
    assert.deepEqual(hooks, { Stop: [OLD_SETTINGS.hooks.Stop[1]] }, 'the user’s own hook stays');
  });
});
