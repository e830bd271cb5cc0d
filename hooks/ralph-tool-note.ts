import { overLoops } from '../src/drive/hook/routers-loops.ts';
import { runHook } from '../src/drive/hook/run-hook.ts';
import { postToolUse } from '../src/drive/hook/tool-use.ts';

void runHook(
  ['PostToolUse', 'PostToolUseFailure'],
  (context) => overLoops(context, postToolUse),
  () => null,
);
