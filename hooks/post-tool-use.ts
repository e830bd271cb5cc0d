import { runHook } from '../src/drive/hook/run-hook.ts';
import { forEachLoopOfSession, postToolUse } from '../src/drive/hook/tool-use.ts';

void runHook(
  ['PostToolUse', 'PostToolUseFailure'],
  (context) => forEachLoopOfSession(context, postToolUse),
  () => null,
);
