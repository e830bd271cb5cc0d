import { loadPart } from '../src/state/process/code-cache.ts';

loadPart('ralph-tool-note.cjs');
