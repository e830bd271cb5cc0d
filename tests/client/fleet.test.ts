import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inLoopProject } from '../support/client/loop-project.ts';
import { fleet, SOON } from '../support/fleet/fleet.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

longTest('a loop whose worker was killed in an iteration ends verified on a second worker', async (t) => {
  const keys = 'max_iterations: 5\nvalidation: [{name: made, run: "test -f made.txt"}]';
  const f = await fleet(t, {
    tasks: [],
    files: { '.claude/ralph/PROMPT.md': `---\n${keys}\n---\nMake it.\n` },
    agent: '',
  });
  const begun = join(f.notes, 'begun');
  const model = steps([
    text('The FIRST iteration did its work.'),
    bash(`touch ${begun}; sleep 600`),
    bash('touch made.txt'),
    text('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
  ]);
  await inLoopProject({ frontmatter: keys, init: false }, model, async (project) => {
    const environment = (name: string): NodeJS.ProcessEnv => ({
      ...project.environment(),
      XDG_STATE_HOME: join(f.base, name, 'state'),
    });
    const words = ['--repo', f.remote, '--permission-mode', 'bypassPermissions'];
    const added = f.ask(['add', '.claude/ralph/PROMPT.md', ...words]);
    assert.equal(added.code, 0, added.stderr);
    const id = added.stdout.trim();
    const one = f.worker('one', [], { ...environment('one'), ...SOON });
    await until('the agent is in its second iteration', () => existsSync(begun));
    one.child.kill('SIGKILL');
    await one.over;
    const two = f.worker('two', [], environment('two'));
    const result = await f.ended(id);
    assert.deepEqual(
      [result.outcome, result.verified, result.iterations],
      ['complete', true, 2],
      result.reason + two.said(),
    );
    project.model.check();
    assert.equal(f.git(`ls-tree --name-only refs/heads/ralph/${id} made.txt`), 'made.txt');
    const [first, second, third] = project.model.mainRequests();
    assert.equal(new Set([first, second, third].map((request) => request?.sessionId)).size, 3);
    assert.match(third?.sinceText ?? '', /Iteration 2 of 5/);
    for (const request of project.model.mainRequests()) {
      assert.doesNotMatch(JSON.stringify(request.body), /RALPH_FLEET/);
    }
  });
});
