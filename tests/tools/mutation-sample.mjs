// Mutates a random part of src/engine, for a score of the whole in minutes: `npm run mutation:sample [-- SHARE [SEED]]`.
// A declaration of a file is chosen as a whole, since a mutant may span its lines.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runForwarding } from './end-together.mjs';

const STRYKER = ['--yes', '--package=@stryker-mutator/core@9.6.1', 'stryker', 'run', '--mutate'];
const SOURCES = join('src', 'engine');
const DECLARATION = /^(?:export )?(?:async )?(?:function|const|let|class)\b/;

const [share = 0.05, seed = Math.floor(Math.random() * 2 ** 31)] = process.argv.slice(2).map(Number);
const random = from(seed);
const ranges = readdirSync(SOURCES, { recursive: true })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('schema'))
  .sort()
  .flatMap((name) => declarations(join(SOURCES, name)))
  .filter(() => random() < share);
console.log(`${ranges.length} declarations, seed ${seed}`);
if (ranges.length > 0) process.exitCode = await runForwarding('npx', [...STRYKER, ranges.join()]);

/** Lines of each declaration, with what follows it up to the next one. */
function declarations(path) {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const begins = lines.flatMap((line, at) => (/^\w/.test(line) ? [at] : []));
  return begins.flatMap((begin, nth) =>
    DECLARATION.test(lines[begin]) ? [`${path}:${begin + 1}-${begins[nth + 1] ?? lines.length}`] : [],
  );
}

/** Numbers from 0 to 1, the same for the same seed. */
function from(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
