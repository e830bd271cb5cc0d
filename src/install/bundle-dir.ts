import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

declare const __filename: string | undefined;

/**
 * The bundle that this program runs from: the folder that holds scripts/main.cjs, hooks/ and templates/. Run from the
 * sources (tests), the one that `npm run build` makes.
 */
export function bundleDir(): string {
  if (typeof __filename === 'string') return dirname(dirname(realpathSync(__filename)));
  return join(process.cwd(), 'dist');
}
