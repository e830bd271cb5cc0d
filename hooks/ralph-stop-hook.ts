import { runHook } from '../src/drive/hook/run-hook.ts';
import { clientGone } from '../src/drive/hook/stop/abort-stop.ts';
import { stop } from '../src/drive/hook/stop/stop.ts';
import { failedText, withPrefix } from '../src/drive/turn/messages.ts';

/** Timeout of a hook registered without one. */
const CLIENT_DEFAULT_SECONDS = 600;

const terminated = new AbortController();
process.on('SIGTERM', () => terminated.abort());

void runHook(
  ['Stop'],
  (context) => {
    const signal = AbortSignal.any([terminated.signal, clientGone(context)]);
    return stop(context, { timeoutMs: timeoutSeconds() * 1000, signal });
  },
  (message, log) => (terminated.signal.aborted ? null : { systemMessage: withPrefix(failedText(message, log)) }),
);

/** Returns the registered timeout, passed as `--timeout SECONDS`: a hook cannot ask the client for it. */
function timeoutSeconds(): number {
  const at = process.argv.indexOf('--timeout');
  const seconds = at === -1 ? Number.NaN : Number(process.argv[at + 1]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : CLIENT_DEFAULT_SECONDS;
}
