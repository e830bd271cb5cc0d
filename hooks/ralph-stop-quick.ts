import { runHook } from '../src/drive/hook/run-hook.ts';
import { stopQuickly } from '../src/drive/hook/stop-quickly.ts';
import type { DriverContext } from '../src/drive/turn/driver-context.ts';
import { failedText, said } from '../src/drive/turn/messages.ts';

declare const require: (path: string) => unknown;

/** What the client grants a hook that is registered without a timeout. */
const CLIENT_DEFAULT_SECONDS = 600;

let controller: AbortController | null = null;

void runHook(
  ['Stop'],
  (context) => {
    const quick = stopQuickly(context);
    return quick === 'slow' ? slowly(context) : quick.answer;
  },
  (message, log) => (controller?.signal.aborted ? null : { systemMessage: said(failedText(message, log)) }),
);

/** What is heavy lies in a file beside this one and is loaded when it is needed. */
function slowly(context: DriverContext): Promise<object | null> {
  const told = new AbortController();
  controller = told;
  process.on('SIGTERM', () => told.abort());
  const { decideStop } = require('./ralph-stop-work.cjs') as typeof import('./ralph-stop-work.ts');
  return decideStop(context, { timeoutMs: timeoutSeconds() * 1000, signal: told.signal });
}

/** The registered timeout, passed as `--timeout SECONDS`: a hook cannot ask the client. */
function timeoutSeconds(): number {
  const at = process.argv.indexOf('--timeout');
  const seconds = at === -1 ? Number.NaN : Number(process.argv[at + 1]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : CLIENT_DEFAULT_SECONDS;
}
