import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { type Project, put, rewrite } from '../support/drive/drive-project.ts';
import { bundleProgram, scratch } from '../support/faults/bundle-state.ts';
import { IS_LONG } from '../support/short-form.ts';
import { aProtectedLoop, call, noticesIn, treeOf } from '../support/snapshot/guarded-project.ts';

const { directory, remove } = scratch('memory');
let killer: string;
before(async () => {
  killer = await bundleProgram('restore-kill', directory);
});
after(remove);

/** Every how many changes of the disk a kill is tried; 1 tries them all. */
const STEP = Number(process.env['KILL_STEP'] ?? (IS_LONG ? 11 : 17));

interface Killed {
  readonly project: Project;
  readonly before: Readonly<Record<string, string>>;
  readonly passed: boolean;
}

/** Changes files in each way, then puts them back in a process that is killed at its N-th change of the disk. */
async function killAt(t: TestContext, n: number): Promise<Killed> {
  const project = aProtectedLoop(t);
  const tests = join(project.directory, 'tests');
  await call(project, () => undefined);
  const tree = treeOf(tests);
  put(join(tests, 'file-0.ts'), 'spoiled\n');
  rmSync(join(tests, 'file-5.ts'));
  put(join(tests, 'fresh.ts'), 'fresh\n');
  rmSync(join(tests, 'link.ts'));
  symlinkSync('file-0.ts', join(tests, 'link.ts'));
  renameSync(join(tests, 'e2e'), join(project.directory, 'moved'));
  symlinkSync('../moved', join(tests, 'e2e'));
  const { stdout, signal, stderr } = spawnSync(process.execPath, [killer, dirname(project.directory), String(n)], {
    encoding: 'utf8',
  });
  assert.ok(signal === 'SIGKILL' || stdout === 'passed\n', stderr);
  // A turn later the change would be the user's: only what was written down says whose it is.
  const state = JSON.parse(readFileSync(project.files.state, 'utf8'));
  rewrite(project, { lastDecision: { ...state.lastDecision, at: new Date(Date.now() + 1000).toISOString() } });
  return { project, before: tree, passed: stdout === 'passed\n' };
}

function archivedNames({ files }: Project): string[] {
  const folder = join(files.archiveDir, 'replaced');
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
}

const isWritten = ({ files }: Project): boolean => existsSync(`${files.snapshot}.restoring`);

test('a process that is killed while it restores files leaves the next one able to finish', async (t) => {
  let begun = 0;
  for (let n = 1; ; n += STEP) {
    const { project, before: tree, passed } = await killAt(t, n);
    const wasWritten = isWritten(project);
    await call(project, () => undefined);
    if (passed || wasWritten) {
      begun += 1;
      assert.deepEqual(treeOf(join(project.directory, 'tests')), tree, `call ${n}`);
      const names = archivedNames(project);
      for (const name of ['tests/file-0.ts', 'tests/fresh.ts', 'tests/link.ts']) {
        assert.ok(
          names.some((path) => path.endsWith(name)),
          `call ${n}: ${name}`,
        );
      }
      assert.equal(noticesIn(project).filter(({ kind }) => kind === 'restore').length, 1, `call ${n}`);
      assert.equal(isWritten(project), false, `call ${n}`);
    }
    assert.deepEqual(Object.keys(treeOf(join(project.directory, 'moved'))).length, 24, `call ${n}`);
    if (passed) break;
  }
  assert.ok(begun * STEP > 20, `${begun} kills after the intent was written`);
});

test('control: without the record of the intended changes a kill leaves files changed', async (t) => {
  let left = 0;
  for (const n of [12, 20, 28]) {
    const { project, before: tree } = await killAt(t, n);
    rmSync(`${project.files.snapshot}.restoring`, { force: true });
    await call(project, () => undefined);
    if (JSON.stringify(treeOf(join(project.directory, 'tests'))) !== JSON.stringify(tree)) left += 1;
  }
  assert.ok(left > 0);
});
