import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { readPromptedTurn, writePromptedTurn } from '../../../../src/drive/records/prompted-turn.ts';
import type { PromptedTurn } from '../../../../src/engine/schema/records.ts';
import { compare, snapshot } from '../../../../src/task/progress/snapshot.ts';
import { AT, aProject } from '../../../support/drive/drive-project.ts';
import { writeFiles } from '../../../support/folder.ts';
import { ENV, PATIENT, repository } from '../../../support/repository.ts';

test('reads a recorded turn back unchanged, and anything else as none', async (t) => {
  const { files } = aProject(t);
  const directory = repository(t);
  writeFiles(directory, { 'src/a.ts': 'A', 'tasks/one/__proto__': 'x' });
  const evidence = {
    name: 'a',
    run: 'ls',
    outcome: 'ok',
    durationMs: 1,
    truncated: false,
    bytes: 2,
    preview: 'x',
  } as const;
  const taken = await snapshot(directory, 'tasks/one', { env: ENV, ...PATIENT });
  const turn: PromptedTurn = {
    ...{ loopId: 'loop-1', iteration: 2, at: AT, prompt: 'Do it.' },
    evidence: [{ ...evidence, exitCode: null, output: 'x' }],
    snapshot: taken,
  };
  writePromptedTurn(files, turn);
  assert.deepEqual(readPromptedTurn(files, 'loop-1'), turn);
  const again = readPromptedTurn(files, 'loop-1')?.snapshot ?? assert.fail();
  assert.equal(compare(taken, again).progress, 'no');
  assert.equal(readPromptedTurn(files, 'loop-2'), null, "another loop's");

  const path = files.promptedTurn;
  const odd: object[] = [
    ...[{ version: 2 }, { task: null }, { git: {} }, { git: [] }, { taskDir: 1 }],
    { task: { ...taken.task, files: { a: 1 } } },
    { task: { ...taken.task, limits: [1] } },
    { git: { ...taken.git, committed: { since: 'a' } } },
    { git: { ...taken.git, tree: [] } },
  ].map((change) => ({ ...turn, snapshot: { ...taken, ...change } }));
  odd.push(
    { ...turn, evidence: [{}] },
    { ...turn, evidence: null },
    { ...turn, prompt: 1 },
    { ...turn, iteration: -1 },
  );
  for (const value of [...odd, null, [], 1, {}]) {
    writeFileSync(path, JSON.stringify(value));
    assert.equal(readPromptedTurn(files, 'loop-1'), null, JSON.stringify(value));
  }
  writeFileSync(path, JSON.stringify(turn).slice(0, -1));
  assert.equal(readPromptedTurn(files, 'loop-1'), null, 'a torn one');
  rmSync(path);
  assert.equal(readPromptedTurn(files, 'loop-1'), null);
  mkdirSync(dirname(path), { recursive: true });
  execFileSync('mkfifo', [path]);
  assert.equal(readPromptedTurn(files, 'loop-1'), null, 'a FIFO');
});
