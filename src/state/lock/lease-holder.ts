import { join } from 'node:path';
import type { LoopFiles } from '../loop-files.ts';
import { ownerLives, readOwner } from './owner.ts';

/** Paths of a runner's lease and of its holder, outside the project. */
export function leasePaths({ outsideDir, name }: LoopFiles): Record<'path' | 'lease' | 'holder', string> {
  const path = join(outsideDir, `runner${name === null ? '' : `.${name}`}`);
  return { path, lease: `${path}.lease`, holder: `${path}.holder.json` };
}

/** Returns true if a runner works on this loop; one of another machine counts while its lease is renewed. */
export function runnerLives(files: LoopFiles): boolean {
  const { lease, holder } = leasePaths(files);
  const owner = readOwner(holder);
  return typeof owner === 'object' && ownerLives(owner, lease);
}
