import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { aHook, type Project, put } from '../../../support/drive/drive-project.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { aProtectedLoop } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

/** A build that is installed after the start of a loop. */
function newerBundle(t: TestContext): { readonly hook: string; readonly runsFrom: (is: boolean) => void } {
  const bundle = emptyFolder(t);
  const hook = join(bundle, 'hooks', 'ralph-tool-hook.cjs');
  put(join(bundle, 'scripts', 'main.cjs'), 'main\n');
  put(hook, 'hook\n');
  const [, script = ''] = process.argv;
  const runsFrom = (is: boolean): void => {
    process.argv[1] = is ? hook : script;
  };
  t.after(() => runsFrom(false));
  return { hook, runsFrom };
}

async function decisionOn(project: Project, path: string): Promise<string | undefined> {
  const write = { tool_name: 'Write', tool_input: { file_path: path, content: 'x' }, tool_use_id: 'w' };
  const answer = await preToolUse(aHook(project, 'PreToolUse', { ...write, cwd: project.directory }));
  return answer?.hookSpecificOutput?.permissionDecision;
}

test('no tool writes to the build that a hook runs from, which the contract does not know', async (t) => {
  const project = aProtectedLoop(t);
  const { hook, runsFrom } = newerBundle(t);
  assert.equal(await decisionOn(project, hook), undefined, 'control: another folder');
  runsFrom(true);
  assert.equal(await decisionOn(project, hook), 'deny');
});
