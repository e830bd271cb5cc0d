import { runPostToolUse } from '../src/drive/hook/tool-use.ts';

void runPostToolUse();
