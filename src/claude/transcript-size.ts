import { statSync } from 'node:fs';

/** Bytes of the transcript, or null when there is none (yet), or none that could be looked at. */
export function transcriptSize(path: string | null): number | null {
  try {
    return path === null ? null : statSync(path).size;
  } catch {
    return null;
  }
}
