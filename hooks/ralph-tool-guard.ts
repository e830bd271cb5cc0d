import { writeSync } from 'node:fs';
import { runHook } from '../src/drive/hook/run-hook.ts';
import { overLoops, preToolUse } from '../src/drive/hook/tool-use.ts';
import { HOOK_TEXTS } from '../src/drive/turn/messages.ts';
import { judgeToolCall } from '../src/guard/evaluate-tool-call.ts';
import type { FileJudges, Globs, Parts, ShellJudges } from '../src/guard/parts.ts';

declare const require: (path: string) => unknown;

/** The shell parser is loaded for a shell command alone, the rest where the user guards files and the call names some. */
const PARTS: Parts = {
  shell: async () => require('./ralph-shell-guard.cjs') as ShellJudges,
  files: async () => require('./ralph-file-guard.cjs') as FileJudges,
  globs: async () => require('./ralph-globs.cjs') as Globs,
};

/**
 * A guard fails closed: exit 2 refuses the call and hands standard error to the model. Exit 0 with anything but one
 * whole JSON object would let it run (measured), so nothing is printed.
 */
void runHook(
  ['PreToolUse'],
  (context) =>
    overLoops(context, (each) =>
      preToolUse(
        each,
        (call, rules) => judgeToolCall(call, rules, PARTS),
        (...args) =>
          (require('./ralph-stop-work.cjs') as typeof import('./ralph-stop-work.ts')).heedCancelFlag(...args),
        () => (require('./ralph-steering.cjs') as typeof import('./ralph-steering.ts')).deliverSteering(each),
      ),
    ),
  (message) => {
    writeSync(2, HOOK_TEXTS.toolFailed(message));
    process.exitCode = 2;
    return null;
  },
);
