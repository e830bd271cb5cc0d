import { runPreToolUse } from '../src/drive/hook/tool-hooks.ts';

void runPreToolUse();
