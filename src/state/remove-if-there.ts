import { unlinkSync } from 'node:fs';

/** Removes a file of ours; one that is not there is as good as removed. */
export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
