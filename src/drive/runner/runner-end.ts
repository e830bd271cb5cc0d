import { exitCode } from '../../engine/exit-code.ts';
import { totalCost } from '../../engine/policy/budget.ts';
import type { RunnerEventOf } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { show } from '../../state/process/program.ts';
import { endedState } from '../../state/with-state.ts';
import { exportTelemetry } from '../records/export-telemetry.ts';
import { reportAtEnd } from '../status/end-report.ts';
import { isVerified, standing, undeliveredText } from '../status/ended-loop.ts';
import { endLeftRunning, leftRunningText } from '../status/left-running.ts';
import { RUNNER_TEXTS } from './messages.ts';
import type { Runner } from './runner.ts';

export type RunnerEnd = RunnerEventOf<'run.ended'>;

/** Returns how the loop ended or was left, with the exit code. `last`: its last known state. */
export function runnerEnd({ files, loopId, options }: Runner, last: LoopState): RunnerEnd {
  const { status, state, message } = standing(files, loopId);
  const { iteration, usage } = state ?? last;
  // A runner waits for a rate limit and reports that wait itself.
  const waited = state?.status === 'paused' && state.paused.reason === 'rate-limited';
  const hasLeft = waited || (status === 'interrupted' && state?.status !== 'ended');
  return {
    type: 'run.ended',
    status,
    message: show(hasLeft || message === null ? RUNNER_TEXTS.left : message, { name: files.name, mode: 'runner' }),
    ...(state?.status === 'ended' && state.ended.text !== undefined && { text: state.ended.text }),
    code: exitCode(status, options.requiresProof && !isVerified(state)),
    iterations: iteration,
    costUsd: totalCost(usage),
  };
}

/** Reports the end to the user, with the messages that no agent received. */
export async function tellEnd({ leave, files, loopId, options }: Runner, end: RunnerEnd): Promise<RunnerEnd> {
  const lost = leave.signal.reason === 'lease-lost';
  const told: RunnerEnd = lost
    ? { ...end, status: 'error', message: RUNNER_TEXTS.leaseLost, code: exitCode('error') }
    : end;
  const ended = lost ? null : endedState(files, loopId);
  const message = ended && undeliveredText(ended);
  if (message !== null) options.tell({ type: 'agent.notice', message });
  // Before the report: a program that still runs could change the project after it.
  const left = lost ? null : ended === null ? leftRunningText(loopId) : await endLeftRunning(loopId);
  if (left !== null) options.tell({ type: 'agent.notice', message: left });
  const report = ended && (await reportAtEnd(files, ended, options.env));
  const reported: RunnerEnd = report === null ? told : { ...told, report };
  options.tell(reported);
  const unsent = ended && (await exportTelemetry(files, ended, options.env));
  if (unsent !== null) options.tell({ type: 'agent.notice', message: unsent });
  return reported;
}
