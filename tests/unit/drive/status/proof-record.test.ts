import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { proofPath, whole, writeProof } from '../../../../src/drive/status/proof-record.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { emptyFolder } from '../../../support/folder.ts';

const RECORD = whole({
  proofVersion: 1,
  loopId: 'loop-1',
  name: 'fix',
  task: { path: '.ralph/fix/RALPH.md', sha256: '0'.repeat(64) },
  contract: '0'.repeat(64),
  checks: [],
  proof: 'none',
  verified: false,
  tree: null,
  commits: [],
  iterations: 1,
  costUsd: null,
  tokens: null,
  client: null,
  node: 'v20.12.0',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:00.000Z',
});

test('a proof is written in its loop directory, and through no link that leads out of the project', (t) => {
  const base = emptyFolder(t);
  const [project, outside] = [join(base, 'project'), join(base, 'outside')];
  for (const folder of [join(project, '.ralph', 'fix'), join(project, '.ralph'), outside])
    mkdirSync(folder, { recursive: true });
  const files = loopFiles(project, 'fix', { HOME: base });
  writeProof(files, RECORD);
  assert.deepEqual(JSON.parse(readFileSync(join(project, '.ralph/fix/proof.json'), 'utf8')), RECORD, 'control');
  symlinkSync(outside, join(project, '.ralph', 'away'));
  const away = { ...RECORD, task: { ...RECORD.task, path: '.ralph/away/RALPH.md' } };
  assert.throws(() => writeProof(files, away), /leads out of the project, and nothing is written through it/);
  assert.equal(existsSync(join(outside, 'proof.json')), false);
});

test('a file of the user at the place of a proof stays', (t) => {
  const project = emptyFolder(t);
  mkdirSync(join(project, '.ralph', 'fix'), { recursive: true });
  const files = loopFiles(project, 'fix', { HOME: project });
  const path = join(project, '.ralph/fix/proof.json');
  writeFileSync(path, '{"mine": true}');
  assert.throws(() => writeProof(files, RECORD), /is not of a loop, and stays as it is/);
  assert.equal(readFileSync(path, 'utf8'), '{"mine": true}');
});

test('only a loop directory holds a proof that others get; every other one is among the runtime files', () => {
  const files = loopFiles('/p', 'job', { HOME: '/h' });
  for (const task of ['job/RALPH.md', '.ralph/a/b/RALPH.md', 'PLAN.md', '.claude/ralph/PROMPT.md']) {
    assert.equal(proofPath(files, task), '/p/.claude/context/runtime/ralph-proof.job.json', task);
  }
  assert.equal(proofPath(files, '.ralph/fix/task.md'), '/p/.ralph/fix/proof.json');
});
