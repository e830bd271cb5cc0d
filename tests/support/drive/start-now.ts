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
