import fc from 'fast-check';

/**
 * fast-check with the same cases every time, so that a run of the tests fails for what was changed and for nothing else.
 * `PROPERTY_SEED=random` looks for new ones, as `npm run stress:properties` does; a number repeats those of that seed.
 */
const seed = process.env['PROPERTY_SEED'] ?? '1';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

export default fc;

/** Cases of a property: so many in every run, and PROPERTY_RUNS of them in the long form. */
export const runs = (usual: number): number => Number(process.env['PROPERTY_RUNS'] ?? usual);
