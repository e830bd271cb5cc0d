import { runPostToolUse } from '../src/drive/hook/tool-hooks.ts';

void runPostToolUse();
