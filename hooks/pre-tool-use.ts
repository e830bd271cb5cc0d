import { loadPart } from '../src/state/process/code-cache.ts';

// A guard fails closed: an exception in here leaves node with exit code 1, and `onFailure: block` refuses the call.
loadPart('ralph-tool-guard.cjs');
