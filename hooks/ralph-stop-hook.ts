import { loadPart } from '../src/state/process/code-cache.ts';

// The build puts the guard on RALPH_ACTIVE before everything here, so that another session pays for nothing.
loadPart('ralph-stop-quick.cjs');
