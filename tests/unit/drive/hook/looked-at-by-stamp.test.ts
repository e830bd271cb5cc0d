import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { restoreProtected } from '../../../../src/drive/control/restore-protected.ts';
import type { Sandbox } from '../../../../src/engine/schema/contract.ts';
import { listEvidence } from '../../../../src/state/evidence/evidence.ts';
import { beginEvidence } from '../../../../src/state/evidence/store-evidence.ts';
import { writeRecord } from '../../../../src/state/files/regular-file.ts';
import { readContract } from '../../../../src/state/loop-files.ts';
import { examine } from '../../../../src/state/snapshot/examine.ts';
import { readLook, stampOf } from '../../../../src/state/snapshot/look.ts';
import { readSnapshot, storeLook, takeSnapshot } from '../../../../src/state/snapshot/snapshot.ts';
import { statAt } from '../../../../src/state/snapshot/version.ts';
import { type Project, put, stateOf } from '../../../support/drive/drive-project.ts';
import { aProtectedLoop } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

test('a look does not watch the folder in which the loop itself writes', (t) => {
  const { directory, files } = aProtectedLoop(t);
  const paths = readLook(`${files.snapshot}.look`)?.paths ?? [];
  assert.ok(paths.includes(join(directory, '.claude')), paths.join('\n'));
  assert.deepEqual(
    paths.filter((path) => path.startsWith(join(directory, '.claude', 'context'))),
    [],
  );
});

/** Stores the stamps that the files have now, as if an examination had just seen them. */
async function stampAll({ files, directory }: Project, paths: readonly string[]): Promise<void> {
  const isFresh = (path: string): boolean => Number.isNaN(stampOf(statAt(join(directory, path)), Date.now())[2]);
  while (paths.some(isFresh)) await sleep(10);
  const contract = readContract(files)?.contract;
  const snapshot = readSnapshot(files, contract ?? { loopId: '', evidence: {} });
  assert.ok(snapshot !== null);
  storeLook(files, snapshot);
}

function restoreAt(project: Project, depth: 'all' | 'content', sandbox?: Sandbox): void {
  const { files, directory } = project;
  const contract = readContract(files)?.contract;
  assert.ok(contract !== undefined);
  const context = { files, env: { HOME: directory }, now: () => new Date().toISOString() };
  const state = stateOf(project);
  const confined = { ...contract, ...(sandbox && { sandbox }) };
  restoreProtected(context, {
    state,
    contract: confined,
    found: { when: 'verification' },
    depth,
    mayBeAgents: () => true,
  });
}

test('before a verification a file is compared by its bytes, and the program by its stamp', async (t) => {
  const [hook, check] = ['.claude/hooks/ralph-stop-hook.cjs', 'tests/file-0.ts'];
  const project = aProtectedLoop(t, undefined, { more: { [hook]: '// hook\n' } });
  const text = (path: string): string => readFileSync(join(project.directory, path), 'utf8');
  const before = text(check);
  for (const path of [hook, check]) writeFileSync(join(project.directory, path), '// spoiled\n');
  await stampAll(project, [hook, check]);
  restoreAt(project, 'all');
  assert.deepEqual([text(hook), text(check)], ['// spoiled\n', '// spoiled\n'], 'control: their stamps are known');
  restoreAt(project, 'content');
  assert.deepEqual([text(hook), text(check)], ['// spoiled\n', before]);
  put(join(project.directory, hook), '// once more\n');
  restoreAt(project, 'content');
  assert.equal(text(hook), '// hook\n', 'another stamp is enough');
});

test('an empty read-only file is no change of a confined loop where its sandbox shows one', (t) => {
  const sandbox = { allowWrite: [], denyWrite: [], denyRead: [], network: false };
  const project = aProtectedLoop(t);
  const [shown, full, left] = ['shown.ts', 'full.ts', 'left.ts'].map((name) =>
    join(project.directory, 'tests', name),
  ) as [string, string, string];
  writeRecord(project.files.placeholders, { paths: [shown, full] });
  put(full, 'x');
  for (const path of [shown, left]) put(path, '');
  for (const path of [shown, full, left]) chmodSync(path, 0o444);
  restoreAt(project, 'all', sandbox);
  assert.deepEqual([shown, full, left].map(existsSync), [true, false, false]);
  chmodSync(shown, 0o644);
  restoreAt(project, 'all', sandbox);
  assert.equal(existsSync(shown), false, 'control: a file that can be written');
  put(shown, '');
  chmodSync(shown, 0o444);
  restoreAt(project, 'all');
  assert.equal(existsSync(shown), false, 'control: without a sandbox');
});

test('a placeholder that a client removes is no change, at any moment', (t) => {
  const { directory, files } = aProtectedLoop(t);
  const [early, late] = ['early.ts', 'late.ts'].map((name) => join(directory, 'tests', name)) as [string, string];
  const show = (path: string): void => {
    put(path, '');
    chmodSync(path, 0o444);
  };
  const changesAround = (placeholders: ReadonlySet<string>, known = placeholders): string[] => {
    const covers = (path: string): boolean => path.startsWith(join(directory, 'tests'));
    const protect = { roots: [directory], covers, skips: () => false };
    show(early);
    beginEvidence(files, 'loop');
    takeSnapshot(files, 'loop', { own: [], protect, isOutside: () => false, isKept: () => true }, known);
    rmSync(early);
    show(late);
    const snapshot = readSnapshot(files, { loopId: 'loop', evidence: listEvidence(files, 'loop') });
    assert.ok(snapshot !== null);
    const removesLate = (path: string): boolean => {
      if (path === late) rmSync(late);
      return covers(path);
    };
    const options = { protect: { ...protect, covers: removesLate }, depth: 'all', placeholders } as const;
    return examine(files, snapshot, options).changes.map(({ path, was }) => `${path} ${was}`);
  };
  assert.deepEqual(changesAround(new Set([early, late])), []);
  assert.deepEqual(changesAround(new Set([early, late]), new Set()), [], 'the snapshot was taken without knowing them');
  assert.deepEqual(changesAround(new Set()), [`${early} deleted`, `${late} new`], 'control');
});
