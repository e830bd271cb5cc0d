import { writeSync } from 'node:fs';
import { asSentence } from '../../text/quote.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { runHook } from './run-hook.ts';
import { forEachLoopOfSession, postToolUse, preToolUse } from './tool-use.ts';

/**
 * Runs the guard, which fails closed. Exit 2 denies the call and passes standard error to the model; an error while the
 * bundle loads exits with 1, which `onFailure: block` denies. Exit 0 with anything but one JSON object would allow the call
 * (measured), so nothing is printed.
 */
export function runPreToolUse(): Promise<void> {
  return runHook(
    ['PreToolUse'],
    (context) => forEachLoopOfSession(context, preToolUse),
    (message) => {
      writeSync(2, HOOK_TEXTS.toolFailed(asSentence(message)));
      process.exitCode = 2;
      return null;
    },
  );
}

export function runPostToolUse(): Promise<void> {
  return runHook(
    ['PostToolUse', 'PostToolUseFailure'],
    (context) => forEachLoopOfSession(context, postToolUse),
    () => null,
  );
}
