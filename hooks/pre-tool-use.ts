import { runPreToolUse } from '../src/drive/hook/tool-use.ts';

void runPreToolUse();
