import { runHook } from '../src/drive/hook/run-hook.ts';
import { sessionStart } from '../src/drive/hook/session-start.ts';
import { said } from '../src/drive/turn/messages.ts';

void runHook(['SessionStart'], sessionStart, (message, log) => ({
  systemMessage: said(`the session could not be bound to its loop: ${message} Details: ${log}.`),
}));
