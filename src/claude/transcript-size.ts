import { statSync } from 'node:fs';

/** Bytes of the transcript, or null when there is none (yet). */
export function transcriptSize(path: string | null): number | null {
  if (path === null) return null;
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}
