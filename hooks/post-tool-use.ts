import { loadPart } from '../src/drive/hook/load-part.ts';

loadPart('ralph-tool-note.cjs');
