import { writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { provePhase } from '../../../src/drive/tdd/prove-phase.ts';
import { listOf } from '../../../src/drive/tdd/scenario-list.ts';
import type { TddPhase } from '../../../src/engine/schema/tdd.ts';
import { nextScenario } from '../../../src/engine/tdd/phases.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { withTdd } from '../../../src/state/tdd-store.ts';

/**
 * Works through a TDD list as an agent with `ralph-loop tdd next`, `red` and `green` does, beside others that do the same,
 * and says each phase on stdout that its own run has proved. Usage: tdd-worker.cjs PROJECT; ends when all is complete.
 */
const [project = ''] = process.argv.slice(2);
const { env } = process;
const files = loopFiles(project, null, env);
const now = (): string => new Date().toISOString();

/** Rounds in which it proved nothing itself. Beside others that work it has fewer; where updates are lost it would go on for ever. */
const MOST_IDLE_ROUNDS = 200;

async function prove(phase: TddPhase, id: string): Promise<boolean> {
  const { signal } = new AbortController();
  const { ok, ran } = await provePhase(files, { phase, id, again: false, env, signal, now });
  if (ok && ran) writeSync(1, `${id} ${phase}\n`);
  return ok && ran;
}

async function work(): Promise<void> {
  for (let idle = 0; idle < MOST_IDLE_ROUNDS; idle++) {
    const scenario = withTdd(files, now(), (found) => {
      const next = nextScenario(listOf(found, files.name).record);
      return { next: next.record, result: next.scenario };
    });
    if (scenario === null) return;
    const red = await prove('red', scenario.id);
    writeFileSync(join(project, `made-${scenario.id}`), '');
    const green = await prove('green', scenario.id);
    if (red || green) idle = 0;
  }
  throw new Error('it comes to no end');
}

void work();
