import { runHook } from '../src/drive/hook/run-hook.ts';
import { abortWhenClientGone, stop } from '../src/drive/hook/stop/stop.ts';
import { stopFailure } from '../src/drive/hook/stop-failure.ts';
import { failedText } from '../src/drive/turn/messages.ts';
import { withPrefix } from '../src/state/process/program.ts';

/** Timeout of a hook registered without one. */
const CLIENT_DEFAULT_SECONDS = 600;

const parent = process.ppid;
/** Created only for a Stop that runs or waits for something: node loads 1 ms of modules for it. */
let leaving: AbortController | undefined;
let isTerminated = false;
process.on('SIGTERM', () => {
  isTerminated = true;
  leaving?.abort();
});

void runHook(
  // Gemini CLI calls one hook for both.
  ['Stop', 'StopFailure'],
  (context) => {
    if (context.input.event === 'StopFailure') return stopFailure(context);
    const signal = (): AbortSignal => {
      if (leaving === undefined) {
        leaving = new AbortController();
        if (isTerminated) leaving.abort();
        abortWhenClientGone(leaving, context, parent);
      }
      return leaving.signal;
    };
    return stop(context, { timeoutMs: timeoutSeconds() * 1000, signal });
  },
  (message, log) => (isTerminated ? null : { systemMessage: withPrefix(failedText(message, log)) }),
);

/** Returns the registered timeout, passed as `--timeout SECONDS`: a hook cannot ask the client for it. */
function timeoutSeconds(): number {
  const at = process.argv.indexOf('--timeout');
  const seconds = at === -1 ? Number.NaN : Number(process.argv[at + 1]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : CLIENT_DEFAULT_SECONDS;
}
