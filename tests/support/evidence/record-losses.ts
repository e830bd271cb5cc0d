import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { claimBatch, findBatch, NEW_TASK, writeBatch } from '../../../src/drive/parallel/batch.ts';
import { lossOfRecord, writeWorktreeRecord } from '../../../src/drive/worktree/worktree-place.ts';
import type { Batch } from '../../../src/engine/schema/batch.ts';
import { type LoopFiles, loopFiles } from '../../../src/state/loop-files.ts';
import { RalphError } from '../../../src/text/message.ts';
import { emptyFolder } from '../folder.ts';
import { DAMAGES } from './evidence-table.ts';

/** Records of a project whose digests are in its own manifest, and that manifest. */
export const RECORDS: Readonly<Record<string, (files: LoopFiles) => string>> = {
  'a parallel run': (files) => files.batch,
  'a worktree': ({ outsideDir }) => join(outsideDir, 'worktree.one.json'),
  'both, by their digests': (files) => files.records,
};

/** Record of a run with one task whose loop has begun. */
export const BATCH: Batch = {
  startedAt: '2026-01-01T00:00:00Z',
  stoppedMs: 0,
  title: '',
  ended: null,
  runner: { pid: 999999, startedAt: null },
  atOnce: 1,
  integrate: 'merge',
  limits: { maxCostUsd: 1, maxTokens: null, maxTimeMs: null },
  fresh: false,
  words: [],
  rest: [],
  tasks: [{ ...NEW_TASK, name: 'one', taskPath: 'one.md', words: [], step: 'started' }],
};

/** Returns what the next process says about the records of a run that was killed, once `damage` has happened to one of them. */
export function recordLosses(t: TestContext, record: string, damage: string | null): readonly (string | null)[] {
  const projectDir = emptyFolder(t);
  const env = { HOME: projectDir, XDG_STATE_HOME: join(projectDir, 'state') };
  const files = loopFiles(projectDir, null, env);
  const path = RECORDS[record]?.(files) ?? '';
  claimBatch(projectDir, env, BATCH, null);
  writeWorktreeRecord(projectDir, 'one', env, { step: 'made', base: 'a1', hadBranch: false });
  const former = readFileSync(path);
  writeBatch(projectDir, env, { ...BATCH, atOnce: 2 });
  writeWorktreeRecord(projectDir, 'one', env, { step: 'ready', base: 'a1', hadBranch: false });
  if (damage !== null) DAMAGES[damage]?.(path, record, { former, others: former }, files);
  const run = findBatch(projectDir, env);
  const said = [run instanceof RalphError ? run.message : null, lossOfRecord(projectDir, 'one', env)?.text ?? null];
  return said.map(
    (text) =>
      /(\S+\.json) ((?:is|was) [\w ]+)/
        .exec(text ?? '')
        ?.slice(1)
        .join(' ') ?? text,
  );
}
