import { loadPart } from '../src/drive/load-part.ts';

loadPart('ralph-tool-note.cjs');
