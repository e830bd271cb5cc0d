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

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
/** Any character, and the way back by which fast-check tells texts that it tries of its own accord. */
const character = fc.nat({ max: 0x10ffff - SURROGATES }).map(
  (at) => String.fromCodePoint(at < FIRST_SURROGATE ? at : at + SURROGATES),
  (given) => {
    const point = typeof given === 'string' && /^\P{Cs}$/su.test(given) ? given.codePointAt(0) : undefined;
    if (point === undefined) throw new Error('more or less than a character');
    return point < FIRST_SURROGATE ? point : point - SURROGATES;
  },
);

/** Any text, as of fast-check's unit `binary`, which makes a table of all characters first: half a second in each process. */
export const binaryText = (constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: character });

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
