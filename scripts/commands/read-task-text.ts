import { readFileSync } from 'node:fs';
import { RalphError } from '../../src/core/ralph-error.ts';
import { regularFile } from '../../src/state/regular-file.ts';

/**
 * A task file's text. Throws `task-missing` with the name it is shown by where there is none that can be read, and with
 * `advice` where nothing lies there.
 */
export function readTaskText(path: string, shown: string, advice = ''): string {
  try {
    return readFileSync(regularFile(path), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? `there is no such file. ${advice}` : `it cannot be read (${code ?? 'no regular file'}).`;
    throw new RalphError('task-missing', `${shown}: ${why}`.trim(), error);
  }
}
