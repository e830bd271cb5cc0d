import { runHook } from '../src/drive/hook/run-hook.ts';
import { postToolUse } from '../src/drive/hook/tool-use.ts';

void runHook(['PostToolUse', 'PostToolUseFailure'], postToolUse, () => null);
