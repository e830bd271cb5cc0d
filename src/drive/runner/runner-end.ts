import { exitCode } from '../../engine/exit-code.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readContract } from '../../state/contract-store.ts';
import { show } from '../../state/process/program.ts';
import { readState } from '../../state/read-state.ts';
import type { Message } from '../../text/message.ts';
import { endedState, unheard } from '../status/ended-loop.ts';
import { HOOK_TEXTS, LAUNCH_TEXTS } from '../turn/messages.ts';
import { RUNNER_TEXTS } from './messages.ts';
import type { Runner } from './runner.ts';

export type RunnerEnd = Extract<RunnerEvent, { type: 'loop-ended' }>;

/** Returns how the loop stands when the runner leaves it, with the exit code. `last` is its state as last known. */
export function runnerEnd({ files, loopId }: Runner, last: LoopState): RunnerEnd {
  const end = ({ iteration, usage }: LoopState, status: RunnerEnd['status'], message: Message | string): RunnerEnd => ({
    type: 'loop-ended',
    status,
    message: show(message, { name: files.name, mode: 'runner' }),
    code: exitCode(status),
    iterations: iteration,
    costUsd: usage.costUsd,
  });
  const current = readState(files.state);
  const live = current.kind === 'loop' && current.state.loopId === loopId ? current.state : null;
  if (live?.status === 'paused') {
    const { reason, message } = live.paused;
    if (reason === 'interrupted') return end(live, 'interrupted', RUNNER_TEXTS.left);
    return end(live, 'paused', message);
  }
  if (live !== null && live.status !== 'ended') return end(live, 'interrupted', RUNNER_TEXTS.left);
  // A loop that ended has no contract: while that exists, the archive proves nothing.
  if (readContract(files)?.contract.loopId === loopId) return end(last, 'error', HOOK_TEXTS.vanished);
  const archived = endedState(files, loopId);
  if (archived === null) return end(last, 'error', LAUNCH_TEXTS.unknownEnd);
  return end(archived, archived.ended.as, archived.ended.message);
}

/** Reports the end to the user, with the messages that no agent received. */
export function tellEnd({ leave, files, loopId, options }: Runner, end: RunnerEnd): RunnerEnd {
  const lost = leave.signal.reason === 'lease-lost';
  const told: RunnerEnd = lost
    ? { ...end, status: 'error', message: RUNNER_TEXTS.leaseLost, code: exitCode('error') }
    : end;
  const ended = lost ? null : endedState(files, loopId);
  const message = ended && unheard(ended);
  if (message !== null) options.tell({ type: 'notice', message });
  options.tell(told);
  return told;
}
