import { writeSync } from 'node:fs';
import { runHook } from '../src/drive/hook/run-hook.ts';
import { forEachLoopOfSession, preToolUse } from '../src/drive/hook/tool-use.ts';
import { HOOK_TEXTS } from '../src/drive/turn/messages.ts';

/**
 * Runs the guard, which fails closed. Exit 2 denies the call and passes standard error to the model; an error while the
 * bundle loads exits with 1, which `onFailure: block` denies. Exit 0 with anything but one JSON object would allow the call
 * (measured), so nothing is printed.
 */
void runHook(
  ['PreToolUse'],
  (context) => forEachLoopOfSession(context, preToolUse),
  (message) => {
    writeSync(2, HOOK_TEXTS.toolFailed(message));
    process.exitCode = 2;
    return null;
  },
);
