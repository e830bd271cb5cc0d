import fc from 'fast-check';
import { IS_LONG } from './short-form.ts';

/**
 * fast-check with the same cases every time, so that a run of the tests fails for what was changed and for nothing else.
 * `PROPERTY_SEED=random` looks for new ones, as `npm run stress:properties` does; a number repeats those of that seed.
 */
const seed = process.env['PROPERTY_SEED'] ?? '1';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

export default fc;

/** Cases of a property: a third of the usual ones in the short form; PROPERTY_RUNS names another number. */
export const runs = (usual: number): number =>
  Number(process.env['PROPERTY_RUNS'] ?? (IS_LONG ? usual : Math.ceil(usual / 3)));
