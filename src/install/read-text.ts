import { readFileSync } from 'node:fs';
import { RalphError } from '../core/ralph-error.ts';

/** A file's text, or null when it is not there. Throws `refused` where it is no file, or no UTF-8. */
export function readText(path: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EISDIR') throw new RalphError('refused', `${path} is a directory; a file belongs there.`, error);
    if (code === 'ENOTDIR') throw new RalphError('refused', `${path}: a file lies where a directory belongs.`, error);
    throw new RalphError('refused', `${path} cannot be read: ${(error as Error).message}`, error);
  }
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw new RalphError('refused', `${path} is no UTF-8 text.`);
  return text;
}
