import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { preToolUse } from '../../../../src/drive/hook/tool-use.ts';
import { aHook, type Project, put } from '../../../support/drive/drive-project.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { aProtectedLoop, call, noticesIn } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

/** A build that is installed after the start of a loop, outside the project unless a folder is given. */
function newerBundle(
  t: TestContext,
  bundle = emptyFolder(t),
): { readonly hook: string; readonly runsFrom: (is: boolean) => void } {
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

test('a build that a hook runs from is put back in the project, and named outside it', async (t) => {
  const project = aProtectedLoop(t);
  const inside = newerBundle(t, join(project.directory, 'vendor', 'ralph-loop'));
  const outside = newerBundle(t);
  const textAfter = async (hook: string): Promise<string> => {
    await call(project, () => put(hook, 'spoiled\n'));
    return readFileSync(hook, 'utf8');
  };
  await call(project, () => undefined);
  assert.equal(await textAfter(inside.hook), 'spoiled\n', 'control: no hook runs from it');
  put(inside.hook, 'hook\n');
  inside.runsFrom(true);
  assert.equal(await textAfter(inside.hook), 'hook\n');
  outside.runsFrom(true);
  assert.equal(await textAfter(outside.hook), 'spoiled\n');
  const told = noticesIn(project).map(({ kind, text }) => `${kind} ${text}`);
  assert.equal(told.length, 2, told.join('\n'));
  assert.match(told[0] ?? '', /^restore vendor\/ralph-loop\/hooks\/ralph-tool-hook\.cjs \(changed\): restored/);
  assert.match(told[1] ?? '', /^change .*ralph-tool-hook\.cjs \(changed\): found changed .* outside the project/);
});
