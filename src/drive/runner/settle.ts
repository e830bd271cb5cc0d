import { exitCode } from '../../core/exit-code.ts';
import type { RunnerEvent } from '../../core/runner-event.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { readContract } from '../../state/contract-store.ts';
import { readState } from '../../state/read-state.ts';
import { endedLoop } from '../ended-loop.ts';
import { HOOK_TEXTS, LAUNCH_TEXTS } from '../texts.ts';
import type { Runner } from './runner.ts';
import { inRunner, RUNNER_TEXTS } from './texts.ts';

type End = Extract<RunnerEvent, { type: 'loop-ended' }>;

/** How the loop stands now that the runner leaves it, and with which exit code. */
export function settle({ files, loopId, turn }: Runner): End {
  const end = endOf(files.name);
  const current = readState(files.state);
  const live = current.kind === 'loop' && current.state.loopId === loopId ? current.state : null;
  if (live?.status === 'paused') {
    const { reason, message } = live.paused;
    if (reason === 'interrupted') return end(live, 'interrupted', RUNNER_TEXTS.left);
    return end(live, 'paused', `${message} ${RUNNER_TEXTS.pausedThere}`);
  }
  if (live !== null && live.status !== 'ended') return end(live, 'interrupted', RUNNER_TEXTS.left);
  const { state } = turn.loaded;
  // Whoever ends a loop drops its contract: while that stands, the archive says nothing that could be believed.
  if (readContract(files)?.contract.loopId === loopId) return end(state, 'error', HOOK_TEXTS.vanished);
  const ended = endedLoop(files, loopId);
  return ended === null ? end(state, 'error', LAUNCH_TEXTS.unknownEnd) : end(state, ended.as, ended.message);
}

function endOf(name: string | null): (state: LoopState, status: End['status'], message: string) => End {
  return ({ iteration, usage }, status, message) => ({
    type: 'loop-ended',
    status,
    message: inRunner(message, name),
    code: exitCode(status),
    iterations: iteration,
    costUsd: usage.costUsd,
  });
}
