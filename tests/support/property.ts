import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { IS_LONG } from './short-form.ts';

/**
 * fast-check with the same cases every time, so that a run of the tests fails for what was changed and for nothing else.
 * `PROPERTY_SEED=random` looks for new ones, as `npm run stress:properties` does; a number repeats those of that seed.
 */
const named = process.env['PROPERTY_SEED'];
const seed = named ?? '1';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

export default fc;

/**
 * A seed that changes with the code in this folder: each change of it is tested by new cases, the same ones in every run.
 * PROPERTY_SEED comes first.
 */
export function seedOf(folder: string): { readonly seed?: number } {
  if (named !== undefined) return {};
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const code = files.sort().map((name) => readFileSync(join(folder, name)));
  return { seed: createHash('sha256').update(Buffer.concat(code)).digest().readInt32BE() };
}

/** Cases of a property: a sixth of the usual ones in the short form; PROPERTY_RUNS names another number. */
export const runs = (usual: number): number =>
  Number(process.env['PROPERTY_RUNS'] ?? (IS_LONG ? usual : Math.ceil(usual / 6)));
