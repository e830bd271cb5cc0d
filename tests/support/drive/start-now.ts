import { join } from 'node:path';
import { taskLoopName } from '../../../src/drive/start/find-task.ts';
import { prepareStart } from '../../../src/drive/start/prepare-contract.ts';
import type { Approved, StartedLoop, StartRequest } from '../../../src/drive/start/stages.ts';
import { startLoop, unasked } from '../../../src/drive/start/start-loop.ts';

/** A request, and what was found out before its start. */
export type Ready = StartRequest & Partial<Omit<Approved, 'prepared' | 'at'>>;

/** A start for which no person is asked. */
export function approvedOf({ approval, baseline, startPoint, gitPins, ...request }: Ready): Approved {
  const found = { approval, baseline, startPoint, gitPins };
  const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  return { ...unasked(prepareStart(request)), ...given };
}

export function startNow(ready: Ready): StartedLoop {
  return startLoop(approvedOf(ready));
}

/** Does what the command `start` does on a task folder, or on PROMPT.md, in a third of the time: it starts no program. */
export function startHere(
  { dir, env }: { readonly dir: string; readonly env: NodeJS.ProcessEnv },
  folder?: string,
): void {
  const name = folder === undefined ? null : taskLoopName(dir, join(folder, 'RALPH.md'), env);
  startNow({
    ...{ projectDir: dir, name, task: folder ?? null, flags: {}, env },
    ...{ at: new Date().toISOString(), existing: 'refuse', consented: true, baseline: null },
  });
}
