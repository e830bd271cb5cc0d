import { join } from 'node:path';
import type { LoopFiles } from '../loop-files.ts';
import { ownerLives, readOwner } from './owner.ts';

/** Where the lease of a loop's runner lies, outside the project: `lease`, and who holds it. */
export function leasePaths({ outsideDir, name }: LoopFiles): {
  readonly path: string;
  readonly lease: string;
  readonly holder: string;
} {
  const path = join(outsideDir, `runner${name === null ? '' : `.${name}`}`);
  return { path, lease: `${path}.lease`, holder: `${path}.holder.json` };
}

/** Whether a runner works on this loop; one of another machine counts as long as its lease is renewed. */
export function runnerLives(files: LoopFiles): boolean {
  const { lease, holder } = leasePaths(files);
  const owner = readOwner(holder);
  return typeof owner === 'object' && ownerLives(owner, lease);
}
