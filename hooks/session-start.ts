import { runHook } from '../src/drive/hook/run-hook.ts';
import { sessionStart } from '../src/drive/hook/session-start.ts';
import { withPrefix } from '../src/state/process/program.ts';
import { asSentence } from '../src/text/quote.ts';

void runHook(['SessionStart'], sessionStart, (message, log) => ({
  systemMessage: withPrefix(`the session could not be bound to its loop: ${asSentence(message)} Details: ${log}.`),
}));
