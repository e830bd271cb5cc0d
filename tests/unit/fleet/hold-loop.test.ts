import { LoopHolder } from '../../../src/fleet/worker/hold-loop.ts';
import { type Holding, PutBack } from '../../../src/fleet/worker/holding.ts';
import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../../support/until.ts';
import { aProject } from '../state/a-loop.ts';

/** A runner that asks for its first permit, and hangs when it is told to leave. */
const HANGING = `
  process.on('message', () => require('node:fs').writeFileSync('hangs', ''));
  console.log(JSON.stringify({ type: 'run.started', maxIterations: 5 }));
  process.send({ type: 'permit', id: 0, spent: { costUsd: 0, tokens: 0, timeMs: 0 } });
  setInterval(() => undefined, 1000);
`;

function hangingClaim(t: TestContext): { readonly holding: Holding; readonly hurry: AbortController } {
  const files = aProject(t);
  mkdirSync(join(files.projectDir, 'tmp'));
  const hurry = new AbortController();
  const leaving = new AbortController();
  const holding = {
    submission: { task: { path: 'PROMPT.md' }, name: 'site', contract: { flags: {}, args: {} }, account: 'a' },
    commands: { apply: async () => undefined, wanted: null, last: 0 },
    // The worker is told to leave while the loop works.
    budget: { settle: async () => leaving.abort(), use: () => undefined },
    events: { tell: () => undefined, follow: () => undefined },
    terms: { fixed: { resolved: { settings: { worktreeSetup: null } }, terms: {} } },
    ws: { dir: files.projectDir, home: files.projectDir },
    line: { meta: { attempt: 1, iteration: 0, takeOvers: 0, spent: {} }, sha: 'a' },
    files,
    env: process.env,
    program: ['-e', HANGING, '--'],
    lost: new AbortController().signal,
    leaving: leaving.signal,
    hurry: hurry.signal,
    progress: async () => undefined,
  };
  return { holding: holding as unknown as Holding, hurry };
}

test('a runner that hangs after it was told to leave is ended when the worker hurries', async (t) => {
  const { holding, hurry } = hangingClaim(t);
  const ended = new LoopHolder(holding).run();
  await until('the runner is told to leave', () => existsSync(join(holding.files.projectDir, 'hangs')));
  hurry.abort();
  await assert.rejects(ended, (error) => error instanceof PutBack && /SIGTERM/.test(error.message));
});
