import { loadPart } from '../src/state/process/code-cache.ts';

// Registered by the agents of router mode alone (.claude/agents/ralph-*.md): whoever runs it works for a router's host.
process.env['RALPH_ACTIVE'] = '1';
process.env['RALPH_DRIVER'] = 'router';
// A guard fails closed: an exception in here leaves node with exit code 1, and `onFailure: block` refuses the call.
loadPart(process.argv[2] === 'note' ? 'ralph-tool-note.cjs' : 'ralph-tool-guard.cjs');
