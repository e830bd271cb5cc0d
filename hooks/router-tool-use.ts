import { runPostToolUse, runPreToolUse } from '../src/drive/hook/tool-use.ts';

// Registered only by the agents of router mode (.claude/agents/ralph-*.md), so its caller works for a router's host.
process.env['RALPH_ACTIVE'] = '1';
process.env['RALPH_DRIVER'] = 'router';
void (process.argv[2] === 'note' ? runPostToolUse() : runPreToolUse());
