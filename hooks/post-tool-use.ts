import { runHook } from '../src/drive/hook/run-hook.ts';
import { overLoops, postToolUse } from '../src/drive/hook/tool-use.ts';

void runHook(
  ['PostToolUse', 'PostToolUseFailure'],
  (context) => overLoops(context, postToolUse),
  () => null,
);
