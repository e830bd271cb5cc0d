import { runHook } from '../src/drive/hook/run-hook.ts';
import { overLoops, postToolUse } from '../src/drive/hook/tool-use.ts';

declare const require: (path: string) => unknown;

void runHook(
  ['PostToolUse', 'PostToolUseFailure'],
  (context) =>
    overLoops(context, (each) =>
      postToolUse(each, () =>
        (require('./ralph-steering.cjs') as typeof import('./ralph-steering.ts')).deliverSteering(each),
      ),
    ),
  () => null,
);
