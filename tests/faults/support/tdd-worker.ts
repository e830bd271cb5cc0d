import { writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { TddPhase } from '../../../src/core/schema/tdd-state.ts';
import { nextScenario } from '../../../src/core/tdd/next-scenario.ts';
import { listOf } from '../../../src/drive/tdd/list-of.ts';
import { provePhase } from '../../../src/drive/tdd/prove-phase.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { withTdd } from '../../../src/state/tdd-store.ts';

/**
 * Works through a TDD list as an agent with `main.cjs tdd next`, `red` and `green` does, beside others that do the same,
 * and says each phase on stdout that its own run has proved. Usage: tdd-worker.cjs PROJECT; ends when all is complete.
 */
const [project = ''] = process.argv.slice(2);
const { env } = process;
const files = loopFiles(project, null, env);
const now = (): string => new Date().toISOString();

async function prove(phase: TddPhase, id: string): Promise<void> {
  const { signal } = new AbortController();
  const { ok, ran } = await provePhase(files, { phase, id, again: false, env, signal, now });
  if (ok && ran) writeSync(1, `${id} ${phase}\n`);
}

async function work(): Promise<void> {
  for (;;) {
    const scenario = withTdd(files, now(), (found) => {
      const next = nextScenario(listOf(found, files.name).record);
      return { next: next.record, result: next.scenario };
    });
    if (scenario === null) return;
    await prove('red', scenario.id);
    writeFileSync(join(project, `made-${scenario.id}`), '');
    await prove('green', scenario.id);
  }
}

void work();
