import { posix } from 'node:path';
import type { World } from './world.ts';

/** Under which key the content of a file that the command itself writes is kept. */
export function fileKey(path: string, world: World): string {
  return posix.normalize(path.startsWith('/') ? path : `${world.cwd}/${path}`);
}
