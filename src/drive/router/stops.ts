import { exitCode } from '../../core/exit-code.ts';
import type { LoopState, StateOf } from '../../core/schema/state.ts';
import { findContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { endedLoop } from '../ended-loop.ts';
import { HOOK_TEXTS } from '../texts.ts';
import type { StopAnswer } from './answer.ts';
import type { Hold } from './hold.ts';
import type { RouterOptions } from './router.ts';
import { readSpawn } from './spawn-record.ts';
import { inRouter, ROUTER_TEXTS } from './texts.ts';

/** Somebody else drives the loop that lies here. */
export function busy(files: LoopFiles, state: LoopState, hold: Hold): StopAnswer {
  const { iteration, maxIterations, sessionId, clientPid, mode, loopId } = state;
  const whose =
    mode === 'router'
      ? ROUTER_TEXTS.busy(iteration, maxIterations, clientPid)
      : ROUTER_TEXTS.otherMode(mode, iteration);
  const message = hold === 'unseen' ? `${whose} ${ROUTER_TEXTS.unseen}` : whose;
  return {
    ...stop(files, 'busy', message, exitCode('error')),
    loopId,
    next: ROUTER_TEXTS.thenBusy,
    holder: { sessionId, pid: clientPid },
  };
}

/** There is no loop any more: how the last one that a router drove here ended, or that there was none. */
export function over(files: LoopFiles, { program }: Pick<RouterOptions, 'program'>): StopAnswer {
  const loopId = readSpawn(files)?.loopId ?? null;
  const ended = loopId === null ? null : endedLoop(files, loopId);
  if (loopId !== null && ended !== null) return endAnswer(files, loopId, ended);
  const contract = findContract(files);
  // Whoever ends a loop drops its contract.
  if (typeof contract !== 'string' && contract.contract.loopId === loopId) {
    return { ...trouble(files, HOOK_TEXTS.vanished), loopId };
  }
  const start = `${program} router start`;
  return { ...stop(files, 'none', ROUTER_TEXTS.none, exitCode('error')), next: ROUTER_TEXTS.thenNone(start) };
}

/** How a loop ended. */
export function endAnswer(
  files: LoopFiles,
  loopId: string,
  { as, message, verified }: StateOf<'ended'>['ended'],
): StopAnswer {
  return { ...stop(files, as, message, exitCode(as)), loopId, verified };
}

/** The loop cannot be driven, and why. */
export function trouble(files: LoopFiles, message: string): StopAnswer {
  return stop(files, 'error', message, exitCode('error'));
}

function stop({ name }: LoopFiles, status: StopAnswer['status'], message: string, code: number): StopAnswer {
  return {
    action: 'stop',
    status,
    message: inRouter(message, name),
    verified: false,
    exitCode: code,
    loopId: null,
    loop: name,
    notes: [],
    next: ROUTER_TEXTS.thenStop,
  };
}
