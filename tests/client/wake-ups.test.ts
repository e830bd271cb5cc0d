import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { steps, text } from '../support/model/scripted-model.ts';
import { someOf } from '../support/short-form.ts';

/** Tools whose wake-up would come after the client has exited. */
const WAKE_UPS = ['ScheduleWakeup', 'CronCreate'];

const offered = ({ model }: LoopProject): string[] => {
  const { tools = [] } = (model.mainRequests()[0]?.body ?? {}) as { readonly tools?: readonly { name: string }[] };
  return WAKE_UPS.filter((name) => tools.some((tool) => tool.name === name));
};

const DRIVERS: readonly (readonly [string, readonly string[] | null])[] = [
  ['run', ['run', '--permission-mode', 'bypassPermissions']],
  ['session', null],
];

for (const [driver, command] of someOf(DRIVERS, 2)) {
  test(`${driver}: a client without a terminal is offered no tool that wakes it later`, async () => {
    await inLoopProject({ frontmatter: 'max_iterations: 1' }, steps([text('one')]), async (project) => {
      await project.run(command === null ? {} : { command });
      assert.deepEqual(offered(project), []);
    });
  });
}

test('control: the client by itself offers one', async () => {
  await inLoopProject({}, steps([text('one')]), async (project) => {
    await runClient({ workspace: project.workspace, model: project.model, prompt: 'begin' });
    assert.notDeepEqual(offered(project), []);
  });
});
