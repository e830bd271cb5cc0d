import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { LoopProcess, SharedBudget } from '../../../../src/drive/parallel/side-by-side-runner.ts';
import { worktreePlace } from '../../../../src/drive/worktree/worktree-place.ts';
import { withLock } from '../../../../src/state/lock/lock.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { repository } from '../../../support/repository.ts';
import { until } from '../../../support/until.ts';

const LIMITS = { maxCostUsd: null, maxTokens: null, maxTimeMs: null };

/** A loop's process that ends with 7 at SIGINT, and with 0 as soon as the file `end` exists. */
const PROGRAM = `
  const { existsSync, writeFileSync } = require('node:fs');
  process.on('SIGINT', () => process.exit(7));
  setInterval(() => existsSync('end') && process.exit(0), 20);
  writeFileSync('begun', '');
`;

/** A process that prints what a run prints, reports why it ends, quoting our own prefix, and exits. */
const FAILING = `
  console.error('ralph-loop: a note');
  const advice = [{ verb: 'Resume', command: 'resume' }];
  const message = { text: 'The set-up failed:\\nralph-loop: no such file.', advice };
  if (process.argv.includes('told')) process.send({ type: 'failed', id: 0, message });
  else console.error('crashed');
  process.exitCode = 1;
  process.disconnect();
`;

async function begun(t: TestContext) {
  const projectDir = repository(t);
  const { run, env } = started(projectDir, PROGRAM);
  t.after(() => run.signal('SIGTERM'));
  await until('the process has begun', () => existsSync(join(projectDir, 'begun')));
  const files = loopFiles(worktreePlace(projectDir, 'one').projectDir, 'one', env);
  mkdirSync(files.runtimeDir, { recursive: true });
  return { run, projectDir, files };
}

function started(projectDir: string, program: string, words: readonly string[] = []) {
  const env = { PATH: process.env['PATH'], HOME: projectDir, XDG_STATE_HOME: join(projectDir, 'state') };
  const run = new LoopProcess({
    ...{ projectDir, env, name: 'one', program: ['-e', program], words, over: undefined },
    ...{
      budget: new SharedBudget({ limits: LIMITS, stoppedMs: 0, startedAt: new Date(0).toISOString(), tasks: [] }),
      tell: () => undefined,
      onPermit: () => ({ kind: 'start' }) as never,
      settings: null,
    },
  });
  return { run, env };
}

test('a process that fails is described by the message it sent, else by all that it printed', async (t) => {
  const projectDir = repository(t);
  const told = await started(projectDir, FAILING, ['told']).run.over;
  assert.equal(
    told.end.message,
    'The set-up failed:\nralph-loop: no such file. Resume: ralph-loop resume one.',
    'what it quotes is kept, and the advice names the loop',
  );
  const { end } = await started(projectDir, FAILING).run.over;
  assert.equal(end.message, 'ralph-loop: a note\ncrashed');
});

test('a loop whose state stays locked is stopped by a signal', async (t) => {
  const { run, files } = await begun(t);
  withLock(files.lock, () => run.stop('stop'));
  assert.equal((await run.over).end.code, 7);
});

test('a process that has no loop yet is not interrupted', async (t) => {
  const { run, projectDir } = await begun(t);
  run.stop('stop');
  writeFileSync(join(projectDir, 'end'), '');
  const { end, died } = await run.over;
  assert.deepEqual([end.code, died], [1, true], 'exit code 0 without an end of its loop');
});
