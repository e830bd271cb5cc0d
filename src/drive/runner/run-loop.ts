import { about } from '../../text/message.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { loopStarted, recordLive } from '../records/live-events.ts';
import { clear, deliver } from '../records/outbox.ts';
import type { StartedLoop } from '../start/start-loop.ts';
import { startFreshTurn } from '../turn/dispatch.ts';
import { runEffects } from '../turn/run-effects.ts';
import { handleSignals, liveControls } from './handle-signals.ts';
import { takeLease } from './lease.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { newRunner, now, type Runner, type RunnerOptions } from './runner.ts';
import { runnerDriver } from './runner-driver.ts';
import { type RunnerEnd, runnerEnd, tellEnd } from './runner-end.ts';
import { watchOperator } from './watch-operator.ts';

/** Drives a loop to its end under its lease, and ends its agent in any case. `start` runs once it is held. */
export async function runLoop(
  files: StartedLoop['files'],
  start: () => StartedLoop,
  optionsFor: (started: StartedLoop) => RunnerOptions,
): Promise<RunnerEnd> {
  let lost = false;
  let runner: Runner | null = null;
  const lease = takeLease(files, () => {
    lost = true;
    runner?.leave.abort('lease-lost');
    runner?.agent?.end('interrupt');
  });
  try {
    await lease.alone;
    deliver(files, now());
    const started = start();
    const given = optionsFor(started);
    const options = { ...given, tell: recordLive(files, started.state, given.tell) };
    runner = newRunner(started, options, lease);
    if (lost) runner.leave.abort('lease-lost');
    const quiet = [handleSignals(runner), watchOperator(runner)];
    try {
      options.tell(loopStarted(started.state));
      options.live?.(liveControls(runner));
      const { turn, effects } = startFreshTurn(runner.begun);
      const end = await runEffects(turn, runnerDriver(runner), effects);
      clear(files);
      return await tellEnd(runner, end);
    } catch (error) {
      if (!(error instanceof RalphError)) throw error;
      if (error.code === 'no-loop') {
        throw new RalphError(
          'no-loop',
          about(RUNNER_TEXTS.takenAway(error.message), { name: files.name, mode: 'runner' }),
          error,
        );
      }
      if (error.code !== 'state-fenced') throw error;
      // Another runner wrote the state before this one noticed that its lease is lost.
      runner.leave.abort('lease-lost');
      return await tellEnd(runner, runnerEnd(runner, started.state));
    } finally {
      for (const stop of quiet) stop();
      runner.agent?.end('interrupt');
      await runner.agent?.done;
    }
  } finally {
    lease.release();
  }
}
